// Table prints the table of what make bench-peers has measured.
package main

import (
	"fmt"
	"log"

	"github.com/seawall-go/seawall/internal/bench"
)

func main() {
	rec, err := bench.Measured()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(bench.Text(bench.Table(rec)))
	fmt.Println(bench.Sum(rec))
}

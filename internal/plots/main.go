// Plots draws the figures of docs/algorithms.md, docs/benchmarks.md, docs/overload.md and docs/shedding.md and writes their
// tables. Those of algorithms.md show what the rules of the package ratelimit answer, on a store in memory whose clock is
// stepped, so they change when a rule does. Those of benchmarks.md and overload.md show what make bench-peers and make overload
// have measured, and left in internal/bench and internal/overload. Those of shedding.md show what package workershed/sim plays,
// in about 20 s of a processor, and the code of that page is that of examples.
//
//	go run . -docs ../../docs
//
// The tests fail while what is committed differs from what this would write. It is a module of its own so that
// nobody who uses Seawall downloads a library for charts.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	_ "time/tzdata" // calendars of places, also where the system has no such database
)

func main() {
	docs := flag.String("docs", "../../docs", "the folder with the pages; the figures go to img below it")
	flag.Parse()
	if err := write(*docs); err != nil {
		log.Fatal(err)
	}
}

// pages returns the names of those that have figures and tables.
func pages() []string {
	return []string{"algorithms.md", "benchmarks.md", "overload.md", "shedding.md"}
}

// write draws the figures into the folder img and fills the tables of the pages in.
func write(docs string) error {
	img := filepath.Join(docs, "img")
	if err := os.MkdirAll(img, 0o755); err != nil {
		return err
	}
	shed, err := playShedding()
	if err != nil {
		return err
	}
	figures, err := figures(shed)
	if err != nil {
		return err
	}
	for name, svg := range figures {
		if err := os.WriteFile(filepath.Join(img, name), svg, 0o644); err != nil {
			return err
		}
	}
	tables, err := tables(shed)
	if err != nil {
		return err
	}
	for _, name := range pages() {
		text := filepath.Join(docs, name)
		before, err := os.ReadFile(text)
		if err != nil {
			return err
		}
		after, err := fill(string(before), tables)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if err := os.WriteFile(text, []byte(after), 0o644); err != nil {
			return err
		}
	}
	return nil
}

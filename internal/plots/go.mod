module github.com/seawall-go/seawall/internal/plots

go 1.26.0

replace github.com/seawall-go/seawall => ../..

replace github.com/seawall-go/seawall/internal/bench => ../bench

replace github.com/seawall-go/seawall/internal/overload => ../overload

require (
	github.com/redis/go-redis/v9 v9.23.0
	github.com/seawall-go/seawall v0.0.0-00010101000000-000000000000
	github.com/seawall-go/seawall/internal/bench v0.0.0-00010101000000-000000000000
	github.com/seawall-go/seawall/internal/overload v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
	golang.org/x/image v0.48.0
	gonum.org/v1/plot v0.17.0
)

require (
	codeberg.org/go-fonts/liberation v0.5.0 // indirect
	codeberg.org/go-latex/latex v0.2.0 // indirect
	codeberg.org/go-pdf/fpdf v0.11.1 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

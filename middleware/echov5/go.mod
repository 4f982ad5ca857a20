module github.com/seawall-go/seawall/middleware/echov5

go 1.26.0

replace github.com/seawall-go/seawall => ../..

require (
	github.com/labstack/echo/v5 v5.4.4
	github.com/seawall-go/seawall v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/maypok86/otter/v2 v2.4.0 // indirect
	github.com/sony/gobreaker/v2 v2.4.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)

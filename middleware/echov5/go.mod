module github.com/seawall-go/seawall/middleware/echov5

go 1.26.0

replace github.com/seawall-go/seawall => ../..

require (
	github.com/labstack/echo/v5 v5.4.4
	github.com/seawall-go/seawall v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

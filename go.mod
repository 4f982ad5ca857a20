module github.com/seawall-go/seawall

go 1.26.0

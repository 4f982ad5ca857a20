package main

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"
)

// maxWork is the longest that a request may ask its handler to work, in milliseconds.
const maxWork = 60_000

// maxWrite is how long a client may take to read an answer.
const maxWrite = 10 * time.Second

// newAPI returns the API, with protect in front of every /v1 route, and handlers that work as does.
func newAPI(protect echo.MiddlewareFunc, does worker) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Use(echomw.Recover())
	v1 := e.Group("/v1", protect)
	work := func(answer echo.Map) echo.HandlerFunc { return work(does, answer) }
	v1.POST("/charges", work(echo.Map{"object": "charge", "status": "succeeded"}))
	v1.GET("/charges", work(echo.Map{"object": "list", "data": []any{}}))
	v1.GET("/charges/:id", work(echo.Map{"object": "charge", "status": "succeeded"}))
	v1.POST("/refunds", work(echo.Map{"object": "refund", "status": "succeeded"}))
	v1.GET("/reports", work(echo.Map{"object": "report", "rows": 0}))
	v1.POST("/login", work(echo.Map{"object": "session"}))
	return e
}

// work is a handler that takes as long as ?ms= says, also if its client hangs up, as most real work does.
func work(does worker, answer echo.Map) echo.HandlerFunc {
	return func(c echo.Context) error {
		if text := c.QueryParam("ms"); text != "" {
			ms, err := strconv.ParseInt(text, 10, 64)
			if err != nil || ms < 0 || ms > maxWork {
				return echo.NewHTTPError(http.StatusBadRequest, "ms must be a whole number from 0 to 60000")
			}
			does(ms)
		}
		// A client that does not read its answer must not keep a stopping instance waiting.
		if err := http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(maxWrite)); err != nil {
			return err
		}
		return c.JSON(http.StatusOK, answer)
	}
}

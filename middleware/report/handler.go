package report

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// defaultTop is how many callers of each policy a table shows.
const defaultTop = 20

// Handler serves the report: a table of the first 20 callers of each policy, or, where ?format=json says so or
// application/json is accepted, all of it as JSON. ?top=N has it show N callers. It answers whoever can reach it: mount it
// for those only who run the service.
func (r *Recorder) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		report, asJSON := r.Report(), false
		query := req.URL.Query()
		switch format := query.Get("format"); format {
		case "json":
			asJSON = true
		case "table":
		case "":
			asJSON = strings.Contains(req.Header.Get("Accept"), "application/json")
		default:
			http.Error(w, "format: want json or table", http.StatusBadRequest)
			return
		}
		if text := query.Get("top"); text != "" {
			top, err := strconv.Atoi(text)
			if err != nil || top < 0 {
				http.Error(w, "top: want how many callers of each policy to show", http.StatusBadRequest)
				return
			}
			report = report.Top(top)
		} else if !asJSON {
			report = report.Top(defaultTop)
		}
		w.Header().Set("Cache-Control", "no-store")
		if asJSON {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(report) // a client that has gone needs no answer
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_ = report.WriteTable(w)
	})
}

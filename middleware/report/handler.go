package report

import (
	"bytes"
	"encoding/json"
	"errors"
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
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "a report is only read: want GET", http.StatusMethodNotAllowed)
			return
		}
		asJSON, top, err := wanted(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		report := r.Report()
		if top >= 0 {
			report = report.Top(top)
		}
		var body bytes.Buffer
		contentType := "text/plain; charset=utf-8"
		if asJSON {
			contentType = "application/json"
			err = json.NewEncoder(&body).Encode(report)
		} else {
			err = report.WriteTable(&body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "no-store")
		_, _ = body.WriteTo(w) // a client that has gone needs no answer
	})
}

// wanted is how the report is to be shown, and how many callers; a negative top is all.
func wanted(req *http.Request) (asJSON bool, top int, err error) {
	query := req.URL.Query()
	switch query.Get("format") {
	case "json":
		asJSON = true
	case "table":
	case "":
		asJSON = strings.Contains(req.Header.Get("Accept"), "application/json")
	default:
		return false, 0, errors.New("format: want json or table")
	}
	if text := query.Get("top"); text != "" {
		if top, err = strconv.Atoi(text); err != nil || top < 0 {
			return false, 0, errors.New("top: want how many callers of each policy to show")
		}
		return asJSON, top, nil
	}
	if asJSON {
		return true, -1, nil
	}
	return false, defaultTop, nil
}

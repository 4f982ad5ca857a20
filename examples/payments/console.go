package main

import (
	"fmt"
	"net"
	"net/http"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/seawall-go/seawall"
)

// console is a plain page of the layers, their modes and what they decided.
func console(layers []seawall.Layer, modes seawall.Modes, metrics prometheus.Gatherer) echo.HandlerFunc {
	gates := map[string]seawall.Gate{}
	for _, l := range layers {
		gates[l.Name()] = modes.Gate(l.Name(), "")
	}
	return func(c echo.Context) error {
		counts, err := decisions(metrics)
		if err != nil {
			return err
		}
		var b strings.Builder
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "layer\tmode\tallowed\tdenied\twould_deny\tskipped")
		for _, l := range layers {
			mode := gates[l.Name()](&seawall.Request{})
			n := counts[l.Name()]
			fmt.Fprintf(w, "%s\t%v\t%.0f\t%.0f\t%.0f\t%.0f\n",
				l.Name(), mode, n["allowed"], n["denied"], n["would_deny"], n["skipped"])
		}
		if err := w.Flush(); err != nil {
			return err
		}
		return c.String(http.StatusOK, b.String())
	}
}

// forThisMachine shows a page to this machine only.
func forThisMachine(page echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !loopback(c.Request()) {
			return echo.ErrNotFound
		}
		return page(c)
	}
}

// loopback tells whether a request comes from this machine and was meant for it: not through a proxy here,
// and not from a page of somebody's whose name points here.
func loopback(r *http.Request) bool {
	local := func(hostport string) bool {
		host, _, err := net.SplitHostPort(hostport)
		if err != nil {
			host = hostport
		}
		return host == "localhost" || net.ParseIP(host).IsLoopback()
	}
	forwarded := r.Header.Get("Forwarded") + r.Header.Get(echo.HeaderXForwardedFor) + r.Header.Get(echo.HeaderXRealIP)
	return local(r.RemoteAddr) && local(r.Host) && forwarded == ""
}

// decisions sums seawall_decisions_total by layer and outcome.
func decisions(metrics prometheus.Gatherer) (map[string]map[string]float64, error) {
	families, err := metrics.Gather()
	if err != nil {
		return nil, err
	}
	sums := map[string]map[string]float64{}
	i := sort.Search(len(families), func(i int) bool { return families[i].GetName() >= "seawall_decisions_total" })
	if i == len(families) || families[i].GetName() != "seawall_decisions_total" {
		return sums, nil
	}
	for _, m := range families[i].GetMetric() {
		layer := label(m, "layer")
		if sums[layer] == nil {
			sums[layer] = map[string]float64{}
		}
		sums[layer][label(m, "outcome")] += m.GetCounter().GetValue()
	}
	return sums, nil
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

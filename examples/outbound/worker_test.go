package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hire returns a worker at the desk, and what it says.
func (d *desk) hire(wait bool) (*worker, *output) {
	said := &output{}
	return &worker{
		client: d.client, api: d.url, searches: 1, wait: wait,
		say: func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) },
	}, said
}

// TestAnOutageCostsOneCall takes the store down while a worker works: it pays into the dark once.
func TestAnOutageCostsOneCall(t *testing.T) {
	for name, doesIt := range map[string]bool{"which had been done": true, "which had not": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, options{units: 1000, rate: 1}, ok)
				d.store.doesIt = doesIt
				w, said := d.hire(false)
				ended := make(chan error)
				go func() { ended <- w.run(t.Context(), t.Context()) }()
				time.Sleep(3500 * time.Millisecond)
				d.store.set(true)
				time.Sleep(time.Minute)
				d.store.set(false)
				require.NoError(t, <-ended)
				assert.Equal(t, 1, d.store.spends)
				assert.Greater(t, d.store.peeks, 500)
				want := 10
				if doesIt {
					want-- // paid for, and not made
				}
				assert.Len(t, d.sent, want)
				assert.Zero(t, d.left(t))
				assert.Equal(t, fmt.Sprintf("%d calls, %d units; 1 not sent, perhaps paid", want, want*100), w.String())
				assert.Contains(t, said.String(), "not sent: ratelimit: the store is down; it may be spent all the same\n")
				assert.Contains(t, said.String(), "spent: 0 units are left of the day, and a search costs 100; whole again at 2000-01-01 00:00 PST\n")
			})
		})
	}
}

// TestARefundThatFailsIsNotClaimed has the store go down under a call that reaches nobody.
func TestARefundThatFailsIsNotClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d *desk
		d = newDesk(t, options{units: 1000, rate: 1}, func(*http.Request) (*http.Response, error) {
			d.store.set(true)
			return nil, unreachable()
		})
		w, _ := d.hire(false)
		stop, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.run(stop, t.Context()) }()
		time.Sleep(time.Second / 2)
		cancel()
		require.NoError(t, <-ended)
		assert.Equal(t, "0 calls, 0 units; 1 not sent, perhaps paid", w.String())
	})
}

func TestAWorkerThatWaitsGoesOnTomorrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, options{units: 250, rate: 10}, ok)
		w, said := d.hire(true)
		stop, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.run(stop, t.Context()) }()
		time.Sleep(9 * time.Hour)
		cancel()
		require.NoError(t, <-ended)
		require.Len(t, d.sent, 4, "two in the afternoon of 31 December, and two on the next day")
		assert.Equal(t, "2000-01-01 00:00:00", d.sent[2].Format(time.DateTime))
		assert.Equal(t, 2, strings.Count(said.String(), "spent: 50 units are left"), "once a day")
	})
}

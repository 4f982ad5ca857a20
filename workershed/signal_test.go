package workershed

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
)

// says returns a signal that reads what value and err hold.
func says(name string, value *atomic.Uint64, err *atomic.Pointer[error]) Signal {
	return Signal{Name: name, Read: func(time.Duration) (float64, error) {
		if e := err.Load(); e != nil {
			return 0, *e
		}
		return math.Float64frombits(value.Load()), nil
	}}
}

func set(v *atomic.Uint64, f float64) { v.Store(math.Float64bits(f)) }

func TestTheLargestMeasureCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cpu, queue atomic.Uint64
		var fine atomic.Pointer[error]
		s, _ := busy(t, Config{Signals: []Signal{says("cpu", &cpu, &fine), says("queue", &queue, &fine)}, Logger: slog.New(slog.DiscardHandler)})
		defer func() { require.NoError(t, s.Close()) }()
		for range 10 {
			s.Leave(newTicket(ticketKept, 3, 0, 0, seawall.Enforce).given())
		}
		for _, c := range []struct{ cpu, queue, want float64 }{{0.3, 0.2, 0.3}, {0.3, 0.9, 0.9}, {1.7, 0.9, 1.7}, {0, 0, 0}} {
			set(&cpu, c.cpu)
			set(&queue, c.queue)
			time.Sleep(2*tick + tick/2)
			synctest.Wait()
			assert.Equal(t, c.want, s.Pressure())
		}
		set(&cpu, 1)
		time.Sleep(8*time.Second + 15*time.Second)
		synctest.Wait()
		assert.InDelta(t, 0.5, s.Level(), 0.03, "a signal alone is enough")
		assert.Zero(t, s.Utilization())
	})
}

// TestASignalThatCannotBeReadShedsNobody has it do so in every way.
func TestASignalThatCannotBeReadShedsNobody(t *testing.T) {
	for name, read := range map[string]func(time.Duration) (float64, error){
		"error":    func(time.Duration) (float64, error) { return 5, errors.New("no such file") },
		"NaN":      func(time.Duration) (float64, error) { return math.NaN(), nil },
		"infinite": func(time.Duration) (float64, error) { return math.Inf(1), nil },
		"negative": func(time.Duration) (float64, error) { return -1, nil },
		"panic":    func(time.Duration) (float64, error) { panic("no reader") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s, _ := busy(t, Config{Signals: []Signal{{Name: "cpu", Read: read}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				for range 10 {
					s.Leave(newTicket(ticketKept, 3, 0, 0, seawall.Enforce).given())
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Zero(t, s.Level())
				assert.Zero(t, s.Pressure())
				states := s.Signals()
				require.Len(t, states, 1)
				assert.Equal(t, "cpu", states[0].Name)
				assert.Error(t, states[0].Err)
				require.NoError(t, s.Close())
				assert.Equal(t, 1, strings.Count(log.String(), "worker signal is left out"), "reported once: %s", log.String())
			})
		})
	}
}

func TestASignalThatHangsIsLeftOutAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var cpu atomic.Uint64
		var fine atomic.Pointer[error]
		var log bytes.Buffer
		calls := atomic.Int64{}
		stuck := Signal{Name: "stuck", Read: func(time.Duration) (float64, error) {
			if calls.Add(1) > 3 {
				<-hang
			}
			return 1, nil
		}}
		s, _ := busy(t, Config{Signals: []Signal{stuck, says("cpu", &cpu, &fine)}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 10 {
			s.Leave(newTicket(ticketKept, 3, 0, 0, seawall.Enforce).given())
		}
		set(&cpu, 0.5)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, 1.0, s.Pressure(), "its last reading is still fresh")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, 0.5, s.Pressure())
		assert.EqualValues(t, 4, calls.Load(), "calls do not overlap")
		assert.ErrorIs(t, s.Signals()[0].Err, errStale)
		assert.NoError(t, s.Signals()[1].Err)

		require.NoError(t, s.Close(), "does not wait for it")
		close(hang)
		synctest.Wait()
		assert.Contains(t, log.String(), "signal=stuck")
		assert.NotContains(t, log.String(), "signal=cpu")
	})
}

func TestASignalThatComesAndGoesIsNotReportedEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cpu atomic.Uint64
		var fails atomic.Pointer[error]
		var log bytes.Buffer
		s, _ := busy(t, Config{Signals: []Signal{says("cpu", &cpu, &fails)}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		gone := errors.New("gone")
		for range 60 {
			fails.Store(&gone)
			time.Sleep(5 * time.Second)
			fails.Store(nil)
			time.Sleep(5 * time.Second)
		}
		synctest.Wait()
		assert.NoError(t, s.Signals()[0].Err)
		require.NoError(t, s.Close())
		assert.LessOrEqual(t, strings.Count(log.String(), "\n"), 4, "ten minutes: %s", log.String())
		assert.Contains(t, log.String(), "is read again")
	})
}

// slow is a log that hangs.
type slow struct {
	slog.Handler
	hang chan struct{}
}

func (h slow) Handle(context.Context, slog.Record) error { <-h.hang; return nil }

func TestALogThatHangsDoesNotHoldTheLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var none atomic.Uint64
		var gone atomic.Pointer[error]
		err := errors.New("gone")
		gone.Store(&err)
		s, tickets := busy(t, Config{Signals: []Signal{says("a", &none, &gone), says("b", &none, &gone)}, Logger: slog.New(slow{slog.DiscardHandler, hang})})
		time.Sleep(time.Minute)
		require.InDelta(t, 1, s.Level(), 1e-9)
		for _, ticket := range tickets {
			s.Leave(ticket)
		}
		time.Sleep(3 * time.Minute)
		assert.Zero(t, s.Level())
		require.NoError(t, s.Close())
		close(hang)
		synctest.Wait()
	})
}

func TestAClockThatPanicsEndsTheShedding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		start := time.Now()
		s, _ := busy(t, Config{Now: func() time.Duration {
			if broken.Load() {
				panic("no clock")
			}
			return time.Since(start)
		}})
		time.Sleep(20 * time.Second)
		assert.Positive(t, s.Level())
		broken.Store(true)
		time.Sleep(time.Second)
		assert.Zero(t, s.Level())
		broken.Store(false)
		time.Sleep(time.Second)
		assert.Positive(t, s.Level())
		require.NoError(t, s.Close())
	})
}

func TestSignalsAreChecked(t *testing.T) {
	read := func(time.Duration) (float64, error) { return 0, nil }
	for want, signals := range map[string][]Signal{
		`Signals[0].Name is ""; want a letter and up to 31 lower-case letters, digits and underscores`:     {{Read: read}},
		`Signals[0].Name is "CPU"; want a letter and up to 31 lower-case letters, digits and underscores`:  {{Name: "CPU", Read: read}},
		`Signals[1].Name is "a"; want a name that no other signal has`:                                     {{Name: "a", Read: read}, {Name: "a", Read: read}},
		`Signals[0].Read is nil; want a function that reads the signal`:                                    {{Name: "a"}},
		`Signals[0].StaleAfter is -1ns; want at least 500ms, two intervals, or zero for the default`:       {{Name: "a", Read: read, StaleAfter: -1}},
		`Signals is a list of 17; want at most 16`:                                                         make([]Signal, 17),
		`Signals[0].Name is "a\nb"; want a letter and up to 31 lower-case letters, digits and underscores`: {{Name: "a\nb", Read: read}},
	} {
		_, err := New(Config{Workers: 1, Signals: signals})
		require.EqualError(t, err, "workershed: "+want)
	}
}

func TestSteppedReadsItsSignalsItself(t *testing.T) {
	at := []time.Duration{}
	s, step, err := NewStepped(Config{Workers: 1, Smoothing: 1, Signals: []Signal{{Name: "a", Read: func(now time.Duration) (float64, error) {
		at = append(at, now)
		return 0.9, nil
	}}}})
	require.NoError(t, err)
	step(tick)
	step(2 * tick)
	assert.Equal(t, []time.Duration{tick, 2 * tick}, at)
	assert.Equal(t, 0.9, s.Pressure())
	require.NoError(t, s.Close())
	_, _, err = NewStepped(Config{})
	require.ErrorContains(t, err, "Workers is 0")
}

package flags

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/seawall-go/seawall"
)

// Flags are modes and a scale that follow feature flags. It implements [seawall.Modes] and is safe for
// concurrent use.
type Flags struct {
	cfg      Config
	current  atomic.Pointer[snapshot]
	failures atomic.Int64

	callers *callers // nil without targeting

	mu             sync.Mutex
	scale          *flag[float64]
	gates          map[string]*gate         // by layer or "layer:policy"
	flags          []evaluator              // all of them, by number, in the order in which they are evaluated
	problems       map[string]error         // by key; noAnswer is the provider as a whole
	callerProblems map[string]callerProblem // by key
	generation     uint64                   // counts what makes stale what callers have
	unreadTold     *[]string                // by Unread, or logged since; nil until it has been asked
	modesTold      map[string]seawall.Mode  // nil until the first evaluation; run's alone
	torn           int                      // rounds in a row that have left out what is stricter; run's alone
	waited         bool                     // what is stricter has waited for a flag that had begun to fail; run's alone
	cutShort       int                      // evaluations of callers in a row that a change has cut short; run's alone
	overdue        bool                     // the evaluation that runs has taken longer than Timeout

	ctx     context.Context // done when closed
	cancel  context.CancelFunc
	changed chan struct{} // holds one: something changed, evaluate everything
	asked   chan question
	stopped chan struct{} // closed when run has returned

	onEvent   func(openfeature.EventDetails)
	closing   sync.Once
	closeErr  error
	alongside func(context.Context) error // closed with it, if not nil
}

var _ seawall.Modes = (*Flags)(nil)

// New reads the flags of the four layers and follows them until Close. It waits for the provider's answers,
// but no longer than Timeout; what has not arrived by then is at its default, and is followed all the same.
// That flags are unreadable or nonsensical is therefore no error here: see [Flags.Err].
func New(cfg Config) (*Flags, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	f := &Flags{
		cfg:            cfg,
		scale:          newScale(cfg.Prefix + "-ratelimit-scale"),
		gates:          map[string]*gate{},
		problems:       map[string]error{},
		callerProblems: map[string]callerProblem{},
		changed:        make(chan struct{}, 1),
		asked:          make(chan question),
		stopped:        make(chan struct{}),
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if cfg.Targeting != nil && cfg.Client != nil {
		if f.callers, err = newCallers(f.ctx, cfg.Targeting); err != nil {
			f.cancel()
			return nil, fmt.Errorf("flags: the cache of callers: %w", err)
		}
	}
	f.flags = append(f.flags, newSwitch(cfg.Prefix+"-enabled", true, f.callers != nil), f.scale)
	for _, layer := range [...]string{"ratelimit", "concurrency", "fleetshed", "workershed"} {
		f.register(layer, "")
	}
	if cfg.Client == nil {
		close(f.stopped)
		return f, nil
	}
	// Subscribed before the first evaluation, so that no change falls in between.
	f.onEvent = func(openfeature.EventDetails) { f.change() }
	for _, t := range events() {
		cfg.Client.AddHandler(t, &f.onEvent)
	}
	go f.run()
	f.ask(f.all())
	return f, nil
}

// events are those after which flags may have other values. Which event it is does not matter: they arrive
// in any order, and some do not arrive.
func events() []openfeature.EventType {
	return []openfeature.EventType{
		openfeature.ProviderReady, openfeature.ProviderConfigChange,
		openfeature.ProviderStale, openfeature.ProviderError,
	}
}

// Gate returns the gate of a layer or, if policy is not empty, of one policy: the policy's own mode, which
// the engine combines with its layer's. If its flags are new, Gate waits for their values, but no longer
// than Timeout, and not at all for a provider that is known to hang.
func (f *Flags) Gate(layer, policy string) seawall.Gate {
	f.mu.Lock()
	g, fresh := f.register(layer, policy)
	f.mu.Unlock()
	if len(fresh) > 0 {
		f.ask(fresh)
	}
	return func(r *seawall.Request) seawall.Mode {
		if m := g.now.Load(); m != byCaller {
			return seawall.Mode(m)
		}
		return f.callers.mode(f.current.Load(), g, r)
	}
}

// Off implements seawall.Switch: whether seawall-enabled is false, and for everyone.
func (f *Flags) Off() bool { return f.current.Load().off }

// Scale multiplies every rate and burst; it lies between 0.001 and 1000.
func (f *Flags) Scale() float64 { return f.current.Load().scale }

// Errors counts evaluations that failed, timed out or gave an invalid value, and the Source's errors.
func (f *Flags) Errors() int64 {
	n := f.failures.Load()
	if f.cfg.Source != nil {
		n += f.cfg.Source.Errors()
	}
	return n
}

// Err is all that is wrong with the flags as of their last evaluation, and with the Source; nil if nothing
// is. A service that would rather not start with nonsensical flags asks once its Stack is built, since the
// flags of policies are only known when their gates have been made.
func (f *Flags) Err() error {
	f.mu.Lock()
	errs := []error{f.problems[noAnswer]}
	for _, g := range f.flags {
		errs = append(errs, f.problems[g.name()], f.callerProblems[g.name()].err)
	}
	errs = append(errs, f.callerProblems[callerIDFunc].err, f.callerProblems[attributesFunc].err)
	f.mu.Unlock()
	if f.cfg.Source != nil {
		errs = append(errs, f.cfg.Source.Err())
	}
	return errors.Join(errs...)
}

// Close stops following the flags; gates keep the modes they have. It waits for an evaluation that runs, but
// no longer than Timeout: the goroutine of a provider that hangs ends when the provider returns.
func (f *Flags) Close() error {
	f.closing.Do(func() {
		f.cancel()
		if f.cfg.Client != nil {
			for _, t := range events() {
				f.cfg.Client.RemoveHandler(t, &f.onEvent)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), f.cfg.Timeout)
		defer cancel()
		select {
		case <-f.stopped:
		case <-ctx.Done():
		}
		if f.alongside != nil {
			f.closeErr = f.alongside(ctx)
		}
	})
	return f.closeErr
}

// change has everything evaluated soon. It never blocks, so providers may call it from anywhere.
func (f *Flags) change() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// question asks for some flags to be evaluated.
type question struct {
	flags    []evaluator
	answered chan struct{} // closed under Flags.mu
}

// ask has flags evaluated and waits for it, for Timeout at most.
func (f *Flags) ask(flags []evaluator) {
	if f.cfg.Client == nil {
		return
	}
	f.mu.Lock()
	overdue := f.overdue
	f.mu.Unlock()
	if overdue { // so that a Stack of many policies does not wait for a hung provider once for each
		f.change()
		return
	}
	timeout := time.NewTimer(f.cfg.Timeout)
	defer timeout.Stop()
	q := question{flags: flags, answered: make(chan struct{})}
	select {
	case f.asked <- q:
	case <-timeout.C:
		f.change()
		return
	case <-f.ctx.Done():
		return
	}
	select {
	case <-q.answered:
	case <-f.ctx.Done():
	case <-timeout.C:
		f.mu.Lock()
		defer f.mu.Unlock()
		select {
		case <-q.answered:
		default:
			f.overdue = true
		}
	}
}

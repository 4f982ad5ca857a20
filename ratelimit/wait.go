package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seawall-go/seawall"
)

// lookAgain is how long Wait sleeps at most before it asks again: budgets are refunded, reset and raised.
const lookAgain = 10 * time.Second

// ErrNever is what Wait returns for a cost above the limit, and for a caller who is blocked.
var ErrNever = errors.New("it can never be admitted")

// RefusedError is why Wait gives up when waiting is of no use. Nothing was spent.
type RefusedError struct {
	// Answer is the refusal.
	Answer *Answer
	cause  error
}

// Error names the policy and its wait.
func (e *RefusedError) Error() string {
	if e.Answer.RetryAfter == seawall.Never {
		return fmt.Sprintf("ratelimit: policy %q: %v", e.Answer.Policy, e.cause)
	}
	return fmt.Sprintf("ratelimit: policy %q refuses for another %v: %v", e.Answer.Policy, e.Answer.RetryAfter, e.cause)
}

// Unwrap returns ErrNever or context.DeadlineExceeded.
func (e *RefusedError) Unwrap() error { return e.cause }

// Wait spends like Allow, as soon as that is admitted. Those of this process who wait for the same Request.Key
// are served in the order in which they came, however much each wants; between processes whoever asks first is
// served first. It returns
//
//   - a *RefusedError that wraps ErrNever if it will never be admitted, or context.DeadlineExceeded, at once, if what
//     is missing comes only after ctx's deadline;
//   - an error that wraps ctx's when ctx is done: nothing is spent, or it has been refunded;
//   - the store's error, which wraps ErrUnknown unless certainly nothing was spent.
func (b *Budget) Wait(ctx context.Context, r *seawall.Request) (*Answer, error) {
	place, _ := b.lines.Join(r.Key, 0)
	defer b.lines.Leave(place)
	if err := b.standInLine(ctx, r, place.Turn()); err != nil {
		return nil, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("ratelimit: waiting: %w", err)
		}
		a, err := b.askUninterrupted(ctx, r)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, fmt.Errorf("ratelimit: waiting: %w; %w", ctx.Err(), err)
		case err != nil:
			return nil, err
		case a.Admitted && ctx.Err() != nil:
			return nil, errors.Join(fmt.Errorf("ratelimit: waiting: %w", ctx.Err()), b.Refund(ctx, a))
		case a.Admitted:
			return a, nil
		}
		if err := sleep(ctx, a); err != nil {
			return nil, err
		}
	}
}

// standInLine waits for its turn, unless it is of no use to.
func (b *Budget) standInLine(ctx context.Context, r *seawall.Request, turn <-chan struct{}) error {
	select {
	case <-turn:
		return nil
	default:
	}
	a, err := b.Peek(ctx, r)
	if err != nil {
		return err
	}
	if err := a.hopeless(ctx); err != nil {
		return err
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ratelimit: waiting in line: %w", ctx.Err())
	}
}

// hopeless returns an error if what refuses does so for longer than ctx lasts.
func (a *Answer) hopeless(ctx context.Context) error {
	if a.Admitted {
		return nil
	}
	if a.RetryAfter == seawall.Never {
		return &RefusedError{a, ErrNever}
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < a.RetryAfter {
		return &RefusedError{a, context.DeadlineExceeded}
	}
	return nil
}

// askUninterrupted is Allow, whose outcome is known also if ctx ends meanwhile.
func (b *Budget) askUninterrupted(ctx context.Context, r *seawall.Request) (*Answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	return b.Allow(ctx, r)
}

// sleep waits until it is worth asking again.
func sleep(ctx context.Context, refusal *Answer) error {
	if err := refusal.hopeless(ctx); err != nil {
		return err
	}
	timer := time.NewTimer(min(max(refusal.RetryAfter, time.Millisecond), lookAgain))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ratelimit: waiting: %w", ctx.Err())
	}
}

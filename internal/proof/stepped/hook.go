package stepped

import (
	"context"
	"crypto/sha1" // it is how Redis names scripts
	"encoding/hex"
	"strings"

	"github.com/redis/go-redis/v9"
)

// hook is the Clock's in its client. Scripts of requests go alone or through pipelines, those that release and renew alone.
// What else goes alone keeps Redis' own clock: heartbeats, probes and commands. Those may be under way beside them.
type hook struct{ clock *Clock }

var _ redis.Hook = hook{}

// DialHook implements redis.Hook.
func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		switch cmd.Name() {
		case "eval":
			text := args[1].(string)
			if strings.Contains(text, "-- One heartbeat: ") || strings.Contains(text, "-- One probe: ") {
				return next(ctx, cmd)
			}
			args[1] = h.clock.text(text)
		case "evalsha":
			hash := args[1].(string)
			if args[1] = h.clock.hash(hash); args[1] == hash {
				return next(ctx, cmd)
			}
		default:
			return next(ctx, cmd)
		}
		if step := h.clock.step(ctx); step != nil {
			if err := next(ctx, step); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		err := next(ctx, cmd)
		h.clock.ran(cmd)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			switch args := cmd.Args(); cmd.Name() {
			case "eval":
				args[1] = h.clock.text(args[1].(string))
			case "evalsha":
				args[1] = h.clock.hash(args[1].(string))
			}
		}
		if step := h.clock.step(ctx); step != nil {
			cmds = append([]redis.Cmder{step}, cmds...)
		}
		return next(ctx, cmds)
	}
}

// text returns a script with the stand-in ahead of it.
func (c *Clock) text(script string) string {
	changed := c.standIn + script
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hashes[hashOf(script)] = hashOf(changed)
	if strings.Contains(script, "lost = lost + 1") {
		c.renewing[changed], c.renewing[hashOf(changed)] = true, true
	}
	return changed
}

// hash returns what Redis knows a script by. One that Redis does not know yet stays so, and the store then
// sends its text.
func (c *Clock) hash(hash string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changed, ok := c.hashes[hash]; ok {
		return changed
	}
	return hash
}

func hashOf(script string) string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}

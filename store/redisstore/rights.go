package redisstore

import (
	_ "embed"
	"errors"

	"github.com/redis/go-redis/v9"
)

//go:embed rights.lua
var rightsLua string

// learnRights remembers what a heartbeat found: as long as the user may not read what scripts decide by, nothing is decided on
// Redis, which would admit everything.
func (i *instance) learnRights(err error) {
	var call *callError
	switch {
	case err == nil:
		i.unreadable.Store(nil)
	case errors.As(err, &call) && redis.HasErrorPrefix(call.err, "UNREADABLE"):
		i.unreadable.Store(&callError{reason: call.reason, err: call.err, unsent: true})
	}
}

// readable returns why nothing is to be decided on Redis now.
func (i *instance) readable() error {
	if unreadable := i.unreadable.Load(); unreadable != nil {
		return unreadable
	}
	return nil
}

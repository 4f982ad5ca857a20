package redisstore

import (
	_ "embed"
	"errors"

	"github.com/redis/go-redis/v9"
)

//go:embed rights.lua
var rightsLua string

// learnRights remembers what a heartbeat found: as long as the user may not do all that is needed, nothing is decided on Redis,
// which might admit everything.
func (i *instance) learnRights(err error) {
	var call *callError
	switch {
	case err == nil:
		i.forbidden.Store(nil)
	case errors.As(err, &call) && redis.HasErrorPrefix(call.err, "FORBIDDEN"):
		i.forbidden.Store(&callError{reason: call.reason, err: call.err, unsent: true})
	}
}

// allowed returns why nothing is to be decided on Redis now.
func (i *instance) allowed() error {
	if forbidden := i.forbidden.Load(); forbidden != nil {
		return forbidden
	}
	return nil
}

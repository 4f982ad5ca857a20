package bench

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/zeromicro/go-zero/core/load"
	"github.com/zeromicro/go-zero/core/logx"
)

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // clients report every connection that breaks
	logx.Disable()
	load.DisableLog()
	os.Exit(m.Run())
}

// closes has the test close what it is given.
func closes[C io.Closer](t testing.TB, c C) C {
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

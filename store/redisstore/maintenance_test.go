package redisstore_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

// TestMaintenanceNotifications has clients meet a Redis that does not know maintenance notifications, which only
// clients of one's own ask for.
func TestMaintenanceNotifications(t *testing.T) {
	t.Parallel()
	for mode, asks := range map[maintnotifications.Mode]bool{
		maintnotifications.ModeDisabled: false, maintnotifications.ModeAuto: true, maintnotifications.ModeEnabled: true,
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			o, err := redisstore.Options(server.URL())
			require.NoError(t, err)
			assert.Equal(t, maintnotifications.ModeDisabled, o.MaintNotificationsConfig.Mode)
			if asks {
				o.MaintNotificationsConfig = &maintnotifications.Config{Mode: mode}
			}
			c := redis.NewClient(o)
			t.Cleanup(func() { _ = c.Close() })
			admin := server.Client(t)
			if admin.Do(t.Context(), "CLIENT", "MAINT_NOTIFICATIONS", "ON").Err() == nil {
				t.Skip("this Redis knows maintenance notifications")
			}
			server.ResetStat(t)
			s := openOn(t, c)
			check := bucket(t, "a", ratelimit.PerSecond(1000), 1000)
			if mode == maintnotifications.ModeEnabled {
				_, err := s.Apply(short(t, soon), nil, []seawall.Check{check})
				require.Error(t, err)
				assert.Equal(t, "error", reasonOf(err), "%v", err)
			} else {
				require.True(t, apply(t, s, check)[0].Admitted)
				require.Eventually(t, func() bool { return s.Fleet().Announced }, soon, time.Millisecond)
			}
			stats, err := admin.InfoMap(t.Context(), "errorstats").Result()
			require.NoError(t, err)
			assert.Equal(t, asks, stats["Errorstats"]["errorstat_ERR"] != "", "%v", stats)
		})
	}
}

package redisstore_test

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/internal/redistest"
	"github.com/seawall-go/seawall/ratelimit"
	"github.com/seawall-go/seawall/store/redisstore"
)

func TestSentinelOptions(t *testing.T) {
	t.Parallel()
	o, err := redisstore.SentinelOptions("redis://who:secret@a.test:26379/3?addr=b.test:26380&master_name=m&username=user&password=pass")
	require.NoError(t, err)
	assert.Equal(t, []string{"a.test:26379", "b.test:26380"}, o.SentinelAddrs)
	assert.Equal(t, []string{"m", "who", "secret", "user", "pass"}, []string{o.MasterName, o.SentinelUsername, o.SentinelPassword, o.Username, o.Password})
	assert.Equal(t, 3, o.DB)
	assert.Nil(t, o.TLSConfig)

	// The client's options are those of a client of one server, but for the dial.
	c := redis.NewFailoverClient(o)
	defer c.Close()
	single, err := redisstore.NewClient("redis://user:pass@a.test:6379/3")
	require.NoError(t, err)
	defer single.Close()
	got, want := *c.Options(), *single.Options()
	assert.Greater(t, got.DialTimeout, want.DialTimeout+3*want.ReadTimeout, "time to give up a Sentinel that hangs")
	assert.LessOrEqual(t, got.DialTimeout, 3*time.Second)
	assert.Equal(t, want.MaintNotificationsConfig.Mode, got.MaintNotificationsConfig.Mode)
	for _, o := range []*redis.Options{&got, &want} {
		o.Addr, o.NodeAddress, o.DialTimeout, o.Dialer, o.MaintNotificationsConfig, o.PushNotificationProcessor = "", "", 0, nil, nil, nil
	}
	assert.Equal(t, want, got)

	o, err = redisstore.SentinelOptions("rediss://a.test:1?master_name=m&dial_timeout=3s&read_timeout=4s&pool_size=3&max_retries=7")
	require.NoError(t, err)
	assert.Equal(t, uint16(tls.VersionTLS12), o.TLSConfig.MinVersion)
	assert.Equal(t, 10*time.Second, o.DialTimeout, "the longest that a Store takes")
	assert.Equal(t, 4*time.Second, o.ReadTimeout)
	assert.Equal(t, -1, o.MaxRetries)
	assert.Equal(t, 3, o.PoolSize)
}

func TestABadSentinelURLIsNamed(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                                "scheme",
		"http://a:1?master_name=m":                        "http",
		"redis://:1?master_name=m":                        "host",
		"redis://a?master_name=m":                         "26379",
		"redis://a:1":                                     "master_name",
		"redis://a:1?master_name=":                        "master_name",
		"redis://a:70000?master_name=m":                   "70000",
		"redis://a:0?master_name=m":                       `"0"`,
		"redis://a:1?master_name=m&addr=b":                "addr",
		"redis://a:1?master_name=m&addr=b:70000":          "70000",
		"redis://a:1/x?master_name=m":                     `"x"`,
		"redis://a:1?master_name=m&no=1":                  "no",
		"redis://a:1?master_name=m&replica_only=true":     "replica_only",
		"redis://a:1?master_name=m&route_by_latency=true": "route_by_latency",
		"redis://a:1?master_name=m&route_randomly=true":   "route_randomly",
		"redis://u:secret%zz@a:1?master_name=m":           "want redis://",
		"redis://u:secret@a:b?master_name=m":              "want redis://",
	} {
		_, err := redisstore.NewSentinelClient(url)
		require.ErrorContains(t, err, "redis URL: ", url)
		assert.ErrorContains(t, err, want, url)
		assert.ErrorContains(t, err, "master_name=", url)
		assert.NotContains(t, err.Error(), "secret", url)
	}
	_, err := redisstore.NewClient("redis://a:1?master_name=m")
	assert.ErrorContains(t, err, "NewSentinelClient")
}

// openSentinel returns a store on the master that the Sentinels at a URL name.
func openSentinel(t *testing.T, url string) (*redisstore.Store, *redis.Client) {
	t.Helper()
	c, err := redisstore.NewSentinelClient(url)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return openOn(t, c), c
}

// TestAFailoverIsFollowed kills a master. What its replica was told counts on.
func TestAFailoverIsFollowed(t *testing.T) {
	t.Parallel()
	for name, also := range map[string]func(asked *redistest.Server){
		"the master alone":                      func(*redistest.Server) {},
		"and the Sentinel that was asked":       (*redistest.Server).Kill,
		"and the Sentinel that was asked hangs": (*redistest.Server).Stop,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sentinel := redistest.StartSentinel(t)
			s, _ := openSentinel(t, "redis://"+sentinel.Addrs()[0]+"?master_name="+redistest.MasterName) // it tells of the others
			warm(t, s)
			spend := func() ([]seawall.Result, error) {
				return s.Apply(short(t, soon), nil, []seawall.Check{bucket(t, "a", ratelimit.PerDay(1), 10)})
			}
			for range 4 {
				_, err := spend()
				require.NoError(t, err)
			}
			old := sentinel.Master(t)
			require.NoError(t, old.Client(t).Wait(t.Context(), 2, soon).Err())
			also(sentinel.Sentinels()[0])
			old.Kill()
			sentinel.NextMaster(t, old)
			named := time.Now()
			require.EventuallyWithT(t, func(t *assert.CollectT) {
				results, err := spend()
				require.NoError(t, err)
				require.EqualValues(t, 5, results[0].Remaining)
			}, soon, 10*time.Millisecond)
			assert.Less(t, time.Since(named), 6*time.Second, "with a shorter DialTimeout it takes ten")
		})
	}
}

func TestAFailoverIsFollowedOverTLS(t *testing.T) {
	t.Parallel()
	authority := redistest.NewAuthority(t)
	sentinel := redistest.StartSentinelTLS(t, authority.Certificate(t, time.Hour))
	o, err := redisstore.SentinelOptions(sentinel.URL())
	require.NoError(t, err)
	o.TLSConfig.RootCAs = authority.Roots()
	c := redis.NewFailoverClient(o)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	s := openOn(t, c)
	check := bucket(t, "a", ratelimit.PerDay(1), 10)
	require.EqualValues(t, 9, apply(t, s, check)[0].Remaining)
	old := sentinel.Master(t)
	require.NoError(t, old.Client(t).Wait(t.Context(), 2, soon).Err())
	old.Kill()
	sentinel.NextMaster(t, old)
	require.EventuallyWithT(t, func(every *assert.CollectT) {
		results, err := s.Apply(short(t, soon), nil, []seawall.Check{check})
		require.NoError(every, err)
		require.EqualValues(every, 8, results[0].Remaining)
	}, soon, 10*time.Millisecond)
}

func TestSentinelsAbsentAtFirst(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	for _, s := range sentinel.Sentinels() {
		s.Kill()
	}
	s, _ := openSentinel(t, sentinel.URL())
	apply := func() error {
		_, err := s.Apply(short(t, soon), nil, []seawall.Check{bucket(t, "a", ratelimit.PerSecond(1000), 1000)})
		return err
	}
	assert.Equal(t, "refused", reasonOf(apply()))
	sentinel.Sentinels()[2].Restart(t)
	require.Eventually(t, func() bool { return apply() == nil }, soon, 10*time.Millisecond)
}

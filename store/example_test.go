package store_test

import (
	"context"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/seawall-go/seawall"
	"github.com/seawall-go/seawall/concurrency"
	"github.com/seawall-go/seawall/store"
	"github.com/seawall-go/seawall/store/memstore"
	"github.com/seawall-go/seawall/store/redisstore"
)

// On Redis, with an embedded store to decide by when Redis is late or gone, and a cache of denials in front. Redis need
// not be there yet.
func ExampleNewFailover() {
	stack, client, err := onRedis("redis://127.0.0.1:6379")
	if err != nil {
		log.Fatal(err)
	}
	// Serve. When no request is in flight any more:
	_ = stack.Close(context.Background())
	_ = client.Close()
}

func onRedis(url string) (*seawall.Stack, *redis.Client, error) {
	client, err := redisstore.NewClient(url)
	if err != nil {
		return nil, nil, err
	}
	shared, err := redisstore.New(redisstore.Config{Client: client, Namespace: "payments-prod"})
	if err != nil {
		return nil, nil, err
	}
	both, err := store.NewFailover(store.FailoverConfig{Shared: shared, Local: memstore.New(memstore.Config{})})
	if err != nil {
		return nil, nil, err
	}
	cached, err := store.NewDenyCache(store.DenyCacheConfig{Store: both})
	if err != nil {
		return nil, nil, err
	}
	inFlight, err := concurrency.New(concurrency.Config{MaxInFlight: 20})
	if err != nil {
		return nil, nil, err
	}
	stack, err := seawall.New(seawall.Config{Store: cached}, inFlight)
	return stack, client, err
}

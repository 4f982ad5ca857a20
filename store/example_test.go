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

// On Redis, with an embedded store to decide slots by when Redis is late. Redis need not be there yet.
func ExampleNewFailover() {
	options, err := redisstore.Options("redis://127.0.0.1:6379")
	if err != nil {
		log.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	shared, err := redisstore.New(redisstore.Config{Client: client, Namespace: "payments-prod"})
	if err != nil {
		log.Fatal(err)
	}
	both, err := store.NewFailover(shared, memstore.New(memstore.Config{}))
	if err != nil {
		log.Fatal(err)
	}
	inFlight, err := concurrency.New(concurrency.Config{MaxInFlight: 20})
	if err != nil {
		log.Fatal(err)
	}
	stack, err := seawall.New(seawall.Config{Store: both}, inFlight)
	if err != nil {
		log.Fatal(err)
	}
	defer stack.Close(context.Background()) // when no request is in flight any more
}

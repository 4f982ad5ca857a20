//go:build unix

package redistest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is how many hash slots a Redis Cluster has.
const slots = 16384

// Cluster is a Redis Cluster of real processes. One that loses a master goes on with the other slots; a master that has a
// replica is replaced within some seconds.
type Cluster struct {
	t       testing.TB
	Masters []*Server   // at the beginning
	Others  [][]*Server // replicas of each, at the beginning

	Pause time.Duration // between two keys of a slot that is moved
}

// StartCluster starts so many masters, with the slots in equal parts, and so many replicas of each, and returns when all of
// them agree. The arguments go to every server.
func StartCluster(t testing.TB, masters, replicas int, args ...string) *Cluster {
	t.Helper()
	return startCluster(t, nil, masters, replicas, args...)
}

// startCluster does so; the servers speak TLS if there is a certificate.
func startCluster(t testing.TB, cert *Certificate, masters, replicas int, args ...string) *Cluster {
	t.Helper()
	args = append([]string{
		"--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no",
		"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
	}, args...)
	c := &Cluster{t: t}
	for range masters {
		c.Masters = append(c.Masters, StartTLS(t, cert, args...))
		var others []*Server
		for range replicas {
			others = append(others, StartTLS(t, cert, args...))
		}
		c.Others = append(c.Others, others)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*startTimeout)
	defer cancel()
	if err := c.join(ctx); err != nil {
		t.Fatalf("redistest: cluster: %v", err)
	}
	return c
}

// Nodes are all servers.
func (c *Cluster) Nodes() (all []*Server) {
	for i, m := range c.Masters {
		all = append(append(all, m), c.Others[i]...)
	}
	return all
}

// Addrs are the addresses of all servers, masters first.
func (c *Cluster) Addrs() (addrs []string) {
	for _, s := range c.Masters {
		addrs = append(addrs, s.Addr())
	}
	for _, others := range c.Others {
		for _, s := range others {
			addrs = append(addrs, s.Addr())
		}
	}
	return addrs
}

// join makes one cluster of the servers.
func (c *Cluster) join(ctx context.Context) error {
	first, nodes := c.Masters[0], c.Nodes()
	for _, s := range nodes[1:] {
		if err := s.Client(c.t).ClusterMeet(ctx, "127.0.0.1", fmt.Sprint(first.port)).Err(); err != nil {
			return err
		}
	}
	for i, m := range c.Masters {
		from, to := i*slots/len(c.Masters), (i+1)*slots/len(c.Masters)-1
		if err := m.Client(c.t).ClusterAddSlotsRange(ctx, from, to).Err(); err != nil {
			return err
		}
	}
	err := c.each(ctx, nodes, func(client *redis.Client) error {
		known, err := client.ClusterNodes(ctx).Result()
		if err == nil && strings.Count(known, "\n") != len(nodes) {
			err = fmt.Errorf("knows these nodes:\n%s", known)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, m := range c.Masters {
		id, err := m.Client(c.t).ClusterMyID(ctx).Result()
		if err != nil {
			return err
		}
		for _, other := range c.Others[i] {
			err := c.each(ctx, []*Server{other}, func(client *redis.Client) error { return client.ClusterReplicate(ctx, id).Err() })
			if err != nil {
				return err
			}
		}
	}
	return c.each(ctx, nodes, func(client *redis.Client) error { return c.agrees(ctx, client) })
}

// agrees returns what a node does not know yet of the cluster as it is to be.
func (c *Cluster) agrees(ctx context.Context, client *redis.Client) error {
	info, err := client.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	for _, want := range []string{"cluster_state:ok", fmt.Sprintf("cluster_slots_ok:%d", slots), fmt.Sprintf("cluster_size:%d", len(c.Masters))} {
		if !strings.Contains(info, want) {
			return fmt.Errorf("not %s:\n%s", want, info)
		}
	}
	shards, err := client.ClusterShards(ctx).Result()
	if err != nil {
		return err
	}
	for _, s := range shards {
		if want := 1 + len(c.Others[0]); len(s.Nodes) != want {
			return fmt.Errorf("slots %v have %d nodes, want %d", s.Slots, len(s.Nodes), want)
		}
	}
	replication, err := client.Info(ctx, "replication").Result()
	if err == nil && strings.Contains(replication, "master_link_status:down") {
		err = fmt.Errorf("is not in step with its master")
	}
	return err
}

// each has every server do something until it does.
func (c *Cluster) each(ctx context.Context, servers []*Server, does func(*redis.Client) error) error {
	for _, s := range servers {
		client := s.Client(c.t)
		var last error // before the time was over
		for {
			err := does(client)
			if err == nil {
				break
			}
			if ctx.Err() == nil || last == nil {
				last = err
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s: %w", s.Addr(), last)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

// Holder returns the server that has the key's slot now, asked of the given one.
func (c *Cluster) Holder(t testing.TB, from *Server, key string) *Server {
	t.Helper()
	holder, err := c.holder(context.Background(), from.Client(t), key)
	if err != nil {
		t.Fatalf("redistest: cluster: %v", err)
	}
	return holder
}

func (c *Cluster) holder(ctx context.Context, client *redis.Client, key string) (*Server, error) {
	slot, err := client.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	shards, err := client.ClusterShards(ctx).Result()
	if err != nil {
		return nil, err
	}
	for _, shard := range shards {
		if !slices.ContainsFunc(shard.Slots, func(r redis.SlotRange) bool { return r.Start <= slot && slot <= r.End }) {
			continue
		}
		for _, s := range c.Nodes() {
			if slices.ContainsFunc(shard.Nodes, func(n redis.Node) bool { return n.Role == "master" && int(cmp.Or(n.TLSPort, n.Port)) == s.port }) {
				return s, nil
			}
		}
	}
	return nil, fmt.Errorf("nobody has slot %d of %q", slot, key)
}

// Move moves the key's slot to another master, with all that is in it, as redis-cli does: a key at a time. It waits first until
// all masters know of the last move: who takes a slot before numbers the change as that one was, and for seconds they do not
// agree which counts.
func (c *Cluster) Move(t testing.TB, key string, to *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*startTimeout)
	defer cancel()
	from, err := c.agreed(ctx, key)
	if err == nil && from != to {
		err = c.move(ctx, key, from, to)
	}
	if err != nil {
		t.Fatalf("redistest: cluster: moving the slot of %q to %s: %v", key, to.Addr(), err)
	}
}

// agreed returns who has the key's slot, once all masters say the same, and have heard of the latest change of any.
func (c *Cluster) agreed(ctx context.Context, key string) (who *Server, err error) {
	clients := make([]*redis.Client, len(c.Masters))
	for i, m := range c.Masters {
		clients[i] = m.Client(c.t)
	}
	for {
		epochs, holders := map[string]bool{}, map[*Server]bool{}
		for _, client := range clients {
			info, err := client.ClusterInfo(ctx).Result()
			if err != nil {
				return nil, err
			}
			epoch, _ := field(info, "cluster_current_epoch")
			if who, err = c.holder(ctx, client, key); err != nil {
				return nil, err
			}
			epochs[epoch], holders[who] = true, true
		}
		if len(epochs) == 1 && len(holders) == 1 {
			return who, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the masters do not agree: epochs %v, %d holders", epochs, len(holders))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *Cluster) move(ctx context.Context, key string, from, to *Server) error {
	source, target := from.Client(c.t), to.Client(c.t)
	slot, err := source.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return err
	}
	sourceID, err := source.ClusterMyID(ctx).Result()
	if err != nil {
		return err
	}
	targetID, err := target.ClusterMyID(ctx).Result()
	if err != nil {
		return err
	}
	if err := target.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", sourceID).Err(); err != nil {
		return err
	}
	if err := source.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetID).Err(); err != nil {
		return err
	}
	for {
		keys, err := source.ClusterGetKeysInSlot(ctx, int(slot), 1).Result()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		if err := source.Migrate(ctx, "127.0.0.1", fmt.Sprint(to.port), keys[0], 0, opTimeout).Err(); err != nil {
			return err
		}
		time.Sleep(c.Pause)
	}
	for _, node := range []*redis.Client{target, source} { // in this order, or nobody has it for a moment
		if err := node.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", targetID).Err(); err != nil {
			return err
		}
	}
	return nil
}

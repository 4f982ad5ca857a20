//go:build unix

package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// MasterName is what the Sentinels call their master.
const MasterName = "mymaster"

const (
	sentinels = 3
	quorum    = 2
	// failoverTimeout is generous: a failover takes about two seconds on an idle machine.
	failoverTimeout = 2 * startTimeout
)

// Sentinel is a master with two replicas, and three Sentinels that watch them. Two of them that miss the master for
// a second and a half have a replica take its place.
type Sentinel struct {
	servers   []*Server
	addrs     []string // of the servers, as all others see them
	sentinels []*Server
}

// StartSentinel starts the servers and the Sentinels, and returns when all know each other and the replicas are in step.
func StartSentinel(t testing.TB) *Sentinel {
	t.Helper()
	return startSentinels(t, nil, itself)
}

func itself(addr string) string { return addr }

// StartSentinelBehind is StartSentinel with something in front of each server, such as a proxy: front is given a server's
// address, and returns the one at which Sentinels, replicas and clients find it, on 127.0.0.1, too. A server that is
// restarted has forgotten of it.
func StartSentinelBehind(t testing.TB, front func(addr string) string) *Sentinel {
	t.Helper()
	return startSentinels(t, nil, front)
}

// startSentinels does so; all speak TLS if there is a certificate.
func startSentinels(t testing.TB, cert *Certificate, front func(addr string) string) *Sentinel {
	t.Helper()
	s := &Sentinel{}
	for k := range 3 {
		server := StartTLS(t, cert, "--repl-diskless-sync-delay", "0")
		s.servers = append(s.servers, server)
		s.addrs = append(s.addrs, front(server.Addr()))
		server.admin(t, "CONFIG SET replica-announce-port "+portOf(t, s.addrs[k]))
		if k > 0 {
			server.admin(t, "REPLICAOF 127.0.0.1 "+portOf(t, s.addrs[0]))
		}
	}
	for range sentinels {
		s.sentinels = append(s.sentinels, startSentinel(t, cert, portOf(t, s.addrs[0])))
	}
	s.awaitReady(t)
	return s
}

// Mend has all servers run again, empty if they did not, and returns when they are one master and replicas in step with it.
func (s *Sentinel) Mend(t testing.TB) {
	t.Helper()
	for _, server := range s.servers {
		if server.running() {
			server.Cont()
		} else {
			server.Restart(t)
		}
	}
	s.awaitReady(t)
}

func (s *Sentinel) awaitReady(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(failoverTimeout)
	for !s.ready() {
		if time.Now().After(deadline) {
			t.Fatalf("redistest: the Sentinels did not find all others and two replicas within %v", failoverTimeout)
		}
		time.Sleep(10 * time.Millisecond) // until they are asked again
	}
}

// startSentinel starts one that watches the master at the port.
func startSentinel(t testing.TB, cert *Certificate, port string) *Server {
	t.Helper()
	s := newServer(t)
	s.cert = cert
	s.conf, s.args = filepath.Join(s.dir, "sentinel.conf"), []string{"--sentinel"}
	// A second and a half of silence: on a starved machine servers are silent for half a second without being gone.
	conf := fmt.Sprintf(`sentinel monitor %[1]s 127.0.0.1 %[2]s %[3]d
sentinel down-after-milliseconds %[1]s 1500
sentinel failover-timeout %[1]s 3000
sentinel parallel-syncs %[1]s 2
`, MasterName, port, quorum)
	if err := os.WriteFile(s.conf, []byte(conf), 0o600); err != nil { // Sentinel writes into it, too
		t.Fatalf("redistest: %v", err)
	}
	s.start(t)
	// What they otherwise tell and ask each other every second or two, and that they rest for half a minute when the
	// machine has stood still. Redis 6 does not know of it, and takes longer.
	_, _ = s.do("SENTINEL DEBUG PUBLISH-PERIOD 200 INFO-PERIOD 500 ASK-PERIOD 200 TILT-TRIGGER 30000 TILT-PERIOD 1000", opTimeout)
	return s
}

func portOf(t testing.TB, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatalf("redistest: a server's address: %v; want 127.0.0.1:port", err)
	}
	return port
}

// ready tells whether everybody knows everybody.
func (s *Sentinel) ready() bool {
	for _, sentinel := range s.sentinels {
		line := masterLine(sentinel)
		if !strings.Contains(line, "status=ok,") || !strings.Contains(line, fmt.Sprintf(",slaves=%d,sentinels=%d", len(s.servers)-1, sentinels)) {
			return false
		}
	}
	masters := 0
	for _, server := range s.servers {
		info, err := server.do("INFO replication", pingTimeout)
		role, _ := field(info, "role")
		if role == "master" {
			masters++
		} else if err != nil || !strings.Contains(info, "master_link_status:up") {
			return false
		}
	}
	return masters == 1
}

// masterLine is what a Sentinel says of the master; "" if it does not answer.
func masterLine(sentinel *Server) string {
	info, err := sentinel.do("INFO sentinel", pingTimeout)
	if err != nil {
		return ""
	}
	line, _ := field(info, "master0")
	return line
}

// URL is the Sentinels' redis:// URL, as go-redis' ParseFailoverURL reads it.
func (s *Sentinel) URL() string {
	addrs := s.Addrs()
	return s.sentinels[0].URL() + "?addr=" + strings.Join(addrs[1:], "&addr=") + "&master_name=" + MasterName
}

// Addrs are the Sentinels' addresses.
func (s *Sentinel) Addrs() (addrs []string) {
	for _, sentinel := range s.sentinels {
		addrs = append(addrs, sentinel.Addr())
	}
	return addrs
}

// Sentinels are the Sentinels themselves, in the order of Addrs.
func (s *Sentinel) Sentinels() []*Server { return s.sentinels }

// Master returns the server that most Sentinels name.
func (s *Sentinel) Master(t testing.TB) *Server {
	t.Helper()
	return s.NextMaster(t, nil)
}

// Replicas returns the other servers, whatever became of them.
func (s *Sentinel) Replicas(t testing.TB) (replicas []*Server) {
	t.Helper()
	master := s.Master(t)
	for _, server := range s.servers {
		if server != master {
			replicas = append(replicas, server)
		}
	}
	return replicas
}

// NextMaster waits until most Sentinels name another master than the given one, and it says so itself.
func (s *Sentinel) NextMaster(t testing.TB, old *Server) *Server {
	t.Helper()
	for deadline := time.Now().Add(failoverTimeout); time.Now().Before(deadline); {
		if master := s.named(); master != nil && master != old && master.Role() == "master" {
			return master
		}
		time.Sleep(10 * time.Millisecond) // until they are asked again
	}
	t.Fatalf("redistest: the Sentinels named no other master within %v", failoverTimeout)
	return nil
}

// named is the server that most Sentinels name, nil if there is none.
func (s *Sentinel) named() *Server {
	votes := map[*Server]int{}
	for _, sentinel := range s.sentinels {
		_, rest, _ := strings.Cut(masterLine(sentinel), ",address=")
		addr, _, _ := strings.Cut(rest, ",")
		for k, known := range s.addrs {
			if known == addr {
				votes[s.servers[k]]++
			}
		}
	}
	for server, n := range votes {
		if n >= quorum {
			return server
		}
	}
	return nil
}

// Role is what the server takes itself for: "master" or "slave"; "" if it does not answer.
func (s *Server) Role() string {
	info, err := s.do("INFO replication", pingTimeout)
	if err != nil {
		return ""
	}
	role, _ := field(info, "role")
	return role
}

GOLANGCI_LINT_VERSION := v2.15.0
# How long make proof fuzzes each target.
FUZZTIME := 60s

GOLANGCI_LINT := $(CURDIR)/bin/golangci-lint

# Every folder with a go.mod is a module: this one, and those that keep heavy dependencies to themselves.
VISIBLE := -not -path '*/.*/*' -not -path './bin/*'
MODULES = $(shell find . -name go.mod $(VISIBLE) -exec dirname {} \; | sort)

# Nothing here needs the commit in its binaries, and where git refuses to tell it (root in somebody else's
# clone), go build fails.
export GOFLAGS := $(shell go env GOFLAGS) -buildvcs=false
# Modules are tested as users get them, whatever go.work a checkout may have.
export GOWORK := off

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## install redis-server, a C compiler and curl if missing (Debian, Ubuntu)
	@scripts/deps.sh redis-server cc curl

.PHONY: test
# The packages of internal/bench one after the other: what one measures would starve the other.
test: deps ## run all tests with the race detector, on real redis-servers that they start and stop
	@set -e; for m in $(MODULES); do \
		echo "go test -race $$m"; \
		one=; if [ $$m = ./internal/bench ]; then one="-p 1"; fi; \
		(cd $$m && SEAWALL_REQUIRE_REDIS=1 CGO_ENABLED=1 go test $$one -race -shuffle=on -parallel 6 -timeout 11m ./...); \
	done

	@echo "go test ./workershed/sim"
	@go test -shuffle=on -timeout 5m ./workershed/sim # without the race detector, which its suite is too long for

.PHONY: simulation
simulation: ## the worker shedder in simulated overloads, eight runs of each (two minutes)
	SEAWALL_SIM=long go test -count=1 -timeout 20m -v ./workershed/sim

.PHONY: proof
proof: deps ## long runs of the proof: models, linearizability, four processes, fuzzing (half an hour)
	cd internal/proof && SEAWALL_REQUIRE_REDIS=1 SEAWALL_PROOF=long CGO_ENABLED=1 go test -race -timeout 60m ./...
	cd examples/flagd && SEAWALL_PROOF=long CGO_ENABLED=1 go test -race -timeout 20m ./...
	@set -e; for f in .:FuzzKey ratelimit:FuzzRule ratelimit:FuzzParseRate ratelimit/policyfile:FuzzParse flags:FuzzFlagFile workershed/cgroup:FuzzFiles store/redisstore:FuzzReply store/redisstore:FuzzPlausible examples/replay/accesslog:FuzzCombined examples/replay/accesslog:FuzzNginxJSON examples/replay/accesslog:FuzzHAProxy examples/replay/accesslog:FuzzTraefik examples/replay/accesslog:FuzzCaddy examples/replay/accesslog:FuzzOpen; do \
		echo "fuzz $$f"; \
		go test -run '^$$' -fuzz "^$${f#*:}$$" -fuzztime $(FUZZTIME) "./$${f%:*}"; \
	done

.PHONY: memory
memory: deps ## bytes per caller on a real Redis, for every rule and both kinds of names
	SEAWALL_REQUIRE_REDIS=1 go test -run '^$$' -bench Memory -benchtime 1x -timeout 10m ./store/redisstore

.PHONY: faults
faults: deps ## every fault at full length, and docs/faults.md (ten minutes, on a machine that does nothing else)
	cd internal/faults && SEAWALL_REQUIRE_REDIS=1 SEAWALL_FAULTS=long SEAWALL_FAULTS_DOC=$(CURDIR)/docs/faults.md go test -count=1 -timeout 60m -v ./...

.PHONY: leases
leases: deps ## leases of processes that die, stand still and lose their Redis, at full length (six minutes)
	cd internal/faults && SEAWALL_REQUIRE_REDIS=1 SEAWALL_LEASES=long go test -count=1 -timeout 30m -v -run 'OneSlot|Idle|AStopped|Resurr|TheDead|WhatRedis|EveryLease|WhatEnds|LongOutage|AnswersWait|TheExample' .

.PHONY: abuse
abuse: deps ## attackers against the payments example, at full length (six minutes)
	cd internal/abuse && SEAWALL_REQUIRE_REDIS=1 SEAWALL_ABUSE=long CGO_ENABLED=1 go test -race -count=1 -timeout 30m -v ./...

.PHONY: clients
clients: deps ## clients in Python and JavaScript that honour Retry-After, against the payments example (one minute)
	@scripts/deps.sh python3-urllib3 node npm
	cd internal/clients && SEAWALL_REQUIRE_REDIS=1 SEAWALL_CLIENTS=long go test -count=1 -timeout 10m -v -run OtherLanguages .

.PHONY: refusals
refusals: deps ## what curl shows of every refusal, docs/refusals.md
	cd internal/clients && SEAWALL_REQUIRE_REDIS=1 SEAWALL_REFUSALS_DOC=$(CURDIR)/docs/refusals.md go test -count=1 -timeout 10m -run TestRefusals .

.PHONY: outage
outage: deps ## Seawall beside its peers while Redis is away, the tables of docs/faults.md (two minutes)
	cd internal/bench/outage && SEAWALL_REQUIRE_REDIS=1 SEAWALL_OUTAGE_DOC=../../../docs/faults.md go test -run TestPeersInAnOutage -count=1 -timeout 30m -v .

.PHONY: bench-peers
bench-peers: deps ## Seawall beside its peers and beside the limit, and docs/benchmarks.md (twelve minutes, on a machine that does nothing else)
	@scripts/deps.sh wrk redis-benchmark
	cd internal/bench && SEAWALL_REQUIRE_REDIS=1 SEAWALL_BENCH=long SEAWALL_BENCH_RECORD=$(CURDIR)/internal/bench/measured.json go test -count=1 -timeout 30m -run TestBench
	cd internal/plots && go run . -docs ../../docs
	@cd internal/bench && go run ./table

.PHONY: overload
overload: ## the worker shedder in a process with three times too much to do, and docs/overload.md (four minutes)
	cd internal/overload && SEAWALL_OVERLOAD=long SEAWALL_OVERLOAD_RECORD=$(CURDIR)/internal/overload/measured.json go test -count=1 -timeout 15m -v -run TestLong .
	cd internal/plots && go run . -docs ../../docs

.PHONY: plots
plots: ## draw the figures and write the tables of docs/algorithms.md, benchmarks.md, shedding.md and overload.md
	cd internal/plots && go run . -docs ../../docs

.PHONY: lint
lint: $(GOLANGCI_LINT)-$(GOLANGCI_LINT_VERSION) ## gofmt, go vet, golangci-lint, go mod tidy -diff
	@files=$$(find . -name '*.go' $(VISIBLE) -exec "$$(go env GOROOT)/bin/gofmt" -l {} +); if [ -n "$$files" ]; then echo "not formatted (gofmt -w):"; echo "$$files"; exit 1; fi
	@set -e; for m in $(MODULES); do \
		echo "lint $$m"; \
		(cd $$m && go vet ./... && $< run --allow-parallel-runners --config $(CURDIR)/.golangci.yml ./... && go mod tidy -diff); \
	done

.PHONY: fmt
fmt: $(GOLANGCI_LINT)-$(GOLANGCI_LINT_VERSION) ## format as lint wants it
	@$< fmt --config $(CURDIR)/.golangci.yml

# The version is part of the name, so a new one is installed.
$(GOLANGCI_LINT)-$(GOLANGCI_LINT_VERSION):
	@echo "installing golangci-lint $(GOLANGCI_LINT_VERSION) into bin (takes a minute or two)"
	@GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv $(GOLANGCI_LINT) $@

.PHONY: cover
cover: deps ## run the tests and print the coverage; cover.out is for go tool cover -html
	SEAWALL_REQUIRE_REDIS=1 go test -coverprofile=cover.out -coverpkg=./... -timeout 11m ./...
	go tool cover -func=cover.out | tail -1

.PHONY: clean
clean: ## remove what the other targets left
	rm -rf bin cover.out

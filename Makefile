# Each target is one or two commands; `make help` lists them.

GOFLAGS_BUILD = -trimpath -ldflags=-s
export CGO_ENABLED ?= 0

.PHONY: help build demo test e2e bench proofs mutants generate fuzz clean

help: ## list the targets
	@grep -E '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

build: ## build bin/steps and what it needs beside it
	go build $(GOFLAGS_BUILD) -tags light -o bin/steps ./cmd/steps
	go build $(GOFLAGS_BUILD) -tags noregistry -o bin/steps-full ./cmd/steps
	go build $(GOFLAGS_BUILD) -o bin/steps-registry ./cmd/steps
	go build $(GOFLAGS_BUILD) -o bin/steps-jail ./cmd/steps-jail

demo: build ## sign, verify, plan, apply and undo an example package
	sh cmd/steps/testdata/example/demo.sh

test: ## run all tests
	go vet ./...
	go vet -tags light ./cmd/steps
	go vet -tags noregistry ./cmd/steps
	go test ./...

e2e: build ## test keyless signing against real servers, built first (for minutes, online, once)
	go test -count=1 -v -timeout 2h ./signer/e2e -build=servers -steps=$(CURDIR)/bin/steps

bench: build ## print the speed table of the README
	go run ./conformance/bench

proofs: build ## crash, fault and attack at every point, kill upgrades 500 times (for an hour)
	bin/steps-full conformance crash
	bin/steps-full conformance faults
	bin/steps-full conformance race
	go test -count=1 -timeout 2h -run TestKilledUpgrade ./cmd/steps -kills 500

mutants: ## remove each sync and check of commit in turn: a suite must notice (for an hour)
	go run ./conformance/mutants -write

generate: ## write the Go code that comes from the CUE schema
	go generate ./schema

fuzz: ## fuzz every parser for a short while
	sh conformance/fuzz.sh 20s

clean: ## remove what was built
	rm -rf bin

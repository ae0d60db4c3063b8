# Each target is one or two commands; `make help` lists them.

GOFLAGS_BUILD = -trimpath -ldflags=-s
export CGO_ENABLED ?= 0

.PHONY: help build demo test e2e bench mutants generate fuzz clean

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

mutants: ## remove each sync and check of commit in turn: a suite must notice (for an hour)
	go run ./conformance/mutants

generate: ## write the Go code that comes from the CUE schema
	go generate ./schema

fuzz: ## fuzz every parser for a short while
	sh conformance/fuzz.sh 20s

clean: ## remove what was built
	rm -rf bin

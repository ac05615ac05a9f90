# Two targets do everything: `make demo` and `make test`. Each installs what it needs first.
PYTHON ?= python3
unexport PYTHONDONTWRITEBYTECODE
# Tests and benches start hundreds of Pythons: what each of them would compile is compiled once.
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
STAMP := $(VENV)/.installed
# What `sluice` itself needs is there; and what tests, lint and types need besides.

.PHONY: help install demo test check lint types coverage bench bench-peers bench-netem fresh-machine image smoke lock system system-demo clean

help:  ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(RUNS): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Sluice needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
	  || { echo "venv is missing: apt-get install python3-venv"; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(STAMP): $(RUNS)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

install: $(STAMP)  ## what `.venv/bin/sluice` and its tests need of Python's packages

system:
	@sh scripts/system-packages test

system-demo:
	@sh scripts/system-packages demo

demo: $(RUNS) system-demo  ## load two pages over a slow link, directly and through Sluice
	$(BIN)/python sluice.py demo $(DEMO)

BENCH ?=

bench: $(STAMP) system  ## every bench, quick, into bench-report/; BENCH=--full for all of them
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m bench all $(if $(filter --full,$(BENCH)),,--quick) --report bench-report

bench-netem: $(STAMP) system  ## link checks and page loads through the real tc netem (user-mode Linux, as root)
	@command -v linux.uml >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends user-mode-linux >/dev/null; } \
	  || echo "not here: user-mode-linux (as root: apt-get install user-mode-linux)"
	$(BIN)/python -m bench netem

FRESH ?=

fresh-machine: $(RUNS)  ## a bare Debian 12 through install, upgrade, boot, uninstall, container (as root); FRESH='--parts walk'
	@sh scripts/system-packages machine
	$(BIN)/python -m bench fresh-machine $(FRESH)

BUILDAH ?= buildah
BASE ?= debian:12-slim
IMAGE ?= localhost/sluice-remote

image:  ## the remote as a container image (docs/container.md); BASE: a Debian 12
	$(BUILDAH) build --format docker --isolation chroot --build-arg BASE=$(BASE) --ignorefile .dockerignore \
	  --file packaging/Containerfile --tag $(IMAGE) .

smoke: $(STAMP) system  ## benches in virtual time, and whole page loads over no slow link
	$(BIN)/python -m bench all --virtual --quick --report bench-report/virtual
	$(BIN)/python -m bench browse --profile fast --page demo/site/article --runs 1

QUIET ?= -n 2 --dist loadfile
# They wait nearly all the time: two at once leave processors idle still.
AT_ONCE ?= -n 4 --dist loadfile
# They wait more than they reckon: four files at a time keep two processors busy.

AGAIN ?= yes
# no: without those that `make coverage` has run just now.

# One process collects first, so that those beside each other find all tests compiled.
test: $(STAMP) system  ## all tests
	$(BIN)/python -m pytest $(QUIET) -m alone $(TESTS) || test $$? -eq 5  # 5: none of $(TESTS) is
	$(BIN)/python -m pytest $(AT_ONCE) -m 'not alone' $(if $(filter no,$(AGAIN)),--without-floors) $(TESTS) || test $$? -eq 5

lock: $(RUNS)  ## requirements.lock anew: newest versions, with digests
	@$(PYTHON) -m venv .peers/lock && .peers/lock/bin/pip install --quiet pip-tools
	@.peers/lock/bin/pip-compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-emit-trusted-host \
	  --no-emit-find-links --no-emit-options --strip-extras --no-annotate --no-header -o .peers/lock/found pyproject.toml scripts/lock.in
	@{ head -1 requirements.lock; cat .peers/lock/found; } > .peers/lock/new && mv .peers/lock/new requirements.lock

bench-peers: $(STAMP)  ## other people's proxies, to compare ours with
	@sh scripts/bench-peers $(PYTHON)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

coverage: $(STAMP) system
	$(BIN)/python -m tests.house.floors

check: lint types coverage  ## lint, types, branch coverage of the pure rooms

clean:  ## remove what the other targets made
	rm -rf $(VENV) .peers build *.egg-info demo-report bench-report

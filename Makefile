# The entry points. `make help` lists them; the work is in scripts/ and xtask/.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run check test test-fresh test-lab lab test-servers test-serve test-workloads test-mpi install-jvm wheel test-jvm test-python test-consumers site packages test-packages release-check lint accuracy bench bench-jvm deny fuzz soak verdicts compare-fio compare-otava

help: ## List the entry points
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: ## Build the release, measure this disk for half a minute, and make a page of it: target/quick.html
	@scripts/run.sh

check: ## What to run before each commit: formatting, lints, house rules, unit and simulated tests, and a few runs
	@scripts/test.sh --quick

test: ## All tests, formatting and house rules, with one summary
	@scripts/test.sh

test-fresh: ## `make test` of the last commit in a new Debian that has only what the README asks for (as root: makes one with debootstrap)
	@scripts/test-fresh.sh

test-lab: ## The tests on real kernel devices, in virtual machines; GROUPS="zones blocks" are some of them
	@scripts/test.sh --lab $(GROUPS)

test-workloads: ## Record real loads, model each, and compare (as root); LOADS="sqlite copy" are some of them, DIRECTORY keeps the traces
	@scripts/test-workloads.sh $(if $(DIRECTORY),--directory=$(DIRECTORY)) $(LOADS)

lab: ## A shell in a virtual machine with real kernel devices: DEVICES=nvme,zns,scsi (docs/lab.md names them)
	@. scripts/rust.sh && . scripts/lab/tests.sh && scripts/lab/lab --with $(or $(DEVICES),nvme,zns,null_blk,virtio_scsi) --shell

test-servers: ## The tests of engines on servers, and of mounts, on all servers there are (as root: installs and starts them)
	@scripts/test.sh --servers

test-serve: ## The tests of `fathom serve`, also those in a browser that take long
	@scripts/test-serve.sh

test-mpi: ## Build and test fathom-mpi with Open MPI and with MPICH (as root: installs them); MPICC names another
	@scripts/test-mpi.sh

wheel: ## Build the release and make the wheels of it, for Python on this machine: target/wheels; FATHOM_WHEEL_PROGRAM names a built program
	@rm -rf target/wheels && scripts/wheel.sh target/wheels $(FATHOM_WHEEL_PROGRAM)

test-python: ## Test the Python package, from its wheel, on the oldest and newest Python there is; FATHOM_WHEEL_PROGRAM names the program
	@scripts/test-python.sh

test-consumers: ## Programs that call fio or read its results: do they come to the same conclusions with fathom? CONSUMERS="bench-fio lisa" are some of them
	@scripts/test-consumers.sh $(CONSUMERS)

site: ## Build the documentation as a site with search: target/site (builds mdBook into the cache the first time)
	@scripts/site.sh

packages: ## Build packages, static programs, images, wheels and their documents into target/packages; PACKAGES=--again builds twice and compares
	@scripts/packages.sh $(PACKAGES)

test-packages: ## Install, run and remove what `make packages` made, each in a root of its own (as root)
	@scripts/test-packages.sh

release-check: ## The dry run of a release: do version, change log, source archive, recipes and workflow agree? TAG=v0.2.0 is that of the release
	@scripts/release-check.sh $(TAG)

install-jvm: ## Build the JVM binding and install it for Maven (~/.m2): dev.fathom:fathom-jvm
	@scripts/install-jvm.sh

test-jvm: ## Build and test the JVM binding (as root also on a loop device); JAVA_HOME names another JDK
	@scripts/test-jvm.sh

lint: ## Formatting, lints, documentation, other platforms, house rules and scripts, with one summary
	@scripts/test.sh --checks

accuracy: ## Compare what is reported with what is known to be true (as root on an idle machine); ACCURACY=--write updates docs/accuracy.md
	@scripts/accuracy.sh $(ACCURACY)

bench: ## Compare with the installed fio (best as root on an idle machine); BENCH=--write updates docs/performance.md
	@scripts/bench.sh $(BENCH)

bench-jvm: ## JMH of the JVM binding, FileChannel and fathom's io_uring on one file; DIRECT=1: past the page cache; DIRECTORY=where, FATHOM=program
	@scripts/bench-jvm.sh

deny: ## Check licences, sources and bans of all dependencies with cargo-deny
	@scripts/deny.sh

fuzz: ## Fuzz every target of fuzz/, FUZZ_TIME seconds each (default 60); findings go to fuzz/findings
	@scripts/fuzz.sh $(or $(FUZZ_TIME),60) $(FUZZ_TARGETS)

soak: ## 10 million simulated I/Os, then random runs for SOAK_TIME seconds (default 600): verification, kills, limits; SOAK_SEED repeats them
	@scripts/soak.sh --time=$(or $(SOAK_TIME),600) $(if $(SOAK_SEED),--seed=$(SOAK_SEED)) $(SOAK)

verdicts: ## Are ordinary runs called wrong? RUNS of them (default 200), in DIRECTORY; TOLD sentences of each doubt are printed
	@scripts/verdicts.sh --runs=$(or $(RUNS),200) $(if $(DIRECTORY),--directory=$(DIRECTORY)) $(if $(TOLD),--told=$(TOLD))

compare-otava: ## Change points of SERIES made series of each kind, and what Apache Otava finds in them
	@SERIES="$(SERIES)" scripts/compare-otava.sh

compare-fio: ## Do what fio does? Tables of cases, then SECONDS of random jobs; SEED repeats them
	@scripts/compare-fio.sh "$(SECONDS)" "$(SEED)"

# The front door. Every target installs the Debian packages it needs and builds first.
#   make up       train on 8 local nodes and watch them
#   make test     build for the long laws and with sanitizers, and run every test
#   make bench    measure Starling beside its peers
#   make curves   draw docs/curves from the simulator
#   make format   format every source file
.PHONY: up test bench curves format release deps
.DEFAULT_GOAL := release

deps:
	@deploy/install-packages build

release: deps
	@cmake --preset release --log-level=WARNING
	@cmake --build build/release

up: release
	@build/release/daemon/starling up -n 8 -c configs/ring.ini

test: deps
	@deploy/install-packages test
	@for preset in laws sanitized; do \
	  cmake --preset $$preset --log-level=WARNING && cmake --build build/$$preset || exit 1; done
	@tests/budget build

bench:
	@deploy/install-packages build bench
	@cmake --preset bench --log-level=WARNING
	@cmake --build build/bench
	@bench/run

curves: release
	@bench/curves.py

format:
	@deploy/install-packages format
	@git ls-files '*.h' '*.c' '*.cpp' | xargs clang-format -i

# The front door. Every target installs the Debian packages it needs and builds first.
#   make up       train on 8 local nodes and watch them
#   make test     build for the long laws and with sanitizers, and run every test
#   make bench    measure Starling beside its peers
#   make curves   draw docs/curves from the simulator
#   make install  install what `make` built: PREFIX=/usr/local, DESTDIR for a staging folder
#   make deb      build the Debian package, build/deb/starling_VERSION_ARCHITECTURE.deb
#   make format   format every source file
.PHONY: up test bench curves install deb format release deps
.DEFAULT_GOAL := release

deps:
	@deploy/install-packages build

release: deps
	@cmake --preset release --log-level=WARNING
	@cmake --build build/release

up: release
	@build/release/daemon/starling up -n 8 -c configs/ring.ini

PREFIX ?= /usr/local
install: release
	@cmake --preset release --log-level=WARNING -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	@cmake --build build/release
	@cmake --install build/release

deb: deps
	@deploy/install-packages package
	@cmake --preset deb --log-level=WARNING
	@cmake --build build/deb
	@cd build/deb && cpack -G DEB

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

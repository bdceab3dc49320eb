# The front door. Every target installs the Debian packages it needs and builds first.
#   make up       train on 8 local nodes and watch them
#   make test     every law in its short form, and what each label took of the processor
#   make laws     every law in full, and once more under sanitizers: half an hour
#   make check    after an edit: the short tests of the layers that differ from the last commit
#   make fuzz     fuzz every parser with libFuzzer: FUZZ_SECONDS=1800 a target, FUZZ_TARGETS=gate,csv
#   make bench    measure Starling beside its peers
#   make curves   draw docs/curves from the simulator
#   make install  install what `make` built: PREFIX=/usr/local, DESTDIR for a staging folder
#   make deb      build the Debian package, build/deb/starling_VERSION_ARCHITECTURE.deb
#   make wheel    build the Python client, build/wheel/starling_train-VERSION-py3-none-any.whl
#   make format   format every source file
.PHONY: up test laws check fuzz bench curves install deb wheel format release deps
.DEFAULT_GOAL := release

deps:
	@deploy/install-packages build

# A build that is there already takes what a change costs.
release: deps
	@[ -x build/release/daemon/starling ] || \
	  echo "Building Starling in build/release: two to four minutes on two cores, the first time"
	@cmake --preset release --log-level=WARNING
	@cmake --build build/release

up: release
	@echo "Training on 8 local nodes: some seconds"
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

wheel:
	@deploy/install-packages test
	@rm -rf build/wheel && mkdir -p build/wheel && cp -r clients/python build/wheel/source
	@/usr/bin/python3 -m pip wheel -q --no-deps --no-build-isolation -w build/wheel build/wheel/source
	@ls build/wheel/*.whl

test: deps
	@deploy/install-packages test
	@tests/budget test

laws: deps
	@deploy/install-packages test
	@tests/budget laws

check: deps
	@deploy/install-packages test
	@tests/check $(LAYER)

FUZZ_SECONDS ?= 1800
fuzz:
	@deploy/install-packages build fuzz
	@cmake --preset fuzz --log-level=WARNING
	@cmake --build build/fuzz --target test_fuzz
	@tests/fuzz/run.py build/fuzz --seconds $(FUZZ_SECONDS) --targets "$(FUZZ_TARGETS)"

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

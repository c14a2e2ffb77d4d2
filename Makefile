# A thin front for meson: `make run` and `make test` do everything from a fresh checkout.
#   make SAN=1 …   the same with AddressSanitizer and UndefinedBehaviorSanitizer, in build-san/
SHELL := /bin/bash
comma := ,
BUILD := $(if $(SAN),build-san,build)
MESON_ARGS := $(if $(SAN),-Db_sanitize=address$(comma)undefined -Db_lundef=false,) $(if $(CI),-Dconsole=enabled,)
SECONDS ?= 60
ROUNDS ?= 1000
PREFIX ?= /usr/local
PROGRAMS := musterd muster muster-shim muster-mcp muster-hook muster-sandbox muster-project muster-tunnel
# On a terminal ninja's status line; elsewhere nothing but complaints. V=1: every command.
NINJA = quiet=$(if $(V),-v,); [ -t 1 -o '$(V)' ] || quiet=--quiet; ninja -C $(BUILD) $$quiet
export PYTHONDONTWRITEBYTECODE := 1

.PHONY: all deps programs console build run test soak bench fuzz lint format docs install uninstall clean
all: programs

deps:
	@scripts/deps

$(BUILD)/build.ninja: | deps
	@echo "setting up $(BUILD)/" >&2
	@meson setup $(BUILD) $(MESON_ARGS) >/dev/null

programs: deps $(BUILD)/build.ninja
	@$(NINJA) $(PROGRAMS)

# Builds the web console, or says why not, also where an earlier build did without it.
console:
	@scripts/deps --console
	@[ -f $(BUILD)/build.ninja ] || meson setup $(BUILD) $(MESON_ARGS) >/dev/null
	@meson configure $(BUILD) -Dconsole=enabled
	@rm -f $(BUILD)/web/assets-table.c
	@$(NINJA) $(PROGRAMS)

# The programs, the unit tests and what the bench runs.
build: deps $(BUILD)/build.ninja
	@$(NINJA)

build-fuzz: deps
	@[ -f build-fuzz/build.ninja ] || CC=clang CXX=clang++ meson setup build-fuzz -Dfuzzers=true \
	  -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=false -Dconsole=disabled >/dev/null
	@ninja -C build-fuzz --quiet fuzzers

run: programs
	@exec $(BUILD)/musterd

test: build
	@scripts/test

# Hours rather than minutes: 500 sessions at once, 1 GB of output, ROUNDS kills of the daemon under load.
soak: build
	@MUSTER_SOAK=$(ROUNDS) tests/run.py --build $(BUILD) -v hosting_limits hosting_output hosting_crash collab_crash company_store company_sessions company_jobs company_kills approvals_kills agent_turns fault/storm
	@LEDGER_CRASH_ROUNDS=$(ROUNDS)0 $(BUILD)/test-ledger-crash
	@STORE_CRASH_ROUNDS=$(ROUNDS)0 $(BUILD)/test-store-crash

bench: build
	@scripts/bench

fuzz: build-fuzz
	@scripts/fuzz $(SECONDS)

lint: build
	@scripts/lint

format:
	@clang-format -i $$(git ls-files '*.c' '*.h' '*.cc')

docs:
	@scripts/gen-ops.py --schema schema --out build/src/gen --docs docs/reference --version $$(scripts/version)
	@scripts/limits

install: programs
	@scripts/install --build $(BUILD) --prefix $(PREFIX) --destdir "$(DESTDIR)" $(PROGRAMS)

# Takes away what install put, by the same list. State, sockets and settings stay: docs/removing.md.
uninstall: $(BUILD)/build.ninja
	@scripts/install --remove --build $(BUILD) --prefix $(PREFIX) --destdir "$(DESTDIR)"

clean:
	rm -rf build build-san build-fuzz build-bench

# ncclprof: GNU make. `make help` lists the targets.

VERSION := 0.2.0
PREFIX ?= /usr/local
DESTDIR ?=
SAN ?=

empty :=
space := $(empty) $(empty)
comma := ,

# A sanitizer build has a folder of its own, so that neither build invalidates the other.
OUT := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
GENERATED := $(OUT)/generated

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
            -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wno-unused-parameter
OPTIMISE ?= $(if $(SAN),-O1,-O3)
HARDEN := $(if $(SAN),,-D_FORTIFY_SOURCE=2 -fstack-protector-strong) -fPIE
SANITIZE := $(if $(filter coverage,$(SAN)),--coverage,$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer))
# Lines are enough in the stacks of sanitizers, and take less time to compile.
DEBUG := $(if $(SAN),-g1,-g)

# With the address sanitizer undefined behaviour is a trap, which that sanitizer reports with its stack. Messages of its own
# would be half of the program, and its processes would start in twice the time. Small processes with the default quarantine
# of freed memory, 256 MB, spend a fifth of their time on it.
ifneq ($(findstring address,$(SAN)),)
SANITIZE += -fsanitize-undefined-trap-on-error
export ASAN_OPTIONS := handle_sigill=1:quarantine_size_mb=8:$(ASAN_OPTIONS)
endif

NCCLPROF_CPPFLAGS := -D_GNU_SOURCE -I. -Ilib -I$(GENERATED) -DNCCLPROF_VERSION='"$(VERSION)"'
# Times come from untrusted files, so overflow of arithmetic on them must not be undefined: -fwrapv.
NCCLPROF_CFLAGS := -std=c11 -fwrapv $(DEBUG) $(OPTIMISE) $(WARNINGS) $(HARDEN) $(SANITIZE)
# Results that are kept in a store are those of a build (lib/store/kept.c).
NCCLPROF_LDFLAGS := $(SANITIZE) -Wl,--build-id $(if $(SAN),,-pie -Wl,-z,relro,-z,now)
# The address sanitizer adds tens of thousands of pointers to a program. At a fixed address it starts in two
# thirds of the time, and tests start it thousands of times.
PROGRAM_LDFLAGS := $(NCCLPROF_LDFLAGS) $(if $(findstring address,$(SAN)),-no-pie)
NCCLPROF_LIBS := -lcjson -lsqlite3 -lz -lpthread -lm

# The sources of the tool: all rooms of lib/ except the plugin, which is built separately (lib/plugin/module.mk).
LIB_SOURCES := $(filter-out lib/plugin/%,$(sort $(wildcard lib/*/*.c lib/*/*/*.c)))
CMD_SOURCES := $(wildcard cmd/*.c)
SQL_SOURCES := $(sort $(wildcard schemas/*/*.sql))
HEADERS := $(wildcard lib/*/*.h lib/*/*/*.h cmd/*.h)

GENERATED_HEADERS := $(GENERATED)/schemas.h $(GENERATED)/html_assets.h $(GENERATED)/commit.h

LIB_OBJECTS := $(LIB_SOURCES:%.c=$(OUT)/object/%.o) $(OUT)/object/generated/schemas.o $(OUT)/object/generated/html_assets.o
CMD_OBJECTS := $(CMD_SOURCES:%.c=$(OUT)/object/%.o)

.PHONY: all
all: $(OUT)/ncclprof

$(OUT)/ncclprof: $(CMD_OBJECTS) $(OUT)/libncclprof.a
	$(CC) $(PROGRAM_LDFLAGS) $(LDFLAGS) -o $@ $^ $(NCCLPROF_LIBS)

$(OUT)/libncclprof.a: $(LIB_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(OUT)/object/%.o: %.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(NCCLPROF_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/object/generated/%.o: $(GENERATED)/%.c
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(NCCLPROF_CFLAGS) $(CFLAGS) -c -o $@ $<

$(GENERATED)/schemas.h $(GENERATED)/schemas.c &: schemas/compile.awk $(SQL_SOURCES)
	@mkdir -p $(@D)
	awk -v header=$(GENERATED)/schemas.h -v source=$(GENERATED)/schemas.c -f schemas/compile.awk $(SQL_SOURCES)

# The script and the style sheet of `ncclprof html`.
$(GENERATED)/html_assets.h $(GENERATED)/html_assets.c &: lib/output/embed.awk lib/output/page.css lib/output/page.js
	@mkdir -p $(@D)
	awk -v header=$(GENERATED)/html_assets.h -v source=$(GENERATED)/html_assets.c -f lib/output/embed.awk lib/output/page.css \
	  lib/output/page.js

# The commit that --version shows. The header is only written if it changes, so a new commit compiles only cmd/main.c and links.
.PHONY: always
$(GENERATED)/commit.h: always
	@mkdir -p $(@D)
	@.packages/commit.sh | cmp -s - $@ || .packages/commit.sh > $@

# The version is an option of the compiler: a new one recompiles the files that use it.
$(GENERATED)/version: always
	@mkdir -p $(@D)
	@echo $(VERSION) | cmp -s - $@ || echo $(VERSION) > $@
VERSIONED := $(patsubst %.c,%.o,$(shell grep -rl --include='*.c' NCCLPROF_VERSION cmd lib))
$(foreach folder,object plugin views,$(addprefix $(OUT)/$(folder)/,$(VERSIONED))): $(GENERATED)/version

-include $(LIB_OBJECTS:.o=.d) $(CMD_OBJECTS:.o=.d)

# A room may have its own rules.
include $(wildcard lib/*/module.mk tests/*/module.mk) .packages/module.mk

.PHONY: help
help:
	@echo 'make              build/ncclprof and build/libnccl-profiler-ncclprof.so'
	@echo 'make deps         install missing packages (Debian, Ubuntu), or list them. Also deps-tools (for fuzz, lint and'
	@echo '                  coverage), deps-packages (deb, static), deps-cluster (cluster-test), deps-duckdb (duckdb-test,'
	@echo '                  clickhouse-test)'
	@echo 'make demo         ingest the bundled traces and show the main commands on them'
	@echo 'make test         all tests; SAN=address,undefined runs them under sanitizers'
	@echo 'make check        rooms and their dependencies, headers, style, banned functions, help against man pages'
	@echo 'make golden       write the expected outputs of the command-line tests'
	@echo 'make coverage     lines and branches reached by the tests (lcov)'
	@echo 'make lint         clang-tidy on changed sources; lint-all: clang-tidy, cppcheck and the gcc analyzer on all'
	@echo 'make fuzz         libFuzzer (clang) on all code that reads untrusted input; FUZZ_SECONDS=60'
	@echo 'make torture      kills, full disks, concurrent processes, every call failing in turn: half an hour'
	@echo 'make nightly      lint-all, all tests under the sanitizers, fuzz with FUZZ_SECONDS=450, and torture: three and a'
	@echo '                  half hours on two cores'
	@echo 'make cluster-test shards under Slurm and Open MPI, on the loopback address; as root'
	@echo 'make duckdb-test  queries of ncclprof-export(1), and all values, in DuckDB; clickhouse-test: in ClickHouse'
	@echo 'make eval         diagnose on simulated jobs with planted faults; EVAL_JOBS=200 EVAL_SEED=1'
	@echo 'make score        diagnose on the 40 labelled jobs of tests/eval/corpus, recorded and simulated'
	@echo 'make eval-compare compare on pairs of simulated jobs; EVAL_PAIRS=200 EVAL_PLANTED=30'
	@echo 'make ablation     the same jobs with each rule of diagnose switched off in turn; ABLATION_JOBS=200'
	@echo 'make bench        speed against other tools. Also bench-scale, bench-gate, bench-analyses, bench-watch,'
	@echo '                  bench-overhead, bench-merge, and bench-scale-out (a job of thousands of ranks, end to end)'
	@echo 'make install      into $$(DESTDIR)$$(PREFIX), default $(PREFIX); make uninstall'
	@echo 'make deb          a Debian package; make static: a program without libraries; make dist: the source archive'
	@echo 'make packages-test  test these three in a bare Debian and in an empty directory; as root'
	@echo 'make format       format the sources with clang-format'
	@echo 'make clean'

# What takes too long for each change.
.PHONY: nightly
nightly:
	$(MAKE) lint-all
	$(MAKE) SAN=address,undefined test
	$(MAKE) SAN=thread test TEST_TARGETS='test-plugin test-cli'
	$(MAKE) fuzz FUZZ_SECONDS=450
	$(MAKE) torture

.PHONY: test
test:
	@MAKE='$(MAKE)' tests/run.py $(TEST_TARGETS)

# All targets test-ROOM in these files.
TEST_TARGETS := $(sort $(filter test-%,$(shell sed -n 's/^\(test-[a-z]*\):.*/\1/p' \
                  $(wildcard lib/*/module.mk tests/*/module.mk))))

# Other users can read the installed files with any umask: umask 022 for new folders, and an explicit mode for each file.
INSTALLED := $(DESTDIR)$(PREFIX)
.PHONY: install
install: all
	umask 022; install -d $(INSTALLED)/bin $(INSTALLED)/lib $(INSTALLED)/include
	install -m 755 $(OUT)/ncclprof $(INSTALLED)/bin/ncclprof
	$(if $(PLUGIN),install -m 644 $(PLUGIN) $(INSTALLED)/lib/)
	install -m 644 $(VIEWS) $(INSTALLED)/lib/
	install -m 644 lib/plugin/ncclprof_tag.h $(INSTALLED)/include/
	umask 022; set -e; for page in man/*.[1-9]; do section=$${page##*.}; \
	  install -d $(INSTALLED)/share/man/man$$section; \
	  install -m 644 $$page $(INSTALLED)/share/man/man$$section/; done
	umask 022; set -e; complete() { install -d $(INSTALLED)/share/$$2; $(OUT)/ncclprof completion $$1 > $(INSTALLED)/share/$$2/$$3; \
	  chmod 644 $(INSTALLED)/share/$$2/$$3; }; \
	complete bash bash-completion/completions ncclprof; complete fish fish/vendor_completions.d ncclprof.fish; \
	complete zsh zsh/site-functions _ncclprof

.PHONY: uninstall
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/ncclprof $(DESTDIR)$(PREFIX)/lib/libnccl-profiler-ncclprof.so
	rm -f $(DESTDIR)$(PREFIX)/lib/ncclprof_views.so
	rm -f $(DESTDIR)$(PREFIX)/include/ncclprof_tag.h
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ncclprof
	rm -f $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ncclprof.fish
	rm -f $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ncclprof
	set -e; for page in man/*.[1-9]; do \
	  rm -f $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; done

PACKAGES := gcc make libc6-dev libcjson-dev libsqlite3-dev zlib1g-dev

# Also needed by test and check, but not by demo.
PACKAGES_OF_TESTS := libcmocka-dev python3 clang-format mandoc fish zsh sqlite3 chromium

# Also needed by fuzz, lint and coverage, with the names of Debian 12.
PACKAGES_OF_TOOLS := clang libclang-rt-14-dev clang-tidy cppcheck lcov

# Also needed by deb, static and packages-test.
PACKAGES_OF_PACKAGES := dpkg-dev lintian mmdebstrap patch xz-utils

# Also needed by cluster-test.
PACKAGES_OF_CLUSTER := slurmctld slurmd slurm-client munge openmpi-bin

# Also needed by duckdb-test and clickhouse-test, unless node and npm exist already. The engines are installed with npm.
PACKAGES_OF_DUCKDB = $(if $(and $(shell command -v node),$(shell command -v npm)),,nodejs npm)

.PHONY: deps deps-tools deps-packages deps-cluster deps-duckdb
deps: WANTED := $(PACKAGES) $(if $(filter demo,$(MAKECMDGOALS)),$(if $(filter test check,$(MAKECMDGOALS)),$(PACKAGES_OF_TESTS)),$(PACKAGES_OF_TESTS))
deps-tools: WANTED := $(PACKAGES_OF_TOOLS)
deps-packages: WANTED := $(PACKAGES_OF_PACKAGES)
deps-cluster: WANTED := $(PACKAGES_OF_CLUSTER)
deps-duckdb: WANTED = $(PACKAGES_OF_DUCKDB)
deps deps-tools deps-packages deps-cluster deps-duckdb:
	@missing=; for package in $(WANTED); do \
	  dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$package"; done; \
	if [ -z "$$missing" ]; then echo 'Nothing is missing.'; exit 0; fi; \
	command -v apt-get >/dev/null || { echo "Please install:$$missing"; exit 1; }; \
	if [ "$$(id -u)" = 0 ]; then as=; elif sudo -n true 2>/dev/null; then as=sudo; else \
	  echo "Please run: sudo apt-get install$$missing"; exit 1; fi; \
	$$as apt-get update -q && \
	$$as env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing

DEMO_STORE := build/demo.db
DEMO_TRACES := fixtures/tp2dp2pp2-slow-rank

.PHONY: demo
demo: all
	@rm -f $(DEMO_STORE)
	@set -e; show() { echo; echo "$$ ncclprof $$*"; $(OUT)/ncclprof --store $(DEMO_STORE) "$$@"; }; \
	show ingest $(DEMO_TRACES); show report --by-tag; show stragglers; show steps --map; show diagnose

# Lines and branches of lib/ and cmd/ that the tests reach, and at the end the total of lib/. A failed test is reported
# and does not prevent the figures.
.PHONY: coverage
coverage:
	-$(MAKE) SAN=coverage test
	lcov --quiet --capture --rc lcov_branch_coverage=1 --directory build/san-coverage --output-file build/coverage.info
	lcov --quiet --rc lcov_branch_coverage=1 --extract build/coverage.info '*/lib/*' '*/cmd/*' --output-file build/coverage.info
	lcov --rc lcov_branch_coverage=1 --list build/coverage.info
	lcov --quiet --rc lcov_branch_coverage=1 --extract build/coverage.info '*/lib/*' --output-file build/lib.info
	lcov --rc lcov_branch_coverage=1 --summary build/lib.info

.PHONY: clean
clean:
	rm -rf build

.PHONY: format
format:
	clang-format -i $(shell git ls-files -co --exclude-standard '*.c' '*.h')

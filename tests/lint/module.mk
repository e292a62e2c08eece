# clang-tidy (.clang-tidy lists the checks, and why others are off), cppcheck and gcc's analyser on all released sources.
# A false positive is suppressed at its line with the reason, or here.
#
# `make lint` runs clang-tidy on the sources that changed since LINT_SINCE, which takes a minute or two: the upstream
# branch or, if there is none or it is this commit, twenty commits ago. Without git it checks all. `make lint-all` runs
# all three on all sources (half an hour).
LINT_SOURCES := $(LIB_SOURCES) $(CMD_SOURCES) $(wildcard lib/plugin/*/*.c)
LINT_SINCE ?= $(shell base=$$(git merge-base HEAD '@{upstream}' 2>/dev/null); \
    [ -n "$$base" ] && [ "$$base" != "$$(git rev-parse HEAD)" ] || base=$$(git rev-parse --quiet --verify HEAD~20); echo $$base)
LINT_CHANGED = $(if $(LINT_SINCE),$(filter $(LINT_SOURCES),$(shell git diff --name-only $(LINT_SINCE) 2>/dev/null)),$(LINT_SOURCES))
LINT_FLAGS := $(NCCLPROF_CPPFLAGS) -std=c11

# gcc 12 reports a leak when memory is stored in a member of a struct or an array. LeakSanitizer checks for leaks while
# every allocation fails in turn (make torture).
ANALYSER_FLAGS := -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-too-complex

# How far clang's analyser follows a function; 225000 is its own default. Few functions reach the limit, and they take most
# of the time.
LINT_NODES ?= 225000
TIDY_FLAGS := $(LINT_FLAGS) -Xclang -analyzer-config -Xclang max-nodes=$(LINT_NODES)

TIDY = xargs -r -P $(shell nproc) -n 1 tests/lint/tidy.sh $(TIDY_FLAGS) --

.PHONY: lint lint-all
lint: $(GENERATED_HEADERS)
	@printf '%s\n' $(LINT_CHANGED) | $(TIDY)
	@echo 'lint: 1 passed, 0 failed ($(words $(LINT_CHANGED)) changed sources)'

lint-all: $(GENERATED_HEADERS)
	@printf '%s\n' $(LINT_SOURCES) | $(TIDY)
	@cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j $(shell nproc) \
	    --suppress=missingIncludeSystem $(NCCLPROF_CPPFLAGS) -D__x86_64__ $(sort $(dir $(LINT_SOURCES)))
	@printf '%s\n' $(LINT_SOURCES) | xargs -P $(shell nproc) -I{} gcc $(LINT_FLAGS) -O1 $(ANALYSER_FLAGS) -Werror -c -o /dev/null {}
	@echo 'lint: 3 passed, 0 failed'

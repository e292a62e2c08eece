# clang-tidy (.clang-tidy lists the checks, and why others are off), cppcheck and gcc's analyser on all released sources.
# A false positive is suppressed at its line with the reason, or here.
LINT_SOURCES := $(LIB_SOURCES) $(CMD_SOURCES) $(wildcard lib/plugin/*/*.c)
LINT_FLAGS := $(NCCLPROF_CPPFLAGS) -std=c11

# gcc 12 reports a leak when memory is stored in a member of a struct or an array. LeakSanitizer checks for leaks while
# every allocation fails in turn (make torture).
ANALYSER_FLAGS := -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-too-complex

# How far clang's analyser follows a function; 225000 is its own default. Few functions reach the limit, and they take most
# of the time.
LINT_NODES ?= 225000
TIDY_FLAGS := $(LINT_FLAGS) -Xclang -analyzer-config -Xclang max-nodes=$(LINT_NODES)

.PHONY: lint
lint: $(GENERATED_HEADERS)
	@printf '%s\n' $(LINT_SOURCES) | xargs -P $(shell nproc) -n 1 tests/lint/tidy.sh $(TIDY_FLAGS) --
	@cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j $(shell nproc) \
	    --suppress=missingIncludeSystem $(NCCLPROF_CPPFLAGS) -D__x86_64__ $(sort $(dir $(LINT_SOURCES)))
	@printf '%s\n' $(LINT_SOURCES) | xargs -P $(shell nproc) -I{} gcc $(LINT_FLAGS) -O1 $(ANALYSER_FLAGS) -Werror -c -o /dev/null {}
	@echo 'lint: 3 passed, 0 failed'

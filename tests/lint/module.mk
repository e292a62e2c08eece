# clang-tidy (.clang-tidy says what is asked, and why not more), cppcheck and gcc's analyser over what is released.
# What one of them is wrong about has the reason at its line, or here.
LINT_SOURCES := $(LIB_SOURCES) $(CMD_SOURCES) $(wildcard lib/plugin/*/*.c)
LINT_FLAGS := $(NCCLPROF_CPPFLAGS) -std=c11

# gcc 12 does not see that a struct's or an array's member keeps what it is given: it takes that for a leak. Leaks are
# looked for by LeakSanitizer, while every allocation fails in turn (make torture).
ANALYSER_FLAGS := -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-too-complex

# How far clang's analyser follows a function, its own limit. What takes it further is in few functions, and most of the
# time goes there.
LINT_NODES ?= 225000
TIDY_FLAGS := $(LINT_FLAGS) -Xclang -analyzer-config -Xclang max-nodes=$(LINT_NODES)

.PHONY: lint
lint: $(GENERATED_HEADERS)
	@printf '%s\n' $(LINT_SOURCES) | xargs -P $(shell nproc) -n 1 tests/lint/tidy.sh $(TIDY_FLAGS) --
	@cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j $(shell nproc) \
	    --suppress=missingIncludeSystem $(NCCLPROF_CPPFLAGS) -D__x86_64__ $(sort $(dir $(LINT_SOURCES)))
	@printf '%s\n' $(LINT_SOURCES) | xargs -P $(shell nproc) -I{} gcc $(LINT_FLAGS) -O1 $(ANALYSER_FLAGS) -Werror -c -o /dev/null {}
	@echo 'lint: 3 passed, 0 failed'

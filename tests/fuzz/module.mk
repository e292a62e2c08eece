# Fuzzing with clang's libFuzzer: `make fuzz FUZZ_SECONDS=60` runs each tests/fuzz/fuzz_*.c that long, with the
# fixtures as seeds. What was found in earlier runs is kept in build/fuzz/corpus. A finding is left in build/fuzz.
FUZZ_SECONDS ?= 60
FUZZ_CC ?= clang
FUZZ_SOURCES := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_TARGETS := $(FUZZ_SOURCES:tests/fuzz/fuzz_%.c=%)
FUZZ_ROOMS := base model input format
FUZZ_LIBRARY := $(foreach room,$(FUZZ_ROOMS),$(wildcard lib/$(room)/*.c)) tests/unit/support/same_line.c

build/fuzz/%: tests/fuzz/fuzz_%.c $(FUZZ_LIBRARY) $(wildcard lib/*/*.h)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(NCCLPROF_CPPFLAGS) -Itests/unit -std=c11 -g -O1 -Wall -Wextra -Wno-unused-parameter \
	    -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -o $@ $< $(FUZZ_LIBRARY) -lcjson -lz -lm

# Seeds: whole fixtures where they are small, the first lines of the others.
build/fuzz/seeds: $(wildcard fixtures/*/*)
	rm -rf $@
	mkdir -p $@
	n=0; for file in fixtures/dialect-*/* fixtures/inspector-*/* fixtures/copy-engine/* fixtures/tags-*/* \
	    fixtures/damaged/*; do n=$$((n + 1)); head -c 8192 "$$file" >$@/$$n; done
	gzip -c <fixtures/copy-engine/dump_4660_1.json >$@/packed

.PHONY: fuzz
fuzz: $(FUZZ_TARGETS:%=build/fuzz/%) build/fuzz/seeds
	@for target in $(FUZZ_TARGETS); do mkdir -p build/fuzz/corpus/$$target; \
	    if ! build/fuzz/$$target -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -rss_limit_mb=2048 \
	        -artifact_prefix=build/fuzz/$$target- -print_final_stats=1 \
	        build/fuzz/corpus/$$target build/fuzz/seeds >build/fuzz/$$target.log 2>&1; then \
	        tail -40 build/fuzz/$$target.log; echo "fuzz: $$target found something"; exit 1; fi; \
	    echo "$$target: $$(sed -n 's/^Done //p' build/fuzz/$$target.log)"; done; \
	echo "fuzz: $(words $(FUZZ_TARGETS)) targets, nothing found"

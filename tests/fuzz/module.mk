# Fuzzing with clang's libFuzzer: `make fuzz FUZZ_SECONDS=60` runs each tests/fuzz/fuzz_*.c for that time, as many in
# parallel as there are processors, with the fixtures as seeds. The corpus of earlier runs is in build/fuzz/corpus.
# Inputs that fail are written to build/fuzz. FUZZ_SEED=1 makes the inputs the same in each run, so that the result of
# a change does not depend on chance.
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0
FUZZ_CC ?= clang
FUZZ := build/fuzz
FUZZ_SOURCES := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_TARGETS ?= $(FUZZ_SOURCES:tests/fuzz/fuzz_%.c=%)
FUZZ_FLAGS := $(NCCLPROF_CPPFLAGS) -Itests/unit -Itests/fuzz -std=c11 -fwrapv -g -O1 -Wall -Wextra -Wno-unused-parameter \
              -fno-sanitize-recover=all -MMD -MP

# All sources except main, and the helpers that the targets share.
FUZZ_LIBRARY := $(LIB_SOURCES) $(filter-out cmd/main.c,$(CMD_SOURCES)) tests/unit/support/same_line.c tests/unit/support/same_json.c \
                tests/unit/support/same_kineto.c tests/fuzz/store_at_hand.c tests/fuzz/analyse_at_hand.c
FUZZ_OBJECTS := $(FUZZ_LIBRARY:%.c=$(FUZZ)/object/%.o) $(FUZZ)/object/generated/schemas.o \
                $(FUZZ)/object/generated/html_assets.o

$(FUZZ)/object/%.o: %.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<

$(FUZZ)/object/generated/%.o: $(GENERATED)/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=address -c -o $@ $<

$(FUZZ)/libfuzzed.a: $(FUZZ_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(FUZZ_SOURCES:tests/fuzz/fuzz_%.c=$(FUZZ)/%): $(FUZZ)/%: tests/fuzz/fuzz_%.c $(FUZZ)/libfuzzed.a
	$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined -o $@ $< $(FUZZ)/libfuzzed.a -lcjson -lsqlite3 \
	    -lz -lpthread -lm

-include $(FUZZ_OBJECTS:.o=.d) $(FUZZ_SOURCES:tests/fuzz/fuzz_%.c=$(FUZZ)/%.d)

# Seeds: small fixtures as a whole, and the first lines of large ones. Each target has its own kind of seeds. Left out are
# whole jobs in formats that other fixtures have, too.
FUZZ_TRACES := $(filter-out %/TRUTH %.sql fixtures/tp2dp2pp2-% fixtures/fsdp-% fixtures/plugin-ddp-%,$(wildcard fixtures/*/*))

$(FUZZ)/seeds: tests/fuzz/seeds.sh tests/fuzz/kineto_seeds.awk $(wildcard fixtures/*/*) $(SQL_SOURCES)
	rm -rf $@
	tests/fuzz/seeds.sh $@ $(FUZZ_TRACES)

.PHONY: fuzz
fuzz: $(FUZZ_TARGETS:%=$(FUZZ)/%) $(FUZZ)/seeds
	@printf '%s\n' $(FUZZ_TARGETS) | xargs -P $(shell nproc) -I{} tests/fuzz/run.sh $(FUZZ) {} -seed=$(FUZZ_SEED) \
	    -max_total_time=$(FUZZ_SECONDS)
	@echo "fuzz: $(words $(FUZZ_TARGETS)) passed, 0 failed"

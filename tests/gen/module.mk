# The simulator of training jobs. It shares no code with the library: its only dependencies are libc, libm and zlib. Without
# sanitizers, because tests of the program run it, and are not to wait for it.
SIMULATE_SOURCES := $(wildcard tests/gen/simulate*.c)
SIMULATE_OBJECTS := $(SIMULATE_SOURCES:%.c=$(OUT)/object/%.o)

$(SIMULATE_OBJECTS): $(OUT)/object/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE $(CPPFLAGS) $(filter-out $(SANITIZE),$(NCCLPROF_CFLAGS)) -Wno-format-nonliteral $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/simulate: $(SIMULATE_OBJECTS)
	$(CC) $(filter-out $(SANITIZE),$(NCCLPROF_LDFLAGS)) $(LDFLAGS) -o $@ $^ -lz -lm

-include $(SIMULATE_OBJECTS:.o=.d)

# A library that plays NVML for the tests of `record`. No sanitizer: the program loads it.
$(OUT)/fakenvml/libnvidia-ml.so.1: tests/gen/fakenvml.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE $(CPPFLAGS) -std=c11 $(WARNINGS) -Wno-missing-prototypes -O1 -fPIC -shared $(CFLAGS) -o $@ $<

# Adds records of nodes to a store; unlike the simulator it needs the library.
$(OUT)/put_node: $(OUT)/object/tests/gen/put_node.o $(OUT)/libncclprof.a
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ $(NCCLPROF_LIBS)

-include $(OUT)/object/tests/gen/put_node.d

# One process for all tests whose names begin with the same letter.
SIMULATE_TESTS := $(shell sed -n 's/^    def test_\(.\).*/\1/p' tests/gen/test_simulate.py | sort -u)

.PHONY: test-gen
test-gen: $(OUT)/simulate
	tests/parallel.py gen 'python3 -B tests/gen/test_torch.py $(OUT)/simulate' 'python3 -B tests/eval/test_study.py $(OUT)/simulate' \
	  $(SIMULATE_TESTS:%='python3 -B tests/gen/test_simulate.py $(OUT)/simulate -k "*.test_%*"')

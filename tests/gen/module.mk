# The simulator of training jobs. It shares no code with the library: its only dependencies are libc, libm and zlib.
SIMULATE_SOURCES := $(wildcard tests/gen/simulate*.c)
SIMULATE_OBJECTS := $(SIMULATE_SOURCES:%.c=$(OUT)/object/%.o)

$(SIMULATE_OBJECTS): $(OUT)/object/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE $(CPPFLAGS) $(NCCLPROF_CFLAGS) -Wno-format-nonliteral $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/simulate: $(SIMULATE_OBJECTS)
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ -lz -lm

-include $(SIMULATE_OBJECTS:.o=.d)

.PHONY: test-gen
test-gen: $(OUT)/simulate
	python3 tests/gen/test_simulate.py $(OUT)/simulate
	python3 tests/gen/test_torch.py $(OUT)/simulate

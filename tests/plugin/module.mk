# The plugin's tests: a fake NCCL core plays jobs through the built library; what it played is counted on the spot.
FAKECORE_SOURCES := $(wildcard tests/gen/fakecore*.c)
FAKECORE_OBJECTS := $(FAKECORE_SOURCES:%.c=$(OUT)/fake/%.o)

# -pie with the sanitizers too: the library is loaded into it.
$(OUT)/fakecore: $(FAKECORE_OBJECTS)
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ -ldl -lpthread

$(OUT)/fake/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(NCCLPROF_CFLAGS) $(CFLAGS) -pthread -MMD -MP -c -o $@ $<

-include $(FAKECORE_OBJECTS:.o=.d)

# What only single calls show.
PROBE_SOURCES := $(wildcard tests/plugin/probe*.c)
PROBE_OBJECTS := $(PROBE_SOURCES:%.c=$(OUT)/fake/%.o)
$(PROBE_OBJECTS): NCCLPROF_CPPFLAGS += -Itests/gen

$(OUT)/probe: $(PROBE_OBJECTS) $(OUT)/fake/tests/gen/fakecore_api.o
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ -ldl -lpthread

-include $(PROBE_OBJECTS:.o=.d)

.PHONY: test-plugin
test-plugin: $(OUT)/fakecore $(OUT)/probe $(PLUGIN)
	python3 tests/plugin/test_plugin.py $(OUT)/fakecore $(PLUGIN)
	python3 tests/plugin/test_ends.py $(OUT)/fakecore $(PLUGIN)
	python3 tests/plugin/test_library.py $(OUT)/fakecore $(PLUGIN)
	python3 tests/plugin/test_probe.py $(OUT)/fakecore $(PLUGIN)
	python3 tests/plugin/test_fields.py $(OUT)/fakecore $(PLUGIN)

# Fifty deaths instead of a few.
.PHONY: check-plugin-kills
check-plugin-kills: $(OUT)/fakecore $(PLUGIN)
	NCCLPROF_TEST_KILLS=50 python3 tests/plugin/test_plugin.py $(OUT)/fakecore $(PLUGIN) Deaths.test_kill_at_random_times

# What an event costs the thread that has it, and how fast the writer thread is.
$(OUT)/plugin_events: tests/bench/plugin_events.c
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(NCCLPROF_CFLAGS) $(CFLAGS) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $< -ldl

.PHONY: bench-plugin
bench-plugin: $(OUT)/plugin_events $(OUT)/fakecore $(PLUGIN)
	tests/bench/plugin_bench.sh $(OUT) $(PLUGIN)

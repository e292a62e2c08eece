# Tests of the plugin: a fake NCCL core plays jobs through the built library, and counts what it plays.
FAKECORE_SOURCES := $(wildcard tests/gen/fakecore*.c)
FAKECORE_OBJECTS := $(FAKECORE_SOURCES:%.c=$(OUT)/fake/%.o)
FAKECALLER_OBJECTS := $(addprefix $(OUT)/fake/,fakecaller.o fakecaller-tags.o fakecaller-later.o)

# -pie with the sanitizers too, because the program loads the library.
$(OUT)/fakecore: $(FAKECORE_OBJECTS) $(OUT)/fake/fakecaller.o
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ -ldl -lpthread

# Plays an NCCL of NVIDIA/nccl pull request 2045: it exports ncclNotifyTag.
$(OUT)/fakecore-tags: $(FAKECORE_OBJECTS) $(OUT)/fake/fakecaller-tags.o
	$(CC) $(NCCLPROF_LDFLAGS) -rdynamic $(LDFLAGS) -o $@ $^ -ldl -lpthread

$(OUT)/fake/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) -Itests/gen $(CPPFLAGS) $(NCCLPROF_CFLAGS) $(CFLAGS) -pthread -MMD -MP -c -o $@ $<

# The NCCL symbols that each exports, and the version 7 of the interface that it plays.
$(OUT)/fake/fakecaller-tags.o: FAKECALLER := -DFAKECALLER_HAS_TAGS -DFAKECALLER_VERSION=22907
$(OUT)/fake/fakecaller-later.o: FAKECALLER := -DFAKECALLER_VERSION=23200
$(FAKECALLER_OBJECTS): tests/gen/fakecaller.c
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(filter-out -fPIE,$(NCCLPROF_CFLAGS)) $(CFLAGS) -fPIC \
	  $(FAKECALLER) -MMD -MP -c -o $@ $<

# NCCL as a library: the two versions 7, one of the released version that depends on the other, and one of a later NCCL
# that also exports ncclNotifyTag.
FAKECALLER_LIBRARIES := $(OUT)/libfakecaller.so $(OUT)/libfakecaller-tags.so $(OUT)/libfakecaller-beside.so \
                        $(OUT)/libfakecaller-later.so

$(OUT)/libfakecaller.so: $(OUT)/fake/fakecaller.o
$(OUT)/libfakecaller-tags.so: $(OUT)/fake/fakecaller-tags.o
$(OUT)/libfakecaller-later.so: $(OUT)/fake/fakecaller-later.o
$(OUT)/libfakecaller-beside.so: $(OUT)/fake/fakecaller.o $(OUT)/libfakecaller-tags.so
$(FAKECALLER_LIBRARIES):
	$(CC) $(SANITIZE) -shared -Wl,--no-as-needed -Wl,-rpath,'$$ORIGIN' $(LDFLAGS) -o $@ $(filter %.o,$^) \
	  $(if $(filter %.so,$^),-L$(OUT) -l:libfakecaller-tags.so)

-include $(FAKECORE_OBJECTS:.o=.d) $(FAKECALLER_OBJECTS:.o=.d)

# For behaviour that only single calls can test.
PROBE_SOURCES := $(wildcard tests/plugin/probe*.c)
PROBE_OBJECTS := $(PROBE_SOURCES:%.c=$(OUT)/fake/%.o)

$(OUT)/probe: $(PROBE_OBJECTS) $(addprefix $(OUT)/fake/tests/gen/,fakecore_api.o fakecore_trace.o) $(OUT)/fake/fakecaller.o
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ -ldl -lpthread

-include $(PROBE_OBJECTS:.o=.d)

# A file system that hangs or becomes full.
$(OUT)/libfakedisk.so: tests/gen/fakedisk.c
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(filter-out -fPIE -D_FORTIFY_SOURCE=2 $(SANITIZE),$(NCCLPROF_CFLAGS)) -fPIC \
	  -shared $(LDFLAGS) -o $@ $< -ldl

FAKES := $(OUT)/fakecore $(OUT)/fakecore-tags $(FAKECALLER_LIBRARIES) $(OUT)/libfakedisk.so $(OUT)/probe

.PHONY: test-plugin
test-plugin: $(FAKES) $(PLUGIN)
	tests/parallel.py plugin \
	  $(patsubst %,'python3 -B % $(OUT)/fakecore $(PLUGIN)',$(shell ls -S tests/plugin/test_*.py))

# Fifty kills instead of a few.
.PHONY: check-plugin-kills
check-plugin-kills: $(OUT)/fakecore $(PLUGIN)
	NCCLPROF_TEST_KILLS=50 python3 tests/plugin/test_deaths.py $(OUT)/fakecore $(PLUGIN) Deaths.test_kill_at_random_times

# The cost of an event for its thread, and the speed of the writer thread.
$(OUT)/plugin_events: tests/bench/plugin_events.c
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(NCCLPROF_CFLAGS) $(CFLAGS) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $< -ldl

.PHONY: bench-plugin
bench-plugin: $(OUT)/plugin_events $(OUT)/fakecore $(PLUGIN)
	tests/bench/plugin_bench.sh $(OUT) $(PLUGIN)

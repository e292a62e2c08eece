# The NCCL profiler plugin. It shares no object file with the tool and exports only its entry points.
PLUGIN_SOURCES := $(wildcard lib/plugin/*/*.c)
PLUGIN_OBJECTS := $(PLUGIN_SOURCES:%.c=$(OUT)/plugin/%.o)
PLUGIN := $(OUT)/libnccl-profiler-ncclprof.so
# Not initial-exec: if other libraries had used up the static thread-local memory, NCCL could not load the plugin.
PLUGIN_CFLAGS := $(filter-out -fPIE,$(NCCLPROF_CFLAGS)) -fPIC -fvisibility=hidden -pthread
# nodelete: NCCL unloads the plugin after the last communicator, but the writer thread runs until the process ends.
PLUGIN_LDFLAGS := $(SANITIZE) -shared -pthread -Wl,-soname,libnccl-profiler-ncclprof.so -Wl,-z,nodelete \
                  $(if $(SAN),,-Wl,-z,relro,-z,now,-z,defs)

all: $(PLUGIN)

$(PLUGIN): $(PLUGIN_OBJECTS)
	$(CC) $(PLUGIN_LDFLAGS) $(LDFLAGS) -o $@ $^ -lz -ldl

$(OUT)/plugin/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(PLUGIN_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(PLUGIN_OBJECTS:.o=.d)

# The views of a store for other programs: an SQLite extension, built from sources of the tool. It calls the SQLite of the
# program that loads it and exports only its entry point.
VIEWS_SOURCES := $(addprefix lib/store/,step_table.c packed_table.c connection.c) \
                 $(addprefix lib/model/,block.c pack.c column.c) $(addprefix lib/base/,buffer.c error.c)
VIEWS_OBJECTS := $(VIEWS_SOURCES:%.c=$(OUT)/views/%.o)
VIEWS := $(OUT)/ncclprof_views.so
VIEWS_CFLAGS := $(filter-out -fPIE,$(NCCLPROF_CFLAGS)) -fPIC -fvisibility=hidden -DNCCLPROF_EXTENSION
VIEWS_LDFLAGS := $(SANITIZE) -shared -Wl,-soname,ncclprof_views.so $(if $(SAN),,-Wl,-z,relro,-z,now,-z,defs)

all: $(VIEWS)

$(VIEWS): $(VIEWS_OBJECTS)
	$(CC) $(VIEWS_LDFLAGS) $(LDFLAGS) -o $@ $^

$(OUT)/views/%.o: %.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(VIEWS_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(VIEWS_OBJECTS:.o=.d)

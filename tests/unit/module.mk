# Unit tests: every tests/unit/<room>/test_*.c is one cmocka program. `make test-unit` runs them all.
UNIT_SOURCES := $(sort $(wildcard tests/unit/*/test_*.c))
UNIT_PROGRAMS := $(UNIT_SOURCES:tests/unit/%.c=$(OUT)/unit/%)
UNIT_HELPERS := $(sort $(wildcard tests/unit/support/*.c))
UNIT_HELPER_OBJECTS := $(UNIT_HELPERS:%.c=$(OUT)/object/%.o)

$(OUT)/unit/%: $(OUT)/object/tests/unit/%.o $(UNIT_HELPER_OBJECTS) $(OUT)/libncclprof.a
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(NCCLPROF_LIBS)

# The plugin is not part of the tool's library. Its tests include the sources whose internals they test, and link the
# others.
$(OUT)/unit/plugin/%: $(OUT)/object/tests/unit/plugin/%.o $(OUT)/libplugin.a
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka -lz -lpthread -ldl

$(OUT)/libplugin.a: $(PLUGIN_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

# The tests themselves need not be fast; compiling them should be. glibc warns of _FORTIFY_SOURCE without optimisation.
$(OUT)/object/tests/unit/%.o: NCCLPROF_CPPFLAGS += -Itests/unit
$(OUT)/object/tests/unit/%.o: OPTIMISE := -O0
$(OUT)/object/tests/unit/%.o: HARDEN := -fPIE

.PHONY: test-unit
test-unit: $(UNIT_PROGRAMS)
	tests/unit/run.sh $(UNIT_PROGRAMS)

.SECONDARY: $(UNIT_SOURCES:%.c=$(OUT)/object/%.o) $(UNIT_HELPER_OBJECTS)
-include $(UNIT_SOURCES:%.c=$(OUT)/object/%.d) $(UNIT_HELPER_OBJECTS:.o=.d)

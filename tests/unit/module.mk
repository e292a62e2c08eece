# Unit tests: each tests/unit/ROOM/test_*.c is a cmocka program. `make test-unit` runs them all.
#
# Linking takes longer than compiling, so the tests of a room are linked into one program, build/unit/ROOM, and run from
# it by name, each in a process of its own: `build/unit/store test_query`. Their main functions are renamed for this.
UNIT_SOURCES := $(sort $(wildcard tests/unit/*/test_*.c))
UNIT_TESTS := $(UNIT_SOURCES:tests/unit/%.c=$(OUT)/unit/%)
UNIT_HELPERS := $(sort $(wildcard tests/unit/support/*.c))
UNIT_HELPER_OBJECTS := $(UNIT_HELPERS:%.c=$(OUT)/object/%.o)

# The tests of the plugin include the sources whose internals they test, so they cannot be linked together.
UNIT_ROOMS := $(filter-out $(OUT)/unit/plugin,$(sort $(patsubst %/,%,$(dir $(UNIT_TESTS)))))
UNIT_PLUGIN := $(filter $(OUT)/unit/plugin/%,$(UNIT_TESTS))
UNIT_PROGRAMS := $(UNIT_ROOMS) $(UNIT_PLUGIN)
unit_tests_of = $(patsubst tests/unit/$*/%.c,%,$(filter tests/unit/$*/%,$(UNIT_SOURCES)))

.SECONDEXPANSION:
$(UNIT_ROOMS): $(OUT)/unit/%: $$(addprefix $(OUT)/object/tests/unit/$$*/,$$(addsuffix .o,$$(unit_tests_of))) \
  $(OUT)/object/generated/unit/%.o $(UNIT_HELPER_OBJECTS) $(OUT)/libncclprof.a
	@mkdir -p $(@D)
	@[ ! -d $@ ] || rm -r $@ # of an earlier version: a folder with a program for each test
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(NCCLPROF_LIBS)

# The list of a room's tests, for tests/unit/main.c.
$(GENERATED)/unit/%.h: $$(wildcard tests/unit/$$*) tests/unit/module.mk
	@mkdir -p $(@D)
	@printf 'TEST($*, %s)\n' $(unit_tests_of) >$@

$(OUT)/object/generated/unit/%.o: tests/unit/main.c $(GENERATED)/unit/%.h
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) -DUNIT_TESTS='"unit/$*.h"' $(CPPFLAGS) $(NCCLPROF_CFLAGS) $(CFLAGS) -c -o $@ $<

$(UNIT_PLUGIN): $(OUT)/unit/%: $(OUT)/object/tests/unit/%.o $(OUT)/libplugin.a
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka -lz -lpthread -ldl

$(OUT)/libplugin.a: $(PLUGIN_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

# The tests themselves need not be fast; compiling them should be. glibc warns of _FORTIFY_SOURCE without optimisation.
UNIT_OBJECTS := $(UNIT_SOURCES:%.c=$(OUT)/object/%.o)
$(UNIT_OBJECTS): tests/unit/module.mk
$(OUT)/object/tests/unit/%.o: NCCLPROF_CPPFLAGS += -Itests/unit
$(OUT)/object/tests/unit/%.o: NCCLPROF_CFLAGS += -O0 -U_FORTIFY_SOURCE
$(filter-out $(OUT)/object/tests/unit/plugin/%,$(UNIT_OBJECTS)): \
  NCCLPROF_CFLAGS += -Wno-missing-prototypes -Dmain=$(subst /,_,$(@:$(OUT)/object/tests/%.o=%))

.PHONY: test-unit
test-unit: $(UNIT_PROGRAMS)
	tests/unit/run.sh $(UNIT_TESTS)

.SECONDARY: $(UNIT_OBJECTS) $(UNIT_HELPER_OBJECTS)
-include $(UNIT_OBJECTS:.o=.d) $(UNIT_HELPER_OBJECTS:.o=.d)

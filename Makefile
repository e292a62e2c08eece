# ncclprof: GNU make. `make help` lists the targets.

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
SAN ?=

empty :=
space := $(empty) $(empty)
comma := ,

# A sanitizer build lives beside the plain one, so that both stay warm.
OUT := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
GENERATED := $(OUT)/generated

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
            -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wno-unused-parameter
OPTIMISE ?= $(if $(SAN),-O1,-O2)
HARDEN := $(if $(SAN),,-D_FORTIFY_SOURCE=2 -fstack-protector-strong) -fPIE
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)

NCCLPROF_CPPFLAGS := -D_GNU_SOURCE -I. -Ilib -I$(GENERATED) -DNCCLPROF_VERSION='"$(VERSION)"'
NCCLPROF_CFLAGS := -std=c11 -g $(OPTIMISE) $(WARNINGS) $(HARDEN) $(SANITIZE)
NCCLPROF_LDFLAGS := $(SANITIZE) $(if $(SAN),,-pie -Wl,-z,relro,-z,now)
NCCLPROF_LIBS := -lcjson -lsqlite3 -lz -lpthread -lm

# The rooms of lib/ that go into the tool; the plugin is a world of its own (lib/plugin/module.mk).
ROOMS := base model input format store align join analyse render
LIB_SOURCES := $(foreach room,$(ROOMS),$(wildcard lib/$(room)/*.c))
CMD_SOURCES := $(wildcard cmd/*.c)
SQL_SOURCES := $(sort $(wildcard schemas/*/*.sql))
HEADERS := $(wildcard lib/*/*.h cmd/*.h)

LIB_OBJECTS := $(LIB_SOURCES:%.c=$(OUT)/object/%.o) $(OUT)/object/generated/schemas.o
CMD_OBJECTS := $(CMD_SOURCES:%.c=$(OUT)/object/%.o)

.PHONY: all
all: $(OUT)/ncclprof

$(OUT)/ncclprof: $(CMD_OBJECTS) $(OUT)/libncclprof.a
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ $(NCCLPROF_LIBS)

$(OUT)/libncclprof.a: $(LIB_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(OUT)/object/%.o: %.c | $(GENERATED)/schemas.h
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(NCCLPROF_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/object/generated/schemas.o: $(GENERATED)/schemas.c
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(NCCLPROF_CFLAGS) $(CFLAGS) -c -o $@ $<

$(GENERATED)/schemas.h $(GENERATED)/schemas.c &: schemas/compile.awk $(SQL_SOURCES)
	@mkdir -p $(@D)
	awk -v header=$(GENERATED)/schemas.h -v source=$(GENERATED)/schemas.c -f schemas/compile.awk $(SQL_SOURCES)

-include $(LIB_OBJECTS:.o=.d) $(CMD_OBJECTS:.o=.d)

# Each room may bring rules of its own.
include $(wildcard lib/*/module.mk tests/module.mk tests/*/module.mk)

.PHONY: clean
clean:
	rm -rf build

.PHONY: format
format:
	clang-format -i $(shell git ls-files -co --exclude-standard '*.c' '*.h')

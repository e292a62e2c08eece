# Kills, full disks and failing calls: no data may be lost, and no wrong data accepted. `make torture` takes about
# half an hour on two cores and prints one line per test. `make torture TORTURE_SHARE=10` tests only every tenth
# call and kills a tenth as often. With TORTURE_SECONDS=60 no test starts a new case after a minute.
TORTURE := $(OUT)/torture
TORTURE_SHARE ?= 1
TORTURE_SECONDS ?= 0
TORTURE_BOUND := --seconds $(TORTURE_SECONDS)
TORTURE_KILLS := $(shell echo $$((100 / $(TORTURE_SHARE))))
TORTURE_SAN := address,undefined
TORTURE_SANITIZED := build/san-address-undefined/torture/ncclprof

$(TORTURE)/inject.so: tests/torture/inject.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -std=c11 -g -O1 -fno-omit-frame-pointer $(WARNINGS) -fPIC -shared -o $@ $< -ldl

$(TORTURE)/inject-sanitized.so: tests/torture/inject.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -DFOR_SANITIZERS -std=c11 -g -O1 -fno-omit-frame-pointer $(WARNINGS) -fPIC -shared -o $@ $< -ldl

# A build that commits so often that a kill is likely to hit between two commits, and reads even small files in parts.
TORTURE_SMALL := '-DTRANSACTION_BYTES=(1 << 18)' '-DPART_BYTES=(UINT64_C(1) << 11)'

$(TORTURE)/%.o: lib/store/%.c $(GENERATED)/schemas.h
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(NCCLPROF_CFLAGS) $(TORTURE_SMALL) -c -o $@ $<

$(TORTURE)/%.o: lib/ingest/%.c $(GENERATED)/schemas.h
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(NCCLPROF_CFLAGS) $(TORTURE_SMALL) -c -o $@ $<

$(TORTURE)/ncclprof: $(CMD_OBJECTS) $(TORTURE)/file.o $(TORTURE)/writer.o $(OUT)/libncclprof.a
	$(CC) $(PROGRAM_LDFLAGS) -o $@ $^ $(NCCLPROF_LIBS)

.PHONY: torture
torture: $(OUT)/ncclprof $(TORTURE)/inject.so $(TORTURE)/inject-sanitized.so $(TORTURE)/ncclprof
	@$(MAKE) -s SAN=$(TORTURE_SAN) $(TORTURE_SANITIZED)
	@tests/torture/run.sh \
	    'tests/torture/stop.py $(OUT)/ncclprof --times $(TORTURE_KILLS) $(TORTURE_BOUND) --name "kill -9"' \
	    'tests/torture/stop.py $(TORTURE)/ncclprof --times $(TORTURE_KILLS) --seed 2 $(TORTURE_BOUND) --name "kill -9, small transactions and parts"' \
	    'tests/torture/stop.py $(TORTURE)/ncclprof --interrupt --times $(TORTURE_KILLS) --seed 3 $(TORTURE_BOUND) --name "Ctrl-C"' \
	    'tests/torture/forget.py $(OUT)/ncclprof --times $(TORTURE_KILLS) $(TORTURE_BOUND)' \
	    'tests/torture/together.py $(TORTURE)/ncclprof --times $(shell echo $$((20 / $(TORTURE_SHARE) + 1))) $(TORTURE_BOUND)' \
	    'tests/torture/full_disk.py $(OUT)/ncclprof' \
	    'tests/torture/parts.py $(OUT)/ncclprof $(TORTURE)/ncclprof --times $(shell echo $$((400 / $(TORTURE_SHARE)))) $(TORTURE_BOUND)' \
	    'tests/torture/damaged.py $(TORTURE_SANITIZED) --times $(shell echo $$((400 / $(TORTURE_SHARE)))) $(TORTURE_BOUND)' \
	    'tests/torture/faults.py $(TORTURE)/ncclprof $(TORTURE)/inject.so $(TORTURE_BOUND) --every $(TORTURE_SHARE)' \
	    'tests/torture/faults.py $(TORTURE)/ncclprof $(TORTURE)/inject.so $(TORTURE_BOUND) --lasting --every $(shell echo $$((29 * $(TORTURE_SHARE))))' \
	    'tests/torture/faults.py $(TORTURE_SANITIZED) $(TORTURE)/inject-sanitized.so $(TORTURE_BOUND) --every $(shell echo $$((17 * $(TORTURE_SHARE))))'

# What must neither lose nor let in anything, under stress: `make torture`, about twelve minutes on two cores, one line
# a test. `make torture TORTURE_SHARE=10` tries every tenth call only, and kills a tenth as often.
TORTURE := $(OUT)/torture
TORTURE_SHARE ?= 1
TORTURE_KILLS := $(shell echo $$((100 / $(TORTURE_SHARE))))
TORTURE_SAN := address,undefined
TORTURE_SANITIZED := build/san-address-undefined/ncclprof

$(TORTURE)/inject.so: tests/torture/inject.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -std=c11 -g -O1 -fno-omit-frame-pointer $(WARNINGS) -fPIC -shared -o $@ $< -ldl

# Commits so often that a kill has a good chance to fall between two.
$(TORTURE)/writer.o: lib/store/writer.c $(GENERATED)/schemas.h
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(NCCLPROF_CFLAGS) '-DTRANSACTION_BYTES=(1 << 18)' -c -o $@ $<

$(TORTURE)/ncclprof: $(CMD_OBJECTS) $(TORTURE)/writer.o $(OUT)/libncclprof.a
	$(CC) $(NCCLPROF_LDFLAGS) -o $@ $^ $(NCCLPROF_LIBS)

.PHONY: torture
torture: $(OUT)/ncclprof $(TORTURE)/inject.so $(TORTURE)/ncclprof
	@$(MAKE) -s SAN=$(TORTURE_SAN) $(TORTURE_SANITIZED)
	@tests/torture/run.sh \
	    'tests/torture/stop.py $(OUT)/ncclprof --times $(TORTURE_KILLS) --name "kill -9"' \
	    'tests/torture/stop.py $(TORTURE)/ncclprof --times $(TORTURE_KILLS) --seed 2 --name "kill -9, small transactions"' \
	    'tests/torture/stop.py $(TORTURE)/ncclprof --interrupt --times $(TORTURE_KILLS) --seed 3 --name "Ctrl-C"' \
	    'tests/torture/together.py $(TORTURE)/ncclprof --times $(shell echo $$((20 / $(TORTURE_SHARE) + 1)))' \
	    'tests/torture/full_disk.py $(OUT)/ncclprof' \
	    'tests/torture/faults.py $(OUT)/ncclprof $(TORTURE)/inject.so --every $(TORTURE_SHARE)' \
	    'tests/torture/faults.py $(OUT)/ncclprof $(TORTURE)/inject.so --lasting --every $(shell echo $$((29 * $(TORTURE_SHARE))))' \
	    'tests/torture/faults.py $(TORTURE_SANITIZED) $(TORTURE)/inject.so --every $(shell echo $$((17 * $(TORTURE_SHARE))))'

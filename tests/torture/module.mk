# What must not lose or let in anything, under stress: `make torture`. Minutes, so it is no part of `make test`.
TORTURE := $(OUT)/torture

$(TORTURE)/inject.so: tests/torture/inject.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -std=c11 -g -O2 $(WARNINGS) -fPIC -shared -o $@ $< -ldl

.PHONY: check
check: all $(OUT)/print_rules
	@CC='$(CC)' python3 tests/check/check.py $(OUT)

# Prints the tables of rules and limits as JSON.
$(OUT)/print_rules: $(OUT)/object/tests/check/print_rules.o $(OUT)/libncclprof.a
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ $(NCCLPROF_LIBS)

-include $(OUT)/object/tests/check/print_rules.d

.PHONY: check
check: all
	@CC='$(CC)' python3 tests/check/check.py $(OUT)

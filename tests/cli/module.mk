# The real program on traces made by hand and on the fixtures.
.PHONY: test-cli
test-cli: $(OUT)/ncclprof $(OUT)/fakecore $(OUT)/simulate $(PLUGIN)
	NCCLPROF=$(OUT)/ncclprof python3 -B -m unittest discover -s tests/cli -t . -p 'test_*.py' -b

.PHONY: golden
golden: $(OUT)/ncclprof
	NCCLPROF=$(OUT)/ncclprof NCCLPROF_GOLDEN=write python3 -B -m unittest tests.cli.test_golden tests.cli.test_readme

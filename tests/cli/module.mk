# The real program on traces made by hand and on the fixtures.
.PHONY: test-cli
test-cli: $(OUT)/ncclprof $(OUT)/fakecore $(OUT)/simulate $(PLUGIN)
	NCCLPROF=$(OUT)/ncclprof tests/parallel.py cli \
	  $(CLI_MODULES:%='python3 -B -m unittest -b %')

# The greatest files first: what begins last should not last long.
CLI_MODULES := $(subst /,.,$(basename $(shell ls -S tests/cli/test_*.py)))

.PHONY: golden
golden: $(OUT)/ncclprof $(OUT)/print_rules
	python3 -B tests/check/rules.py $(OUT)
	NCCLPROF=$(OUT)/ncclprof NCCLPROF_GOLDEN=write python3 -B -m unittest tests.cli.test_golden tests.cli.test_readme tests.cli.test_steps_map

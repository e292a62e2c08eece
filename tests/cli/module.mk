# Runs the program on small traces that the tests write, and on the fixtures.
.PHONY: test-cli
test-cli: all $(OUT)/fakecore $(OUT)/fakenvml/libnvidia-ml.so.1 $(OUT)/print_rules $(OUT)/simulate $(OUT)/put_node $(OUT)/torture/ncclprof
	NCCLPROF=$(OUT)/ncclprof tests/parallel.py cli \
	  $(CLI_TESTS:%='python3 -B -m unittest -b tests.cli.test_%')

# The longest tests start first, then the largest files, so that the tests that start last are short.
CLI_LONGEST := hostile_files parts jobs inspector logs_in_parts hostile
CLI_TESTS := $(CLI_LONGEST) $(filter-out $(CLI_LONGEST),$(patsubst tests/cli/test_%.py,%,$(shell ls -S tests/cli/test_*.py)))

# For the thread sanitizer: tests of reader threads, of large files read in parts, and of the threads of an analysis.
# golden ingests every fixture. `make nightly` runs all tests under it.
CLI_THREADS := parts.Parts golden threads ingest merge record watch

.PHONY: golden
golden: $(OUT)/ncclprof $(OUT)/print_rules $(OUT)/simulate
	python3 -B tests/check/rules.py $(OUT)
	for file in schemas/store/*.sql; do grep -q " $$file$$" tests/check/published.sha256 || \
	  sha256sum $$file >>tests/check/published.sha256; done
	NCCLPROF=$(OUT)/ncclprof NCCLPROF_GOLDEN=write python3 -B -m unittest tests.cli.test_golden tests.cli.test_readme tests.cli.test_steps_map

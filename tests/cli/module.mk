# Runs the program on small traces that the tests write, and on the fixtures.
.PHONY: test-cli
test-cli: all $(OUT)/fakecore $(OUT)/fakenvml/libnvidia-ml.so.1 $(OUT)/print_rules $(OUT)/simulate $(OUT)/put_node $(OUT)/torture/ncclprof
	NCCLPROF=$(OUT)/ncclprof tests/parallel.py cli \
	  $(CLI_TESTS:%='python3 -B -m unittest -b tests.cli.test_%')

# The longest tests start first, then the largest files, so that the tests that start last are short.
CLI_LONGEST := excerpts kept causes hostile_files diagnose logs_in_parts usage suggestions merge compare jobs absent_ranks inspector
CLI_ALL := $(CLI_LONGEST) $(filter-out $(CLI_LONGEST),$(patsubst tests/cli/test_%.py,%,$(shell ls -S tests/cli/test_*.py)))
CLI_TESTS := $(CLI_ALL)

# Tests of answers: which rank of a job is named, which figure a command shows, and in which words. Their traces are whole and
# well-formed, one job after the other takes the same path, and each takes its processes, which are slow to start under a
# sanitizer. So continuous integration runs them without sanitizers only, and `make nightly` with them. Not among them, and
# so under the sanitizers for each change: damaged and hostile input, readers, the store, joins, merges, limits of memory,
# writers of files, each command with each option (usage), and each analysis on each fixture (kept). What a new file tests
# runs there, too, unless it is listed here.
CLI_ANSWERS := absent_ranks account algorithms anonymize arrival_order clocks compare copies daily_questions diagnose filters \
               finding html_page jobs late_notices one_story other_proxies pauses phases places readme report rules runs score \
               score_network silence silent_hosts slow_groups startup steps stragglers streams stretches suggestions truth \
               unrest witnesses
CLI_MEMORY := $(filter-out $(CLI_ANSWERS),$(CLI_ALL))

# For the thread sanitizer: tests of reader threads, of large files read in parts, and of the threads of an analysis.
# `make nightly` runs all tests under it.
CLI_THREADS := parts.Parts threads ingest merge record watch

.PHONY: golden
golden: $(OUT)/ncclprof $(OUT)/print_rules $(OUT)/simulate
	python3 -B tests/check/rules.py $(OUT)
	for file in schemas/store/*.sql; do grep -q " $$file$$" tests/check/published.sha256 || \
	  sha256sum $$file >>tests/check/published.sha256; done
	NCCLPROF=$(OUT)/ncclprof NCCLPROF_GOLDEN=write python3 -B -m unittest tests.cli.test_golden tests.cli.test_readme tests.cli.test_steps_map

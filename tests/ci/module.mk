# The summary of failures that continuous integration prints at its end.
.PHONY: test-ci
test-ci:
	tests/parallel.py ci 'python3 -B tests/ci/test_failures.py'

# What continuous integration says at its end of what failed.
.PHONY: test-ci
test-ci:
	python3 -B tests/ci/test_failures.py

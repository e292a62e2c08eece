# `make eval EVAL_JOBS=200 EVAL_SEED=1`: diagnose against simulated jobs with known culprits.
EVAL_JOBS ?= 200
EVAL_SEED ?= 1
EVAL_OPTIONS ?=

.PHONY: eval
eval: $(OUT)/simulate $(OUT)/ncclprof
	python3 tests/eval/eval.py --jobs $(EVAL_JOBS) --seed $(EVAL_SEED) --simulate $(OUT)/simulate \
	    --ncclprof $(OUT)/ncclprof $(EVAL_OPTIONS)

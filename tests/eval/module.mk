# `make eval EVAL_JOBS=200 EVAL_SEED=1`: diagnose on simulated jobs with known culprits.
# For large jobs: EVAL_OPTIONS='--ranks 1024 --witness-jobs 0'.
EVAL_JOBS ?= 200
EVAL_SEED ?= 1
EVAL_OPTIONS ?=

.PHONY: eval
eval: $(OUT)/simulate $(OUT)/ncclprof
	python3 tests/eval/eval.py --jobs $(EVAL_JOBS) --seed $(EVAL_SEED) --simulate $(OUT)/simulate \
	    --ncclprof $(OUT)/ncclprof $(EVAL_OPTIONS)

# `make eval-compare EVAL_PAIRS=200 EVAL_PLANTED=30`: compare on pairs of simulated jobs, with and without planted differences.
EVAL_PAIRS ?= 200
EVAL_PLANTED ?= 30

.PHONY: eval-compare
eval-compare: $(OUT)/simulate $(OUT)/ncclprof
	python3 tests/eval/compare.py --pairs $(EVAL_PAIRS) --planted $(EVAL_PLANTED) --seed $(EVAL_SEED) \
	    --simulate $(OUT)/simulate --ncclprof $(OUT)/ncclprof $(EVAL_OPTIONS)

# `make ablation ABLATION_JOBS=200 ABLATION_OPTIONS='--labelled DIR'`: the effect of each rule of diagnose on its answers.
ABLATION_JOBS ?= 200
ABLATION_OPTIONS ?=

.PHONY: ablation
ablation: $(OUT)/simulate $(OUT)/ncclprof $(OUT)/print_rules
	python3 tests/eval/ablation.py --jobs $(ABLATION_JOBS) --seed $(EVAL_SEED) --simulate $(OUT)/simulate \
	    --ncclprof $(OUT)/ncclprof --print-rules $(OUT)/print_rules $(ABLATION_OPTIONS)

# `make score`: the answers of diagnose on the labelled jobs of tests/eval/corpus. No gate: it ends well whatever they are.
.PHONY: score
score: $(OUT)/ncclprof
	python3 -B tests/eval/corpus/answer.py ncclprof $(OUT)/ncclprof $(OUT)/corpus/ncclprof.json
	python3 -B tests/eval/corpus/score.py $(OUT)/corpus/ncclprof.json

# `make made-up-logs LOG_RUNS='DIR...' LOG_SEEDS=10`: causes of findings beside made-up records of operators, with decoys. Without
# LOG_RUNS on simulated jobs. Fails if a decoy is named, or changes a finding.
LOG_RUNS ?=
LOG_SEEDS ?= 10

.PHONY: made-up-logs
made-up-logs: $(OUT)/simulate $(OUT)/ncclprof
	python3 -B tests/eval/made_up_logs.py --ncclprof $(OUT)/ncclprof --simulate $(OUT)/simulate --seeds $(LOG_SEEDS) \
	    --work $(OUT)/made-up-logs $(LOG_RUNS)

.PHONY: test-eval
test-eval:
	tests/parallel.py eval 'python3 -B tests/eval/corpus/test_corpus.py'

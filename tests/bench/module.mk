# Speed, compared with other tools for the same work. BENCH_BYTES (default 480M) is the amount of input, BENCH_RUNS
# (default 5) the number of runs, and BENCH_ROOM the folder for data and stores. `make test` runs nothing of this.
BENCH := python3 tests/bench/bench.py --build $(OUT)

$(OUT)/object/tests/bench/read_bench.o: tests/bench/read_bench.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(NCCLPROF_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/read_bench: $(OUT)/object/tests/bench/read_bench.o $(OUT)/libncclprof.a
	$(CC) $(NCCLPROF_LDFLAGS) $(LDFLAGS) -o $@ $^ $(NCCLPROF_LIBS)

-include $(OUT)/object/tests/bench/read_bench.d

.PHONY: bench bench-scale bench-gate bench-analyses bench-merge bench-watch bench-overhead bench-ranks \
        bench-scale-out bench-recorders bench-node
bench: all $(OUT)/simulate $(OUT)/read_bench
	$(BENCH) ingest
	$(BENCH) recorders
	$(BENCH) gate

# Recorders that the tables above do not have: time per byte and memory at 1, 4 and 16 times a size. BENCH_KINDS='RAS;NCCL log': these only.
bench-recorders: all $(OUT)/simulate $(OUT)/read_bench
	$(BENCH) recorders

# Time per byte and memory at 1, 2, 4, 8 and 16 times 60 MB.
bench-scale: all $(OUT)/simulate
	$(BENCH) scale

# Instructions per byte on the read path. They do not vary between runs, so exceeding the limit is a failure.
bench-gate: $(OUT)/simulate $(OUT)/read_bench
	$(BENCH) gate

# All analyses on BENCH_OPERATIONS (default 1M) operation records, and diagnose on a simulated job of 256 ranks.
bench-analyses: all $(OUT)/simulate
	$(BENCH) analyses

# A merge of 64 shards, compared with one ingest of all their files.
bench-merge: all $(OUT)/simulate
	$(BENCH) merge

# CPU time of watch while a job of 8 ranks writes for BENCH_WATCH_SECONDS, or the job that BENCH_WATCH_JOB describes.
BENCH_WATCH_SECONDS ?= 300
BENCH_WATCH_JOB ?=
bench-watch: all $(OUT)/simulate
	tests/bench/watch.py $(OUT) $(BENCH_WATCH_SECONDS) "$(BENCH_WATCH_JOB)"

# Overhead of plugins in NCCL, on a machine with GPUs. ALL_REDUCE_PERF is the path of nccl-tests' program; OVERHEAD_PLUGINS
# adds plugins as NAME=PLUGIN.so.
$(OUT)/plugin_nothing.so: tests/bench/plugin_nothing.c lib/plugin/ring/api.h
	@mkdir -p $(@D)
	$(CC) $(NCCLPROF_CPPFLAGS) $(CPPFLAGS) $(filter-out -fPIE,$(NCCLPROF_CFLAGS)) $(CFLAGS) -fPIC -shared -o $@ $<

bench-overhead: $(PLUGIN) $(OUT)/plugin_nothing.so
	tests/bench/overhead.sh "$(ALL_REDUCE_PERF)" none= nothing=$(OUT)/plugin_nothing.so ncclprof=$(PLUGIN) $(OVERHEAD_PLUGINS)

# CPU time of the sampler of the node that record starts, and size of its record. BENCH_NODE: options of tests/bench/node.py,
# such as --command, with a program that uses GPUs.
bench-node: all
	tests/bench/node.py $(OUT) $(BENCH_NODE)

# CPU time on jobs that hang, with n, 2 n, 4 n ... ranks: RANKS_SIZES, RANKS_KINDS and the other variables described in
# tests/bench/ranks.py.
bench-ranks: all
	tests/bench/ranks.py $(OUT)

# A job of thousands of ranks in shards, from end to end: SCALE_OUT_RANKS (default 1024), SCALE_OUT_STEPS (default 24) and
# the other variables described in tests/bench/scale_out.py. 16,384 ranks and 92 steps are 100 M operations.
bench-scale-out: all $(OUT)/simulate
	tests/bench/scale_out.py $(OUT)

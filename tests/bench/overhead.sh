#!/bin/sh
# The overhead of profiler plugins in NCCL on real GPUs, one thread per GPU in one process: runs all_reduce_perf of nccl-tests
# with each plugin in turn, in an order that changes from round to round. Prints the median and the spread of the rounds, in
# microseconds per call, and the losses that ncclprof reports.
# usage: overhead.sh ALL_REDUCE_PERF NAME=PLUGIN.so...   ("none=": no plugin; "ncclprof": the bundled one)
# Environment and defaults: OVERHEAD_GPUS (all GPUs), OVERHEAD_ROUNDS (5), OVERHEAD_CALLS (20000 of 8 KiB; a hundredth of 256 MiB)
set -eu
[ $# -ge 2 ] || { sed -n '4p' "$0" >&2; exit 2; }
perf=$1
shift
gpus=${OVERHEAD_GPUS:-$(nvidia-smi -L | wc -l)}
rounds=${OVERHEAD_ROUNDS:-5}
calls=${OVERHEAD_CALLS:-20000}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
export NCCL_PROFILE_EVENT_MASK=4095

# Appends "BYTES NAME MICROSECONDS" for a size, from the out-of-place column of nccl-tests.
run() {
    name=${1%%=*}
    library=${1#*=}
    rm -rf "$directory/traces"
    mkdir "$directory/traces"
    export NCCLPROF_DIR="$directory/traces" NCCL_PROFILE_DUMP_FILE="$directory/traces/example"
    export NCCL_INSPECTOR_ENABLE=1 NCCL_INSPECTOR_DUMP_DIR="$directory/traces" NCCL_INSPECTOR_DUMP_VERBOSE=1
    unset NCCL_PROFILER_PLUGIN
    [ -z "$library" ] || export NCCL_PROFILER_PLUGIN="$(realpath "$library")"
    "$perf" -t "$gpus" -g 1 -b "$2" -e "$2" -n "$3" -w 50 -c 0 >"$directory/out" 2>"$directory/errors" ||
        { cat "$directory/out" "$directory/errors" >&2; exit 1; }
    awk -v name="$name" -v bytes="$2" '$1 == bytes && $3 == "float" { print bytes, name, $6; found = 1 }
        END { exit !found }' "$directory/out" >>"$directory/times" || { cat "$directory/out" >&2; exit 1; }
    [ "$name" != ncclprof ] ||
        grep -h '"Drops"' "$directory"/traces/* | sed 's/.*"args": *//; s/}*,*$//' >>"$directory/drops"
}

round=0
while [ "$round" -lt "$rounds" ]; do
    for plugin; do
        run "$plugin" 8192 "$calls"
        run "$plugin" 268435456 $((calls / 100))
    done
    # The first plugin is the last one in the next round.
    first=$1
    shift
    set -- "$@" "$first"
    round=$((round + 1))
done

echo "all_reduce_perf -t $gpus -g 1, $rounds rounds; microseconds per call: median (minimum to maximum)"
sort -k1,1n -k2,2 -k3,3n "$directory/times" | awk '
    function tell() {
        if (count)
            printf "%10d bytes  %-12s %10.2f  (%.2f to %.2f)\n", bytes, name,
                (times[int((count + 1) / 2)] + times[int(count / 2) + 1]) / 2, times[1], times[count]
        count = 0
    }
    { if ($1 != bytes || $2 != name) tell(); bytes = $1; name = $2; times[++count] = $3 }
    END { tell() }'
[ ! -s "$directory/drops" ] || { echo "losses that ncclprof reported, by run:"; sort "$directory/drops" | uniq -c; }

#!/bin/sh
# Runs one fuzz target and prints one line with the result: `run.sh FOLDER TARGET OPTION...`. FOLDER contains the built
# targets, the seeds, and the corpus of earlier runs.
folder=$1
target=$2
shift 2
mkdir -p "$folder/corpus/$target" || exit 1
seeds=$folder/seeds/$target
[ -d "$seeds" ] || seeds=$folder/seeds/traces
[ ! -d "tests/fuzz/found/$target" ] || set -- "$@" "tests/fuzz/found/$target"
if ! "$folder/$target" -max_len=65536 -timeout=600 -rss_limit_mb=2048 "-artifact_prefix=$folder/$target-" -print_final_stats=1 \
    "$folder/corpus/$target" "$seeds" "$@" >"$folder/$target.log" 2>&1; then
    tail -n 40 "$folder/$target.log"
    echo "fuzz: $target found an input that fails"
    exit 1
fi
echo "$target: $(sed -n 's/^Done //p' "$folder/$target.log")"

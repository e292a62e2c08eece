#!/bin/sh
# Runs one fuzz target and says in a line what it did: `run.sh FOLDER TARGET OPTION...`. FOLDER holds the built targets,
# seeds and what earlier runs have found worth keeping.
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
    echo "fuzz: $target found something"
    exit 1
fi
echo "$target: $(sed -n 's/^Done //p' "$folder/$target.log")"

#!/bin/sh
# Runs tests, as many at a time as there are processors, from the top of the repository: `run.sh 'SCRIPT ARGUMENT...'...`.
# Each ends with `NAME: N passed, N failed`; the last line here is their sum.
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
number=0
for test in "$@"; do
    number=$((number + 1))
    printf '%s\0' "$number" "$test"
done | logs=$logs xargs -0 -P "$(nproc)" -n 2 sh -c '
    begun=$(date +%s)
    eval "python3 -B $2" >"$logs/$1" 2>&1
    status=$?
    printf "  (%d s)\n" $(($(date +%s) - begun)) >>"$logs/$1"
    echo "$status" >"$logs/$1.status"
    flock "$logs" cat "$logs/$1"' sh
passed=0
failed=0
for number in $(seq $#); do
    set -- $(sed -n 's/^.*: \([0-9]*\) passed, \([0-9]*\) failed.*$/\1 \2/p' "$logs/$number" | tail -1)
    passed=$((passed + ${1:-0}))
    failed=$((failed + ${2:-1}))
    [ "$(cat "$logs/$number.status")" = 0 ] || [ "${2:-0}" -gt 0 ] || failed=$((failed + 1))
done
echo "torture: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

#!/bin/sh
# Runs tests one after the other, from the top of the repository: `run.sh 'SCRIPT ARGUMENT...'...`. Each test ends with the
# line `NAME: N passed, N failed`; this script ends with such a line for the sum.
passed=0
failed=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for test in "$@"; do
    begun=$(date +%s)
    eval "python3 -B $test" >"$log" 2>&1
    status=$?
    cat "$log"
    set -- $(sed -n 's/^.*: \([0-9]*\) passed, \([0-9]*\) failed.*$/\1 \2/p' "$log" | tail -1)
    passed=$((passed + ${1:-0}))
    failed=$((failed + ${2:-1}))
    [ "$status" -eq 0 ] || [ "${2:-0}" -gt 0 ] || failed=$((failed + 1))
    echo "  ($(($(date +%s) - begun)) s)"
done
echo "torture: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

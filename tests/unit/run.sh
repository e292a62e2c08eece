#!/bin/sh
# Runs cmocka tests, as many at a time as there are processors, and adds up their counts: `run.sh TEST...`, from the top of
# the repository. A test is a program, or NAME of the program FOLDER: `FOLDER/NAME`. Fails if a test failed or did not end.
passed=0
failed=0
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
# Each program writes a log with its output and, at the end, its exit status.
printf '%s\n' "$@" | CMOCKA_MESSAGE_OUTPUT=TAP logs=$logs xargs -P "$(nproc)" -n 1 sh -c '
    log=$logs/$(echo "$1" | tr / -)
    if [ -x "$1" ]; then set -- "$1"; else set -- "${1%/*}" "${1##*/}"; fi
    "$@" >"$log" 2>&1
    echo "exit status $?" >>"$log"' sh
for program in "$@"; do
    log=$logs/$(echo "$program" | tr / -)
    good=$(grep -c '^ok ' "$log")
    bad=$(grep -c '^not ok ' "$log")
    if [ "$(tail -n 1 "$log")" != 'exit status 0' ] || [ "$good" -eq 0 ]; then
        [ "$bad" -eq 0 ] && bad=1
        echo "FAILED $program"
        grep --line-buffered "" "$log" # whole lines, between those of other test targets
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
done
echo "unit: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

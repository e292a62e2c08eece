#!/bin/sh
# Runs cmocka programs and adds up what they say: `run.sh PROGRAM...`, from the top of the repository.
# Fails when a test failed or a program did not come to its end.
passed=0
failed=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for program in "$@"; do
    CMOCKA_MESSAGE_OUTPUT=TAP "$program" >"$log" 2>&1
    status=$?
    good=$(grep -c '^ok ' "$log")
    bad=$(grep -c '^not ok ' "$log")
    if [ "$status" -ne 0 ] || [ "$good" -eq 0 ]; then
        [ "$bad" -eq 0 ] && bad=1
        echo "FAILED $program (exit status $status)"
        cat "$log"
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
done
echo "unit: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

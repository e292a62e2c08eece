#!/bin/sh
# Runs clang-tidy and prints only its warnings and errors: `tidy.sh FLAG... -- SOURCE...`
flags=
while [ "$1" != -- ]; do
    flags="$flags $1"
    shift
done
shift
log=$(mktemp) || exit 1
# shellcheck disable=SC2086 # flags are words
clang-tidy --quiet "$@" -- $flags >"$log" 2>&1
status=$?
[ "$status" -eq 0 ] || cat "$log"
rm -f "$log"
exit "$status"

# Prints the lines of a log that report a failure, each with the few lines after it that give the reason. Recognizes the output
# of the tests of this repository: Python's unittest, TAP of cmocka, `FAILED what` of tests/check and tests/torture, sanitizers,
# libFuzzer, compilers and linters, make. If there is no such line, prints the last lines of the log.

BEGIN {
    LINES = 60   # of one log: who needs more reads the log
    WIDTH = 300
}

function show(line) {
    if (shown++ < LINES)
        print "  " substr(line, 1, WIDTH)
}

{ last[NR % 8] = $0 }

# Lines that belong to the last failure: `# ` lines of TAP, indented lines of `FAILED what`.
reasons > 0 && $0 ~ reason { show($0); reasons--; next }
{ reasons = 0 }

/^ *(FAIL|ERROR): / ||
/^ *\[  FAILED  \]/ ||
/^ *([A-Za-z_]+\.)*[A-Z][A-Za-z]*(Error|Exception|Expired)(:|$)/ ||
/^ *(OK|FAILED) \([a-z ]+=/ ||
/^ *SUMMARY: / || /^ *==[0-9]+==[ ]?ERROR: / || /: runtime error: / ||
/^[^ ]+:[0-9]+(:[0-9]+)?: (fatal error|error|warning|performance|portability|style|information): / ||
/ stopped with exit status [0-9]+$/ || / ended without counts$/ || / found something$/ ||
/^make(\[[0-9]+\])?: \*\*\* / {
    show($0)
    next
}

/^ *not ok / { show($0); reasons = 3; reason = "^ *# "; next }
/^ *FAILED / { show($0); reasons = 3; reason = "^   *[^ ]"; next }

# `NAME: 3 passed, 1 failed`, and `NAME: 3 of 4` of tests/run.py, are the sums of a part and are not repeated.
/^.+: [0-9]+ passed, [1-9][0-9]* failed/ { show($0); next }
/^test-[a-z]+: [0-9]+ of [0-9]+$/ && $2 != $4 { show($0); next }

END {
    if (shown > LINES)
        printf "  ... and %d more lines\n", shown - LINES
    for (i = NR - 7; shown == 0 && i <= NR; i++)
        if (i > 0)
            print "  " substr(last[i % 8], 1, WIDTH)
}

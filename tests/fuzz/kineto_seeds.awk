# The beginning of a Kineto trace and a few of its events of each kind: kernels come late in it. Each event
# also goes into a file of its own: folder, number of the trace.
!events { print; events = /"traceEvents"/; next }
/^  \{/ { event = ""; kind = "" }
{ event = event $0 "\n" }
match($0, /"(cat|ph)": "[a-z_A-Z0-9]*"/) { kind = kind substr($0, RSTART, RLENGTH) }
match($0, /"cat": "[a-z_]*", "name": "(nccl|record|Profiler)/) { kind = kind substr($0, RSTART, RLENGTH) }
/^    "name": "(nccl|record|Profiler)/ { kind = kind $0 }
/"Collective name"/ { kind = kind " told" }
/^  },?$/ {
    if (kept[kind]++ < 3) {
        sub(/,\n$/, "\n", event)
        printf "%s%s", count++ ? "  ,\n" : "", event
        sub(/^ */, "", event)
        sub(/\n$/, "", event)
        printf "%s", event > (folder "/" number "-" count)
    }
}
END { print "  ]\n}" }

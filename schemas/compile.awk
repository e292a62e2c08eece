# Turns the .sql files named on the command line into C strings: schemas/store/002_base.sql becomes
# `schema_store_002_base`. A line "-- statement: NAME" begins a string of its own, `schema_..._NAME`.
# Comments stay in the source files; they are dropped here. SCHEMA_MIGRATIONS lists those of schemas/store, in order.
# usage: awk -v header=OUT.h -v source=OUT.c -f compile.awk FILE...

function name_of(path) {
    sub(/^schemas\//, "", path); sub(/\.sql$/, "", path); gsub(/[^A-Za-z0-9]/, "_", path)
    return "schema_" path
}

function begin(name) {
    end()
    pending = name
}

function end() {
    if (open) print "    \"\";" > source
    open = 0
}

function put(text) {
    if (!open) {
        print "extern const char " pending "[];" > header
        print "const char " pending "[] =" > source
        open = 1
    }
    print "    \"" text "\\n\"" > source
}

BEGIN {
    print "/* Generated from schemas by schemas/compile.awk. */" > source
    print "/* Generated from schemas by schemas/compile.awk. */" > header
    print "#ifndef NCCLPROF_SCHEMAS_H\n#define NCCLPROF_SCHEMAS_H" > header
    print "#include \"schemas.h\"" > source
}

FNR == 1 { begin(name_of(FILENAME)) }
FNR == 1 && FILENAME ~ /^schemas\/store\// { migrations = migrations (migrations ? ", " : "") name_of(FILENAME) }

/^-- statement: / { begin(name_of(FILENAME) "_" $3); next }

{
    line = $0
    sub(/^[ \t]*--.*$/, "", line)
    sub(/[ \t]--[ \t].*$/, "", line)
    if (line ~ /^[ \t]*$/) next
    gsub(/\\/, "\\\\", line); gsub(/"/, "\\\"", line)
    put(line)
}

END {
    end()
    print "#define SCHEMA_MIGRATIONS " migrations > header
    print "#endif" > header
}

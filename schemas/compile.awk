# Turns the .sql files named on the command line into C strings: schemas/store/002_base.sql becomes
# `schema_store_002_base`. A line "-- statement: NAME" begins a string of its own, `schema_..._NAME`.
# Comments stay in the source files; they are dropped here, but for those that describe a view's columns: a comment
# "-- TYPE[ UNIT]: WORDS" at the end of a line whose last word is the column's name. SCHEMA_COLUMNS_VIEW(COLUMN) calls
# COLUMN(name, type, unit, words) of each.
# SCHEMA_MIGRATIONS lists the files of schemas/store, in order.
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

function end_view() {
    if (columns) print "#define SCHEMA_COLUMNS_" view "(COLUMN)" columns > header
    view = columns = ""
}

function begin_view(line) {
    end_view()
    view = line
    sub(/^CREATE VIEW /, "", view); sub(/ AS.*$/, "", view)
}

function put_column(line, name, type, unit, words) {
    words = name = line
    sub(/ -- (integer|real|text)[^:]*: .*$/, "", name); sub(/,$/, "", name); sub(/^.*[^a-z0-9_]/, "", name)
    sub(/^.* -- /, "", words)
    type = unit = words
    sub(/[ :].*$/, "", type)
    sub(/:.*$/, "", unit); sub(/^[a-z]* ?/, "", unit)
    sub(/^[^:]*: /, "", words)
    gsub(/"/, "\\\"", words)
    columns = columns " \\\n    COLUMN(\"" name "\", CELL_" toupper(type) ", " (unit ? "\"" unit "\"" : "NULL") ", \"" words "\"),"
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

/^CREATE VIEW / { begin_view($0) }

view && / -- (integer|real|text)( [A-Za-z\/]+)?: / { put_column($0) }

/;$/ { end_view() }

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
    end_view()
    print "#define SCHEMA_MIGRATIONS " migrations > header
    print "#endif" > header
}

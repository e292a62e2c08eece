# Turns the .sql files named on the command line into C strings: schemas/store/001_base.sql becomes
# `schema_store_001_base`. Comments stay in the source files; they are dropped here.
# usage: awk -v header=OUT.h -v source=OUT.c -f compile.awk FILE...

function name_of(path) {
    sub(/^schemas\//, "", path); sub(/\.sql$/, "", path); gsub(/[^A-Za-z0-9]/, "_", path)
    return "schema_" path
}

BEGIN {
    print "/* Generated from schemas by schemas/compile.awk. */" > source
    print "/* Generated from schemas by schemas/compile.awk. */" > header
    print "#ifndef NCCLPROF_SCHEMAS_H\n#define NCCLPROF_SCHEMAS_H" > header
    print "#include \"schemas.h\"" > source
}

FNR == 1 {
    if (NR > 1) print "    \"\";" > source
    print "extern const char " name_of(FILENAME) "[];" > header
    print "const char " name_of(FILENAME) "[] =" > source
}

{
    line = $0
    sub(/^[ \t]*--.*$/, "", line)
    if (line ~ /^[ \t]*$/) next
    gsub(/\\/, "\\\\", line); gsub(/"/, "\\\"", line)
    print "    \"" line "\\n\"" > source
}

END {
    if (NR > 0) print "    \"\";" > source
    print "#endif" > header
}

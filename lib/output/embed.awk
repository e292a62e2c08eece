# Turns the files named on the command line into C strings, byte for byte: lib/output/page.css becomes
# `html_asset_page_css`.
# usage: awk -v header=OUT.h -v source=OUT.c -f embed.awk FILE...

function name_of(path) {
    sub(/^.*\//, "", path); gsub(/[^A-Za-z0-9]/, "_", path)
    return "html_asset_" path
}

function end() {
    if (open) print "    \"\";" > source
    open = 1
}

BEGIN {
    print "/* Generated from lib/output by lib/output/embed.awk. */" > source
    print "#include \"html_assets.h\"" > source
    print "/* Generated from lib/output by lib/output/embed.awk. */" > header
    print "#ifndef NCCLPROF_HTML_ASSETS_H\n#define NCCLPROF_HTML_ASSETS_H" > header
}

FNR == 1 {
    end()
    print "extern const char " name_of(FILENAME) "[];" > header
    print "const char " name_of(FILENAME) "[] =" > source
}

{
    line = $0
    gsub(/\\/, "\\\\&", line); gsub(/"/, "\\\"", line); gsub(/\?\?/, "?\\?", line)
    print "    \"" line "\\n\"" > source
}

END {
    end()
    print "#endif" > header
}

#!/bin/sh
# cJSON as a static library: `cjson.sh ARCHIVE`. The compiler's own libcjson.a where there is one. Debian has none: there
# apt fetches Debian's source package of it, from where the machine's packages come from and checked like them, unless
# CJSON_SOURCE names a folder that holds cJSON.c.
set -e
archive=$1
found=$(${CC:-cc} -print-file-name=libcjson.a)
if [ -f "$found" ]; then
    cp "$found" "$archive"
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# apt as it is set up here, but asked for sources, and with lists of its own.
fetch() {
    command -v apt-get >/dev/null && command -v dpkg-source >/dev/null || return 1
    mkdir -p "$work/parts" "$work/lists/partial"
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$list" ] || sed -e 's/^deb\([ 	]\)/deb-src\1/' -e 's/^Types:.*/Types: deb-src/' "$list" \
            >"$work/parts/${list##*/}"
    done
    set -- -q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/parts" \
        -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=
    (cd "$work" && apt-get "$@" update && apt-get "$@" source cjson) >"$work/log" 2>&1
}

if [ -z "$CJSON_SOURCE" ]; then
    if ! fetch; then
        tail -5 "$work/log" 2>/dev/null >&2 || :
        echo 'no libcjson.a here, and apt-get and dpkg-source do not get its source; give CJSON_SOURCE=FOLDER' >&2
        exit 1
    fi
    CJSON_SOURCE=$(dirname "$(ls "$work"/cjson-*/cJSON.c)")
fi
${CC:-cc} -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE -c -o "$work/cJSON.o" "$CJSON_SOURCE/cJSON.c"
rm -f "$archive"
${AR:-ar} rcs "$archive" "$work/cJSON.o"

#!/bin/sh
# Makes cJSON as a static library: `cjson.sh ARCHIVE`. Copies the compiler's libcjson.a if there is one. Debian has none: there
# apt downloads the source package from the package sources of this machine and verifies it, unless CJSON_SOURCE names a
# folder with cJSON.c.
set -e
archive=$1
found=$(${CC:-cc} -print-file-name=libcjson.a)
if [ -f "$found" ]; then
    cp "$found" "$archive"
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# apt with the configuration of this machine, but for source packages, and with its own package lists.
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
        echo 'libcjson.a not found, and apt-get and dpkg-source cannot download its source; set CJSON_SOURCE=FOLDER' >&2
        exit 1
    fi
    CJSON_SOURCE=$(dirname "$(ls "$work"/cjson-*/cJSON.c)")
fi
${CC:-cc} -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE -c -o "$work/cJSON.o" "$CJSON_SOURCE/cJSON.c"
rm -f "$archive"
${AR:-ar} rcs "$archive" "$work/cJSON.o"

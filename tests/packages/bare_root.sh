#!/bin/sh
# Installs a package in a Debian that holds nothing but what is essential: `bare_root.sh DEB FOLDER`. What it depends on
# comes along; FOLDER is made anew. Exit status 77: there can be no such Debian here. Packages come from where this
# machine's come from.
deb=$(realpath "$1") || exit 1
folder=$2
[ "$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null || exit 77
rm -rf "$folder"
mkdir -p "$(dirname "$folder")" || exit 1
log=$(mktemp) && made=$(mktemp -u) || exit 1
trap 'rm -f "$log" "$made"' EXIT
. /etc/os-release
set -- "$VERSION_CODENAME" "$folder"
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ ! -s "$list" ] || set -- "$@" "$list"
done

# apt of this machine resolves what the package depends on, and has dpkg install it inside.
export deb made
# shellcheck disable=SC2016 # the variables are for the hooks
mmdebstrap --variant=essential --format=directory --dpkgopt=force-unsafe-io \
    --customize-hook='touch "$made"' \
    --customize-hook='cp "$deb" "$1/ncclprof.deb" && cd "$1" && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG \
        apt-get install --yes --no-install-recommends -oDPkg::Chroot-Directory="$1" ./ncclprof.deb' \
    --customize-hook='rm "$1/ncclprof.deb"' "$@" >"$log" 2>&1 && exit 0
tail -20 "$log"
[ -e "$made" ] || exit 77
exit 1

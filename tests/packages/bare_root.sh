#!/bin/sh
# Installs a package, with its dependencies, in a Debian that contains only essential packages: `bare_root.sh DEB FOLDER`.
# FOLDER is created again. Packages come from the sources of this machine. Exit status 77: such a Debian cannot be made here;
# the last line says so.
deb=$(realpath "$1") || exit 1
folder=$2
cannot='the package in a bare Debian, which cannot be made here'
[ "$(id -u)" = 0 ] && command -v mmdebstrap >/dev/null || { echo "$cannot"; exit 77; }
rm -rf "$folder"
mkdir -p "$(dirname "$folder")" || exit 1
log=$(mktemp) && made=$(mktemp -u) || exit 1
trap 'rm -f "$log" "$made"' EXIT
. /etc/os-release
set -- "$VERSION_CODENAME" "$folder"
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ ! -s "$list" ] || set -- "$@" "$list"
done

# The apt of this machine resolves the dependencies and makes dpkg install them inside.
export deb made
# shellcheck disable=SC2016 # the variables are for the hooks
mmdebstrap --variant=essential --format=directory --dpkgopt=force-unsafe-io \
    --customize-hook='touch "$made"' \
    --customize-hook='cp "$deb" "$1/ncclprof.deb" && cd "$1" && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG \
        apt-get install --yes --no-install-recommends -oDPkg::Chroot-Directory="$1" ./ncclprof.deb' \
    --customize-hook='rm "$1/ncclprof.deb"' "$@" >"$log" 2>&1 && exit 0
tail -20 "$log"
[ -e "$made" ] || { echo "$cannot"; exit 77; }
echo 'FAILED the package cannot be installed in a bare Debian'
exit 1

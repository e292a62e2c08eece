#!/bin/sh
# Makes a Debian package of an installed tree: `deb.sh FOLDER VERSION`, from the top of the repository. FOLDER/root is the result
# of `make install PREFIX=/usr`. The package is written to FOLDER. All files in it have the date SOURCE_DATE_EPOCH.
set -e
folder=$1
version=$2
here=$PWD/.packages/debian
export LC_ALL=C
cd "$folder"

# Debian has its own folder for zsh completions of packages.
mkdir -p root/usr/share/zsh/vendor-completions
mv root/usr/share/zsh/site-functions/* root/usr/share/zsh/vendor-completions/
rmdir root/usr/share/zsh/site-functions
find root/usr/share/man -name '*.[1-9]' -exec gzip -9n {} +
strip --strip-unneeded --remove-section=.comment --remove-section=.note root/usr/bin/ncclprof root/usr/lib/*.so

# The tools of dpkg read the debian folder of a source package.
cp -R "$here" debian
{
    printf 'ncclprof (%s) unstable; urgency=medium\n\n  * Built from its source repository.\n\n -- ' "$version"
    sed -n 's/^Maintainer: \(.*\)/\1/p' debian/control | tr -d '\n'
    printf '  %s\n' "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
} >debian/changelog
documents=root/usr/share/doc/ncclprof
mkdir -p "$documents" root/usr/share/lintian/overrides
cp debian/copyright "$documents/copyright"
gzip -9n <debian/changelog >"$documents/changelog.gz"
cp debian/lintian-overrides root/usr/share/lintian/overrides/ncclprof

mkdir root/DEBIAN
cp debian/triggers root/DEBIAN/triggers
chmod -R u=rwX,go=rX root
(cd root && find usr -type f | sort | xargs md5sum) >root/DEBIAN/md5sums
dpkg-shlibdeps root/usr/bin/ncclprof root/usr/lib/*.so
dpkg-gencontrol -Proot
dpkg-deb --root-owner-group --build root .
echo "$folder/$(ls ncclprof_*.deb)"

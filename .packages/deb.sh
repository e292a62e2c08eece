#!/bin/sh
# A Debian package of an installed tree: `deb.sh FOLDER VERSION`, from the top of the repository. FOLDER/root holds what
# `make install PREFIX=/usr` gives; the package comes into FOLDER. SOURCE_DATE_EPOCH dates everything in it.
set -e
folder=$1
version=$2
here=$PWD/.packages/debian
export LC_ALL=C
cd "$folder"

# zsh looks for what packages bring in a place of Debian's.
mkdir -p root/usr/share/zsh/vendor-completions
mv root/usr/share/zsh/site-functions/* root/usr/share/zsh/vendor-completions/
rmdir root/usr/share/zsh/site-functions
find root/usr/share/man -name '*.[1-9]' -exec gzip -9n {} +
strip --strip-unneeded --remove-section=.comment --remove-section=.note root/usr/bin/ncclprof root/usr/lib/*.so

# What dpkg's tools read: a source package's debian folder.
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

#!/bin/bash
# Two tarballs of the same files have equal bytes: made in folders of other names, with
# another umask, time zone, language and time of the files.  Builds twice.
cd "$(dirname "$0")/../.." || exit 99
command -v scdoc >/dev/null || { echo 'scdoc is missing'; exit 77; }
test -e .git || { echo 'no repository'; exit 77; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
tarball() # FOLDER
{
    mkdir -p "$1/build"
    git ls-files -z | tar --null -cf - -T - | tar --touch -xf - -C "$1"
    (cd "$1" && ./autogen.sh && cd build && ../configure CFLAGS=-O0 &&
        make -s -j"$(nproc)" dist) >"$1.out" 2>&1 || { tail -n 40 "$1.out"; exit 1; }
    sha256sum "$1"/build/halite-*.tar.xz | sed 's| .*/| |'
}
one=$(umask 022 && tarball "$tmp/one") || { echo "$one"; exit 1; }
two=$(umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 tarball "$tmp/another-name") || { echo "$two"; exit 1; }
echo "$one"
test "$one" = "$two" && exit 0
echo "differs: $two"
for dir in one another-name; do
    mkdir "$tmp/x-$dir"
    tar -xf "$tmp/$dir"/build/halite-*.tar.xz -C "$tmp/x-$dir"
done
diff -rq "$tmp/x-one" "$tmp/x-another-name"
exit 1

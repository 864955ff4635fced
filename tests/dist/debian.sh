#!/bin/bash
# debian.sh SUITE [FOLDER]: builds the package in a bare Debian SUITE (bookworm, trixie), and
# in another bare one installs halite, runs debian/tests/server, upgrades to it from a package
# of the first commit that could be packaged, and purges it: the data stays unless the answer is
# yes.  As root, with debootstrap; FOLDER keeps the bare systems.
suite=${1:?usage: debian.sh SUITE [FOLDER]}
folder=${2:-${TMPDIR:-/var/tmp}/halite-debian}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
cd "$(dirname "$0")/../.." || exit 99
top=$PWD
test "$(id -u)" = 0 && command -v debootstrap >/dev/null || { echo 'needs root and debootstrap'; exit 77; }

# In a mount namespace of its own, so that nothing stays mounted.
if [ -z "${HALITE_DEBIAN_INSIDE:-}" ]; then
    exec env HALITE_DEBIAN_INSIDE=1 unshare --mount "$0" "$suite" "$folder"
fi
set -eu
here=$folder/$suite
began=$(date +%s)
say()
{
    echo "$suite: $* ($(($(date +%s) - began)) s)"
}
fail()
{
    say "FAILED: $*"
    exit 1
}

# bare NAME: a fresh copy of the bare system, ready to be entered.
bare()
{
    rm -rf --one-file-system "${here:?}/$1"
    cp -a "$here/base" "$here/$1"
    mount -t proc proc "$here/$1/proc"
    mount -t sysfs sys "$here/$1/sys"
    mount --rbind /dev "$here/$1/dev"
}
apart=()
inside() # NAME COMMAND...
{
    name=$1
    shift
    "${apart[@]}" chroot "$here/$name" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "$@"
}
quiet() # COMMAND...
{
    "$@" >"$here/out" 2>&1 || { tail -n 60 "$here/out"; fail "$*"; }
}

mkdir -p "$here"
if [ ! -e "$here/base/etc/debian_version" ]; then
    rm -rf "$here/base"
    quiet debootstrap --variant=minbase "$suite" "$here/base.new" "$mirror"
    rm -f "$here"/base.new/var/cache/apt/archives/*.deb
    mv "$here/base.new" "$here/base"
    say 'bare system made'
fi
# As this machine reaches the archive.
cp -L /etc/resolv.conf "$here/base/etc/resolv.conf"
apt-config dump Acquire | grep -E '^Acquire::(http|https|Check-)' >"$here/base/etc/apt/apt.conf.d/90acquire" || :

# -- the packages ----------------------------------------------------------------
# source_of COMMIT: its files, and the version by which it is older than ours.
bare build
mkdir -p "$here/build/src/new/halite" "$here/build/src/old/halite"
if [ -e .git ]; then
    git ls-files -z | tar --null -cf - -T - | tar -xf - -C "$here/build/src/new/halite"
    first=$(git log --diff-filter=A --format=%H -- debian/control | tail -n 1)
else
    cp -a . "$here/build/src/new/halite"
    first=
fi
olds=
if [ -n "$first" ] && [ "$first" != "$(git rev-parse HEAD)" ]; then
    git archive "$first" | tar -xf - -C "$here/build/src/old/halite"
    sed -i '1s/(\(.*\))/(\1~~first)/' "$here/build/src/old/halite/debian/changelog"
    olds=old
fi
quiet inside build apt-get update
quiet inside build apt-get install -y --no-install-recommends build-essential
for which in $olds new; do
    quiet inside build sh -c "cd /src/$which/halite &&
        apt-get build-dep -y --no-install-recommends -P nocheck ./ &&
        DEB_BUILD_PROFILES=nocheck DEB_BUILD_OPTIONS='nocheck parallel=$(nproc)' \
            dpkg-buildpackage -us -uc -b"
    say "package $which built"
done
quiet inside build apt-get install -y --no-install-recommends lintian
inside build sh -c 'lintian -EvIL +pedantic /src/new/*.changes' >"$here/lintian" 2>&1 ||
    { cat "$here/lintian"; fail 'lintian'; }
grep -E '^[EWIPX]:' "$here/lintian" && fail 'lintian has tags'
say 'lintian has no tags'
deb=$(echo "$here"/build/src/new/halite_*.deb)
depends=$(dpkg-deb -f "$deb" Depends)
say "$(($(stat -c %s "$deb") / 1000)) kB, $(dpkg-deb -f "$deb" Installed-Size) KiB installed, needs $depends"
case $depends in *librados*) fail 'halite needs librados' ;; esac

# -- installed, upgraded, purged -------------------------------------------------
bare try
quiet inside try apt-get update
mkdir -p "$here/try/debs" "$here/try/halite-tests"
cp "$top/debian/tests/server" "$here/try/halite-tests/"
for which in $olds new; do
    mkdir -p "$here/try/debs/$which"
    cp "$here/build/src/$which"/halite_*.deb "$here/try/debs/$which/"
done
# server: the installed one has the points of those before it, and gets one more.
points=0
server()
{
    points=$((points + 1))
    # In a network of its own: port 4242 may be taken here.
    apart=(unshare --net sh -c 'ip link set lo up && exec "$@"' -)
    quiet inside try /halite-tests/server
    apart=()
    say "server: $(tail -n 1 "$here/out")"
    grep -q "ok: $points points" "$here/out" || fail 'the data of the package before is lost'
}
for which in $olds new; do
    quiet inside try sh -c "apt-get install -y --no-install-recommends /debs/$which/halite_*.deb"
    say "package $which installed"
    server
done
# has FILE...: libraries that the program loads at first use.
has()
{
    for library; do
        inside try ldconfig -p | grep -qF "$library (" || fail "$library is not installed"
    done
}
has libcurl-gnutls.so.4 libcairo.so.2

# A settings file that was changed stays, and so does the data.
echo '# changed' >>"$here/try/etc/halite/halite.conf"
settings_stay()
{
    grep -q '# changed' "$here/try/etc/halite/halite.conf" || fail 'halite.conf was written over'
    test -L "$here/try/etc/systemd/system/multi-user.target.wants/halite.service" || fail 'the service is not enabled'
}
quiet inside try sh -c 'apt-get install -y --reinstall /debs/new/halite_*.deb'
settings_stay
server

# A store in a pool needs a library that the package only suggests, and says so.
in_pool()
{
    inside try halite tsd --store=rados:nosuch >"$here/out" 2>&1 || grep -q "$1" "$here/out" ||
        { cat "$here/out"; fail "a pool: no $1"; }
}
in_pool librados2
quiet inside try apt-get install -y --no-install-recommends librados2
has librados.so.2
in_pool rados:nosuch

files()
{
    find "$here/try/var/lib/halite" -type f 2>/dev/null | wc -l
}
quiet inside try apt-get remove -y halite
test "$(files)" -gt 3 || fail 'remove deleted the data'
quiet inside try apt-get purge -y halite
test "$(files)" -gt 3 || fail 'a purge that cannot ask deleted the data'
test ! -e "$here/try/etc/halite/halite.conf" || fail 'purge left halite.conf'
# Asked, on a terminal: no, then yes.
for answer in no yes; do
    quiet inside try sh -c 'apt-get install -y /debs/new/halite_*.deb'
    printf '%s\n' "$answer" | inside try env DEBIAN_FRONTEND=readline TERM=dumb \
        script -qec 'dpkg --purge halite' /dev/null >"$here/out" 2>&1 || { cat "$here/out"; fail "purge, $answer"; }
    grep -q 'Delete the stored metrics' "$here/out" || { cat "$here/out"; fail 'purge did not ask'; }
    case $answer in
    no) test "$(files)" -gt 3 || fail 'purge deleted the data though the answer was no' ;;
    yes) test ! -e "$here/try/var/lib/halite" || fail 'purge kept the data though the answer was yes' ;;
    esac
done
say "purge asked, and obeyed"
# What was answered beforehand needs no terminal.
quiet inside try sh -c "echo 'halite halite/purge-data boolean true' | debconf-set-selections
    apt-get install -y /debs/new/halite_*.deb && mkdir -p /var/lib/halite/x"
quiet inside try apt-get purge -y halite
echo "$suite: ok, in $(($(date +%s) - began)) s"
for name in build try; do
    umount -R "$here/$name/dev" "$here/$name/sys" "$here/$name/proc"
    rm -rf --one-file-system "${here:?}/$name"
done

#!/bin/sh
# What is written twice is the same: packages to build with (scripts/setup and
# debian/control), the version (configure.ac, debian/changelog, CHANGELOG.md).
cd "${srcdir:-.}" || exit 99
. scripts/setup
bad=0
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
lines()
{
    tr -s ' \n' '\n' | grep . | sort -u
}

# debhelper has the autotools, build-essential the compiler.
echo "$BUILD_PACKAGES" | lines | grep -vx 'gcc\|libc6-dev\|make\|autoconf\|automake' >"$tmp/setup"
# Names of Build-Depends, without versions; packages for tests alone apart.
sed -n '/^Build-Depends:/,/^[A-Z]/s/^ \(.*\),$/\1/p' debian/control >"$tmp/depends"
grep -v '<!nocheck>' "$tmp/depends" | sed 's/ .*//' | sort -u |
    grep -vx 'debhelper-compat\|dh-sequence-installsysusers\|po-debconf\|scdoc' >"$tmp/control"
diff "$tmp/setup" "$tmp/control" || {
    echo "scripts/setup (<) and debian/control (>) build with different packages"
    bad=1
}
echo "$TEST_PACKAGES" | lines >"$tmp/setup"
sed -n 's/ <!nocheck>//p' "$tmp/depends" | sort -u | diff "$tmp/setup" - || {
    echo "scripts/setup (<) and debian/control (>) test with different packages"
    bad=1
}

version=$(sed -n 's/^AC_INIT(\[halite\], \[\([^]]*\)\].*/\1/p' configure.ac)
test -n "$version" || exit 99
for told in "debian/changelog $(sed -n '1s/^halite (\([^)]*\)).*/\1/p' debian/changelog)" \
    "CHANGELOG.md $(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)"; do
    test "${told#* }" = "$version" || {
        echo "configure.ac says version $version, ${told%% *}: ${told#* }"
        bad=1
    }
done
exit $bad

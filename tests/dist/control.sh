#!/bin/sh
# What is written twice is the same: packages to build with (scripts/setup and
# debian/control), the version (configure.ac, debian/changelog, CHANGELOG.md).  Pages of
# folders are in the tarball.
. "${srcdir:-.}/tests/harness.sh"
cd "$top" || exit 99
. scripts/setup
lines()
{
    tr -s ' \n' '\n' | grep . | sort -u
}

# debhelper has the autotools, build-essential the compiler.
echo "$BUILD_PACKAGES" | lines | grep -vx 'gcc\|libc6-dev\|make\|autoconf\|automake' >"$work/setup"
# Names of Build-Depends, without versions; packages for tests alone apart.
sed -n '/^Build-Depends:/,/^[A-Z]/s/^ \(.*\),$/\1/p' debian/control >"$work/depends"
grep -v '<!nocheck>' "$work/depends" | sed 's/ .*//' | sort -u |
    grep -vx 'debhelper-compat\|dh-sequence-installsysusers\|po-debconf\|scdoc' >"$work/control"
diff "$work/setup" "$work/control" || {
    echo "scripts/setup (<) and debian/control (>) build with different packages"
    bad=1
}
echo "$TEST_PACKAGES" | lines >"$work/setup"
sed -n 's/ <!nocheck>//p' "$work/depends" | sort -u | diff "$work/setup" - || {
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

# Each script of a package says what runs it: a link that became a file, with the name that it
# led to, does not.
scripts=$(find debian -name '*.postinst' -o -name '*.postrm' -o -name '*.preinst' -o -name '*.prerm')
test -n "$scripts" || exit 99
for script in $scripts; do
    head -n 1 "$script" | grep -q '^#!/bin/sh' && test -x "$script" || {
        echo "$script: no script"
        bad=1
    }
done

exit $bad

#!/bin/bash
# Each command has a man page, a page and --help tell the same options, halite.conf(5) holds
# each setting, and mandoc finds nothing but what scdoc always does.  Run in the build folder.
pages=$PWD/man
. "${srcdir:-.}/tests/harness.sh"
test -f "$pages/halite.1" || pages=$top/man
test -f "$pages/halite.1" || { echo 'no man pages: scdoc is missing'; exit 77; }
commands=$("$halite" help | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p')
listed=
for command in $commands; do
    page=$pages/halite-$command.1
    test -s "$page" || { complain "halite-$command(1) is missing: see man/README.md"; continue; }
    listed="$listed $page"
    "$halite" "$command" --help >"halite-$command.help" 2>&1 </dev/null
done
# shellcheck disable=SC2086
set -- $listed
test $# -gt 5 || complain 'halite help lists too little'
# Pages without what makes text bold: COMMAND OPTION, for those at the begin of a line.
plain='{ gsub(/\\f[BIRP]|\\&/, ""); gsub(/\\-/, "-") }'
told()
{
    awk "$plain"' match($0, /^ *--?[a-z][a-z-]*/) {
        command = FILENAME
        sub(/.*halite-/, "", command)
        sub(/\..*/, "", command)
        print "halite", command, substr($0, RSTART, RLENGTH)
    }' "$@" | tr -s ' ' | sort -u
}
told "$@" >of.pages
# fsck is another command as tsdb, whose options its page has, too.
ln -s "$halite" tsdb
./tsdb fsck --help >>halite-fsck.help
told ./*.help >of.help
diff of.help of.pages >differ || complain "--help (<) and the pages (>) differ: $(cat differ)"
main=$(awk "$plain 1" "$pages/halite.1")
for command in $commands; do
    case $main in *"halite-$command(1)"*) ;; *) complain "halite(1) does not list $command" ;; esac
done
grep -L '^.SH EXIT STATUS' "$@" >silent
test ! -s silent || complain "no exit status is told: $(cat silent)"
# Where pages say that documents are, "make install" puts them.
cat "$pages"/*.[15] | awk "$plain 1" | grep -o '/usr/share/doc/halite[a-z/]*' | sort -u >places
test "$(cat places)" = /usr/share/doc/halite/docs || complain "documents are in: $(cat places)"
"$halite" tsd --help-settings | sed -n 's/^ *\(\(halite\|tsd\)\.[a-z_.A-Z]*\).*/\1/p' >settings
test "$(wc -l <settings)" -gt 80 || complain '--help-settings tells too little'
conf=$(awk "$plain 1" "$pages/halite.conf.5")
while read -r name; do
    case $conf in *"$name"*) ;; *) complain "halite.conf(5) does not have $name" ;; esac
done <settings
grep -q "$("$halite" --version)" "$pages/halite.1" || complain 'halite(1) is of another version'
# man(1) does not ask for tbl where scdoc does not.
grep -l '^\.TS' "$pages"/*.[15] >tables && complain "pages with tables: $(cat tables)"

command -v mandoc >/dev/null || { echo 'mandoc is missing: not linted'; exit $bad; }
# shellcheck disable=SC2046
mandoc -T lint $(ls "$pages"/*.[15] | grep -v '/tsdb\.1$') | grep -v 'skipping paragraph macro: PP \(empty\|after SH\)\|lower case character in document title: TH' >lint
test ! -s lint || complain "mandoc: $(cat lint)"
exit $bad

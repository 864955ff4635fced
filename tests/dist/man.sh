#!/bin/bash
# Each command has a man page, a page and --help tell the same options, halite.conf(5) holds
# each setting, and mandoc finds nothing but what scdoc always does.  Run in the build folder.
pages=$PWD/man
. "${srcdir:-.}/tests/harness.sh"
test -f "$pages/halite.1" || pages=$top/man
test -f "$pages/halite.1" || { echo 'no man pages: scdoc is missing'; exit 77; }
# Options at the begin of a line, as the reader sees them.
told()
{
    grep -oE '^ *--?[a-z][a-z-]*' | tr -d ' ' | sort -u
}
plain() # PAGE: without what makes it bold
{
    sed 's/\\f[BIRP]//g; s/\\&//g; s/\\-/-/g' "$1"
}
commands=$("$halite" help | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p')
test "$(echo "$commands" | wc -l)" -gt 5 || complain 'halite help lists too little'
for command in $commands; do
    page=$pages/halite-$command.1
    test -s "$page" || { complain "halite-$command(1) is missing: see man/README.md"; continue; }
    plain "$page" | told >page
    "$halite" "$command" --help 2>&1 </dev/null | told >help
    diff help page || complain "halite $command --help (<) and its page (>) differ"
    plain "$pages/halite.1" | grep -qF "halite-$command(1)" || complain "halite(1) does not list $command"
    grep -q '^.SH EXIT STATUS' "$page" || complain "halite-$command(1) does not tell the exit status"
done
plain "$pages/halite.conf.5" >conf
"$halite" tsd --help-settings | grep -oE '^ *(halite|tsd)\.[a-z_.A-Z]*' | tr -d ' ' >settings
test "$(wc -l <settings)" -gt 80 || complain '--help-settings tells too little'
conf=$(cat conf)
while read -r name; do
    case $conf in *"$name"*) ;; *) complain "halite.conf(5) does not have $name" ;; esac
done <settings
grep -q "$("$halite" --version)" "$pages/halite.1" || complain 'halite(1) is of another version'
# man(1) does not ask for tbl where scdoc does not.
grep -l '^\.TS' "$pages"/*.[15] >tables && complain "pages with tables: $(cat tables)"

command -v mandoc >/dev/null || { echo 'mandoc is missing: not linted'; exit $bad; }
for page in "$pages"/*.[15]; do
    case $page in */tsdb.1) continue ;; esac
    mandoc -T lint "$page"
done | grep -v 'skipping paragraph macro: PP \(empty\|after SH\)\|lower case character in document title: TH' >lint
test ! -s lint || complain "mandoc: $(cat lint)"
exit $bad

#!/bin/sh
# docs/SETTINGS.md holds the table of the program, as it is.
halite=${halite:-./halite}
"$halite" tsd --help-markdown >settings.$$.tmp || exit 1
grep '^[|-] `' "${srcdir:-.}/docs/SETTINGS.md" | diff - settings.$$.tmp
rc=$?
rm -f settings.$$.tmp

# A wrong value ends the start with status 2 and the name of its setting.
while read -r name value; do
    said=$("$halite" tsd --memory --port=0 --bind=127.0.0.1 "$name=$value" 2>&1)
    status=$?
    case $status,$said in
    2,*"$name"*) ;;
    *)
        echo "$name=$value: status $status, $said"
        rc=1
        ;;
    esac
done <<END
halite.no_such_setting 1
halite.query.bytes much
halite.store.row_hours 5
halite.sync sometimes
halite.tls.cert alone.pem
tsd.core.histograms.config {
tsd.core.timezone Atlantis
tsd.http.request.cors_domains *,x
tsd.storage.salt.width 9
END
exit $rc

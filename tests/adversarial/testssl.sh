#!/bin/sh
# testssl.sh HALITE: asks Debian's testssl.sh (package testssl.sh) what it thinks of our
# TLS port.  It fails when anything is found that is worse than a certificate which
# no authority signed; OUT=FILE keeps all that was said, as JSON.
halite=${1:?the program}
test=$(command -v testssl || command -v testssl.sh) || {
    echo 'testssl.sh is not there: apt-get install testssl.sh' >&2
    exit 77
}
tmp=$(mktemp -d) || exit 1
server=
# shellcheck disable=SC2317
end()
{
    test -z "$server" || kill "$server"
    rm -rf "$tmp"
}
trap end EXIT
trap 'exit 1' INT TERM
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
    -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null || exit 1
"$halite" tsd --bind 127.0.0.1 --port 0 --memory halite.tls.cert="$tmp/cert.pem" \
    halite.tls.key="$tmp/key.pem" halite.tls.port=0 2>"$tmp/log" &
server=$!
port=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    port=$(sed -n 's/.*TLS on [^ ]*:\([0-9][0-9]*\)$/\1/p' "$tmp/log")
    test -z "$port" || break
    sleep 0.2
done
test -n "$port" || {
    cat "$tmp/log" >&2
    exit 1
}
"$test" --quiet --color 0 --warnings batch --ip one --add-ca "$tmp/cert.pem" \
    --jsonfile "$tmp/out.json" "127.0.0.1:$port" >"$tmp/out.txt" 2>&1
kill -0 "$server" || {
    echo 'the server is dead' >&2
    cat "$tmp/log" >&2
    exit 1
}
test -z "${OUT:-}" || cp "$tmp/out.json" "$OUT"
node "$(dirname "$0")/testssl.mjs" "$tmp/out.json"

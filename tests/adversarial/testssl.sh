#!/bin/sh
# testssl.sh HALITE: asks Debian's testssl.sh (package testssl.sh) what it thinks of our
# TLS port.  It fails when anything is found that is worse than a certificate which
# no authority signed; OUT=FILE keeps all that was said, as JSON.
halite=${1:?the program}
test=$(command -v testssl || command -v testssl.sh) || {
    echo 'testssl.sh is not there: apt-get install testssl.sh' >&2
    exit 77
}
test -z "${OUT:-}" || OUT=$(realpath "$OUT")
here=$(realpath "$(dirname "$0")")
. "$here/../harness.sh"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
    -keyout key.pem -out cert.pem 2>/dev/null || exit 1
serve --memory halite.tls.cert=cert.pem halite.tls.key=key.pem halite.tls.port=0
within 'no TLS' grep -q 'TLS on' log || exit 1
port=$(sed -n 's/.*TLS on [^ ]*:\([0-9][0-9]*\)$/\1/p' log)
"$test" --quiet --color 0 --warnings batch --ip one --add-ca cert.pem \
    --jsonfile out.json "127.0.0.1:$port" >out.txt 2>&1
kill -0 "$server" || {
    echo 'the server is dead' >&2
    cat log >&2
    exit 1
}
test -z "${OUT:-}" || cp out.json "$OUT"
node "$here/testssl.mjs" out.json

#!/bin/bash
# image.sh [FILE]: makes the container image (unless FILE is one), checks its blobs, unpacks
# its layer and starts what it says, as the user that it names: put, query, stop.  As root; no
# container engine is needed.
cd "$(dirname "$0")/../.." || exit 99
test "$(id -u)" = 0 || { echo 'needs root'; exit 77; }
tmp=$(mktemp -d) || exit 99
trap 'test -z "$server" || kill "$server" 2>/dev/null; rm -rf --one-file-system "$tmp"' EXIT
trap 'exit 99' HUP INT TERM
server=
fail()
{
    echo "$*"
    exit 1
}
file=${1:-}
if [ -z "$file" ]; then
    file=$tmp/image.tar
    scripts/image "$file" || fail 'no image'
fi
mkdir "$tmp/oci" "$tmp/root"
tar -xf "$file" -C "$tmp/oci"
for blob in "$tmp"/oci/blobs/sha256/*; do
    test "$(sha256sum <"$blob" | cut -d' ' -f1)" = "$(basename "$blob")" || fail "$blob is not what its name says"
done
cat >"$tmp/read.mjs" <<'END'
import { readFileSync } from 'node:fs'
const [dir] = process.argv.slice(2)
const json = name => JSON.parse(readFileSync(name))
const blob = d => `${dir}/blobs/sha256/${d.digest.slice(7)}`
const manifest = json(blob(json(`${dir}/index.json`).manifests[0]))
const { config } = json(blob(manifest.config))
console.log(blob(manifest.layers[0]))
console.log(config.User)
console.log([...config.Entrypoint, ...config.Cmd].join(' '))
END
{ read -r layer && read -r user && read -r command; } < <(node "$tmp/read.mjs" "$tmp/oci")
test -n "$command" || fail 'the image does not say what to start'
gzip -dc "$layer" | tar -xf - -C "$tmp/root" || fail 'the layer cannot be unpacked'
test "$(stat -c %u:%g "$tmp/root/var/lib/halite")" = "$user" || fail "the data folder is not $user's"
test ! -e "$tmp/root/bin/sh" || fail 'there is a shell in the image'

# What every container engine gives.
mkdir "$tmp/root/dev"
cp -a /dev/null /dev/urandom "$tmp/root/dev/"
# shellcheck disable=SC2086
chroot --userspec="$user" "$tmp/root" $command --port=0 2>"$tmp/log" &
server=$!
for _ in $(seq 600); do
    port=$(sed -n 's/.*listening on 0.0.0.0:\([0-9]*\)$/\1/p' "$tmp/log")
    test -n "$port" && break
    kill -0 $server 2>/dev/null || fail "no server: $(cat "$tmp/log")"
    sleep 0.1
done
ask() # METHOD PATH [BODY]
{
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf '%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %s\r\n\r\n%s' \
        "$1" "$2" "${#3}" "${3-}" >&3
    cat <&3
    exec 3>&-
}
ask POST /api/put '{"metric":"image.test","timestamp":1767225600,"value":7,"tags":{"host":"a"}}' |
    grep -q '^HTTP/1.1 204' || fail 'a point was rejected'
ask GET '/api/query?start=2026/01/01-01:00:00&end=2026/01/01-02:00:00&tz=Europe/Berlin&m=sum:image.test' |
    grep -q '"1767225600":7' || fail 'the point is not there (time zones?)'
ask GET '/q?start=2026/01/01&end=2026/01/02&m=sum:image.test&png' | head -c 4096 | grep -qa PNG ||
    fail 'no picture'
chroot --userspec="$user" "$tmp/root" /usr/bin/halite uid --server "127.0.0.1:$port" grep image.test |
    grep -q 'image.test' || fail 'a command does not reach the server'
kill $server
wait $server || fail "the server ended badly: $(tail -n 3 "$tmp/log")"
server=
ls "$tmp/root/var/lib/halite/FORMAT" >/dev/null || fail 'nothing was stored'
echo 'ok'

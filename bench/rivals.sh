#!/bin/sh
# Gets what the bench compares with and Debian's release does not have, into a folder
# beside the build, nothing of it installed: VictoriaMetrics from Debian unstable, by
# the mirror and the keys that this machine's apt already has, and DuckDB from npm.
#
#     bench/rivals.sh build/bench-rivals
#
# What the folder has already is kept: remove it to get newer ones.
cd "$(dirname "$0")/.." || exit 1
. scripts/setup
dir=${1:?usage: bench/rivals.sh FOLDER}
mkdir -p "$dir" || exit 1
dir=$(cd "$dir" && pwd)

# The mirror that Debian's own packages come from.
mirror()
{
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(LABEL) $(COMPONENT) $(REPO_URI)' \
        'Created-By: Packages' | sed -n 's/^Debian main //p' | head -n 1
}

get_victoria()
{
    test ! -x "$dir/usr/bin/victoria-metrics" || return 0
    mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial"
    uri=$(mirror)
    test -n "$uri" || die "apt knows no mirror of Debian: try apt-get update"
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$key] $uri sid main" >"$dir/apt/sources.list"
    set -- -qq -o Dir::Etc::SourceList="$dir/apt/sources.list" \
        -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$dir/apt/lists" \
        -o Dir::Cache="$dir/apt/cache" -o APT::Sandbox::User=
    say "looking for VictoriaMetrics in Debian unstable"
    (cd "$dir/apt" && apt-get "$@" update &&
        apt-get "$@" download victoria-metrics) ||
        die "could not get victoria-metrics"
    dpkg -x "$dir"/apt/victoria-metrics_*.deb "$dir" &&
        dpkg-deb -f "$dir"/apt/victoria-metrics_*.deb Version \
            >"$dir/victoria-metrics.version"
    rm -rf "$dir/apt"
}

get_duckdb()
{
    test ! -d "$dir/node_modules/@duckdb/node-api" || return 0
    say "installing DuckDB from npm"
    npm install --silent --no-audit --no-fund --prefix "$dir" \
        @duckdb/node-api || die "could not get @duckdb/node-api"
}

need nodejs
get_victoria
get_duckdb

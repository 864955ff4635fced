#!/bin/sh
# cluster.sh start|stop|kill N|revive N|osd-kill N|osd-pause N|osd-resume N|status
#
# A small cluster of Ceph on this machine, without systemd and without passwords: nodes
# 0 to 2, each a ceph-mon and a ceph-osd, and a pool "tsdb" with three replicas.
#
#     start           makes it; prints the path of its ceph.conf
#     stop            ends its processes and removes its folder
#     kill N          ends a node at once;  revive N starts what of it does not run
#     osd-kill N      its OSD alone;  osd-pause N, osd-resume N: stops it, lets it go on
#
# CLUSTER_DIR, its folder: a new cluster needs one that is not there yet.  CLUSTER_PORT,
# the first of 100 ports.  CLUSTER_STORE, memstore (in memory) or bluestore (files).
# CLUSTER_AUTH, none or cephx (users with keys; the administrator's are in its folder).
dir=${CLUSTER_DIR:-${TMPDIR:-/tmp}/halite-cluster}
port=${CLUSTER_PORT:-17600}
store=${CLUSTER_STORE:-memstore}
auth=${CLUSTER_AUTH:-none}
conf=$dir/ceph.conf
nodes='0 1 2'

die()
{
    echo "cluster.sh: $*" >&2
    test ! -f "$dir/log/commands" || tail -n 20 "$dir/log/commands" >&2
    exit 1
}

# Runs a command whose output is of interest only if it fails.
quietly()
{
    "$@" >>"$dir/log/commands" 2>&1 || die "failed: $*"
}

ceph()
{
    timeout 60 env ceph -c "$conf" --connect-timeout 30 "$@"
}

monitor_of()
{
    echo "[v2:127.0.0.1:$((port + $1))]"
}

write_conf()
{
    cat >"$conf" <<EOF
[global]
    fsid = $fsid
    mon host = $(monitor_of 0),$(monitor_of 1),$(monitor_of 2)
    mon initial members = 0,1,2
    public addr = 127.0.0.1
    cluster addr = 127.0.0.1
    ms bind msgr1 = false
    ms bind ipv6 = false
    ms bind port min = $((port + 10))
    ms bind port max = $((port + 99))
    auth cluster required = $auth
    auth service required = $auth
    auth client required = $auth
    keyring = $dir/keyring
    run dir = $dir/run
    pid file = $dir/run/\$name.pid
    admin socket = $dir/run/\$name.asok
    log file = $dir/log/\$name
    crash dir = $dir/crash
    mon data = $dir/mon.\$id
    osd data = $dir/osd.\$id
    osd objectstore = $store
    memstore device bytes = 1073741824
    bluestore block size = 4294967296
    osd memory target = 939524096
    osd crush update on start = false
    osd class load list = *
    osd class default list = *
    osd op num shards = 2
    osd op num threads per shard = 1
    osd pool default size = 3
    osd pool default min size = 2
    osd pool default pg num = 32
    osd pool default pg autoscale mode = off
    mon warn on insecure global id reclaim allowed = false
    mon data avail warn = 1
    mon data avail crit = 1
    # A node that is gone is noticed within seconds.
    mon lease = 2
    mon election timeout = 2
    mon osd adjust heartbeat grace = false
    mon osd min down reporters = 1
    osd heartbeat interval = 1
    osd heartbeat grace = 4
    osd fast fail on connection refused = true
    debug ms = 0
    debug mon = 1
    debug osd = 1
    debug bluestore = 1
    debug rocksdb = 1
[client]
    log file = /dev/null
    admin socket =
    pid file =
EOF
}

runs()
{
    test -s "$dir/run/$1.pid" && kill -0 "$(cat "$dir/run/$1.pid")" 2>/dev/null
}

# run mon|osd N: unless it runs.
run()
{
    runs "$1.$2" || quietly "ceph-$1" -i "$2" -c "$conf" --setuser "$(id -un)" --setgroup "$(id -gn)"
}

# signal SIGNAL NAME, to a process of this cluster.
signal()
{
    test ! -s "$dir/run/$2.pid" || kill "-$1" "$(cat "$dir/run/$2.pid")" 2>/dev/null
}

# end NAME: it has time to end by itself.
end()
{
    signal CONT "$1"
    signal TERM "$1"
    i=0
    while runs "$1" && test $i -lt 100; do
        sleep 0.1
        i=$((i + 1))
    done
    signal KILL "$1"
    rm -f "$dir/run/$1.pid"
}

# The monitors' key and the administrator's.
make_keys()
{
    quietly ceph-authtool --create-keyring "$dir/keyring" --gen-key -n mon. --cap mon 'allow *'
    quietly ceph-authtool "$dir/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *'
}

make_monitors()
{
    set --
    for n in $nodes; do
        set -- "$@" --addv "$n" "$(monitor_of "$n")"
    done
    quietly monmaptool --create --fsid "$fsid" --enable-all-features "$@" "$dir/monmap"
    for n in $nodes; do
        mkdir "$dir/mon.$n"
        quietly ceph-mon --mkfs -i "$n" -c "$conf" --monmap "$dir/monmap" --keyring "$dir/keyring"
    done
    for n in $nodes; do
        run mon "$n"
    done
    quietly ceph quorum_status
}

make_osds()
{
    for n in $nodes; do
        uuid=$(cat /proc/sys/kernel/random/uuid)
        mkdir "$dir/osd.$n"
        test "$(ceph osd new "$uuid")" = "$n" || die "the OSD is not number $n"
        quietly ceph osd crush add "osd.$n" 1.0 "host=node$n" root=default
        ceph auth get-or-create "osd.$n" mon 'allow profile osd' osd 'allow *' >>"$dir/keyring"
        quietly ceph-osd --mkfs -i "$n" -c "$conf" --osd-uuid "$uuid" \
            --setuser "$(id -un)" --setgroup "$(id -gn)"
    done
    for n in $nodes; do
        run osd "$n"
    done
    # "ceph version 16.2.15 (...) pacific (stable)"
    quietly ceph osd require-osd-release "$(command ceph --version | awk '{ print $(NF - 1) }')"
}

# It is there when a write was acknowledged.
make_pool()
{
    quietly ceph osd pool create tsdb 32 32 replicated
    quietly ceph osd pool application enable tsdb tsdb
    i=0
    until echo ready | timeout 20 rados -c "$conf" -p tsdb put ready - 2>/dev/null; do
        i=$((i + 1))
        test $i -lt 60 || die 'no write is acknowledged'
        sleep 0.5
    done
    quietly timeout 20 rados -c "$conf" -p tsdb rm ready
}

case $1 in
start)
    for program in ceph-mon ceph-osd monmaptool ceph rados; do
        command -v "$program" >/dev/null || die "no $program: install ceph-mon, ceph-osd, ceph-common"
    done
    mkdir "$dir" || die "$dir is there: stop it first"
    mkdir "$dir/run" "$dir/log" "$dir/crash"
    fsid=$(cat /proc/sys/kernel/random/uuid)
    write_conf
    make_keys
    make_monitors
    make_osds
    make_pool
    echo "$conf"
    ;;
stop)
    for n in $nodes; do
        end "osd.$n"
    done
    for n in $nodes; do
        end "mon.$n"
    done
    test ! -f "$conf" || rm -rf "$dir"
    ;;
kill)
    signal KILL "osd.$2"
    signal KILL "mon.$2"
    ;;
revive)
    run mon "$2"
    run osd "$2"
    ;;
osd-kill) signal KILL "osd.$2" ;;
osd-pause) signal STOP "osd.$2" ;;
osd-resume) signal CONT "osd.$2" ;;
status) ceph -s ;;
*) die 'usage: cluster.sh start|stop|kill N|revive N|osd-kill N|osd-pause N|osd-resume N|status' ;;
esac

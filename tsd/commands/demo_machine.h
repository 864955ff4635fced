/* What the machine tells of itself in /proc, as points with tcollector's names:
 *
 *     proc.loadavg.1m, .5m, .15m, .runnable, .total_threads    load
 *     proc.stat.cpu.percpu {cpu, type}     CPU time, hundredths of a second
 *     proc.stat.ctxt, .processes, .procs_running, .procs_blocked
 *     proc.meminfo.memtotal, ..            bytes
 *     proc.net.bytes, .packets, .errs, .dropped {iface, direction}
 *     iostat.disk.read_requests, .. {dev}
 *     df.bytes.total, .used, .free; df.inodes.* {mount, fstype}
 *     proc.uptime.total                    seconds
 *     proc.processes.count
 *
 * What only grows is stored as it is: ask for its rate.  A file that is absent,
 * as in a container, or malformed adds nothing.
 *
 * Threads: any; these are functions of their arguments.
 * Bounds:  a file, 4 MB; 64 disks, interfaces and mounts each; 512 CPUs. */
#pragma once

#include "base/buf.h"

struct demo_sample {
    struct buf *out; /* gets objects of /api/put, each ending in ",\n" */
    int64_t now_s;
    const char *host; /* a tag's value: demo_tag_value() */
    size_t points;
};

/* All of 'proc' ("/proc"), and of the file systems that are mounted. */
void demo_read_machine(const char *proc, struct demo_sample *s);

/* One file of it, by its name below /proc; false: none is known by that name.
 */
bool demo_read_file(const char *name, struct slice text, struct demo_sample *s);

/* Puts an underscore where a tag's value may not have the character, and for
 * the empty text. */
void demo_tag_value(struct slice text, char *out, size_t size);

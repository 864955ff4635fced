// A clock that a test sets, for the servers that it starts: by libfaketime (package faketime).
import fs from 'node:fs';

const library = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib']
    .map((d) => `${d}/faketime/libfaketimeMT.so.1`).find((f) => fs.existsSync(f));

// Gone, or ours, which ends with us: it may be dying, or was not waited for.
function ends(pid) {
    try {
        return Number(/\) \S (\d+)/.exec(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))[1]) === process.pid;
    } catch { return true; }
}

// A killed process leaves what it had in shared memory.
function forget() {
    for (const name of fs.readdirSync('/dev/shm')) {
        const pid = /^(?:faketime_shm|sem\.faketime_sem)_(\d+)$/.exec(name)?.[1];
        if (pid && ends(pid)) fs.rmSync(`/dev/shm/${name}`, { force: true });
    }
}

// The environment of servers whose clock 'file' is: '+60' in it is a minute ahead; null without the
// library.
export function fakeClock(file) {
    if (library === undefined) return null;
    process.on('exit', forget);
    return { LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1',
        DONT_FAKE_MONOTONIC: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}

// A cluster of Ceph of this program's own, which it may harm: three monitors, three OSDs.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { execute } from './rig.mjs';

// A port whose neighbours are free most likely: they lie below those that the kernel gives.
function freePort() {
    return new Promise((resolve) => {
        const s = net.createServer().on('error', () => resolve(freePort()));
        s.listen(12000 + 100 * Math.floor(Math.random() * 190), '127.0.0.1', () => { const { port } = s.address(); s.close(() => resolve(port)); });
    });
}

export class Ceph {
    // 'env': what cluster.sh is told beside its folder and ports.
    static async start(env = {}) {
        const c = new Ceph();
        c.script = path.join(import.meta.dirname, 'cluster.sh');
        c.dir = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'halite-ceph-')), 'lab');
        c.env = { ...process.env, ...env, CLUSTER_DIR: c.dir, CLUSTER_PORT: String(await freePort()) };
        c.conf = path.join(c.dir, 'ceph.conf');
        process.on('exit', () => {
            spawnSync(c.script, ['stop'], { env: c.env, stdio: 'ignore' });
            fs.rmSync(path.dirname(c.dir), { recursive: true, force: true });
        });
        await c.run('start');
        return c;
    }
    run(...words) { return execute(this.script, words, { env: this.env, timeout: 240000 }); }
    ceph(...words) { return execute('ceph', ['-c', this.conf, '--connect-timeout', '20', ...words], { timeout: 60000 }); }
    pid(what) {
        try { return Number(fs.readFileSync(path.join(this.dir, 'run', `${what}.pid`), 'utf8')); } catch { return 0; }
    }
    killOsd(i) { return this.run('osd-kill', String(i)); }
    killNode(i) { return this.run('kill', String(i)); }
    killMon(i) { process.kill(this.pid(`mon.${i}`), 'SIGKILL'); }
    revive(i) { return this.run('revive', String(i)); }
    pauseOsd(i) { return this.run('osd-pause', String(i)); }
    wakeOsd(i) { return this.run('osd-resume', String(i)); }
    // CPU seconds of all OSDs.
    get cpu() {
        return [0, 1, 2].reduce((n, i) => {
            const f = fs.readFileSync(`/proc/${this.pid(`osd.${i}`)}/stat`, 'utf8').split(') ')[1].split(' ');
            return n + (Number(f[11]) + Number(f[12])) / 100;
        }, 0);
    }
}

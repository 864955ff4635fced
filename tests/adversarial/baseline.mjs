// baseline.mjs: a client that wants no harm.  Of each server it is told of it asks a query,
// puts a point over HTTP, and puts one by telnet and asks for the version, in turn, on
// connections that stay open.  Asked to look, it tells its parent the latencies, in ms.
import net from 'node:net';

const T0 = 1735689600;
const REST_MS = 3;
const SETTLED = 6; // exchanges, before which nothing is measured
let ports = [], measured = [], failed = [];

function connect(port) {
    const c = { port, text: '' };
    c.socket = net.connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    c.socket.setNoDelay(true);
    c.socket.on('data', (d) => { c.text += d.toString('latin1'); c.wake?.(); });
    c.socket.on('error', () => {});
    c.socket.on('close', () => { c.closed = true; c.wake?.(); });
    return c;
}
async function exchange(c, bytes, isWhole) {
    c.text = '';
    c.socket.write(bytes);
    while (!isWhole(c.text) && !c.closed) await new Promise((r) => { c.wake = r; });
    if (c.closed) throw new Error(`closed after: ${c.text.slice(0, 200)}`);
}
function isReply(text) {
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) return false;
    return text.length >= end + 4 + Number(/content-length: *(\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
}
const body = (i) => JSON.stringify({ metric: 'baseline', timestamp: T0 + i % 3600, value: i, tags: { host: 'a' } });
const query = `GET /api/query?start=${T0 - 1}&end=${T0 + 60}&m=sum:baseline HTTP/1.1\r\nHost: x\r\n\r\n`;

// Until other servers are watched.
async function life(which, mine, settled) {
    const port = mine[which];
    let http = connect(port), telnet = connect(port);
    for (let i = 0; ports === mine; i++) {
        if (i === SETTLED) settled();
        const kind = i % 3;
        const start = process.hrtime.bigint();
        try {
            if (kind === 0)
                await exchange(http, `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: ${body(i).length}\r\n\r\n${body(i)}`, isReply);
            else if (kind === 1) await exchange(telnet, `put baseline ${T0 + i % 3600} ${i} host=b\nversion\n`, (t) => /built[^\n]*\n/i.test(t) || /\n[^\n]*\n/.test(t));
            else await exchange(http, query, isReply);
            if (ports !== mine) break;
            if (kind !== 1 && !/^HTTP\/1.1 20/.test(http.text)) throw new Error(http.text.slice(0, 300));
        } catch (e) {
            if (ports !== mine) break;
            failed[which]++;
            process.env.BASELINE_DEBUG && console.error(`baseline ${which}: ${e.message}`);
            http.socket.destroy(); telnet.socket.destroy();
            http = connect(port); telnet = connect(port);
            await new Promise((r) => setTimeout(r, 50));
        }
        if (ports !== mine) break;
        measured[which].push(Number(process.hrtime.bigint() - start) / 1e6);
        await new Promise((r) => setTimeout(r, REST_MS));
    }
    http.socket.destroy();
    telnet.socket.destroy();
}
const at = (a, q) => a.length === 0 ? 0 : a[Math.min(a.length - 1, Math.floor(a.length * q))];
function forget() {
    measured = ports.map(() => []);
    failed = ports.map(() => 0);
}
process.on('message', async (m) => {
    if (m === 'look') {
        process.send(measured.map((a, i) => {
            a.sort((x, y) => x - y);
            return { p50: at(a, 0.5), p99: at(a, 0.99), worst: at(a, 1), len: a.length, failed: failed[i] };
        }));
    } else {
        const mine = ports = m.ports;
        forget();
        await Promise.all(mine.map((_, i) => new Promise((r) => life(i, mine, r))));
        process.send('settled');
    }
    forget();
});
process.on('disconnect', () => process.exit(0));

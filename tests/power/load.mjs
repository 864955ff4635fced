// load.mjs: a server, five writers that keep a ledger of what it acknowledged, and a look
// at all that it holds.
import { spawn } from 'node:child_process';
import http from 'node:http';
import net from 'node:net';
import { Random, seedOfRun } from '../random.mjs';

export const T0 = 1735689600, BATCH = 60;
const SERIES = 6, SPAN = 4 * 3600;

export const seed = seedOfRun();
const chances = new Random(seed);
export const random = (n) => chances.below(n);

export class Server {
    constructor(halite, settings) {
        Object.assign(this, { halite, settings, process: null, port: 0, log: '', agent: new http.Agent({ keepAlive: true }) });
        process.on('exit', () => this.process?.kill('SIGKILL'));
    }

    // Resolves to true when it listens, to false when it ended before.
    start(dir, settings = [], env = {}) {
        return new Promise((resolve) => {
            this.log = '';
            this.port = 0;
            const child = spawn(this.halite, ['tsd', '--bind', '127.0.0.1', '--port', '0', '--data', dir, ...this.settings, ...settings],
                { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } });
            this.process = child;
            this.gone = new Promise((r) => child.on('exit', (code, signal) => { this.process = null; r(code ?? signal); resolve(false); }));
            child.stderr.on('data', (d) => {
                this.log += d;
                const m = /listening on \S+:(\d+)/.exec(this.log);
                if (m && this.port === 0) { this.port = Number(m[1]); resolve(true); }
            });
        });
    }
    async stop(signal) {
        this.process?.kill(signal);
        const how = await this.gone;
        this.agent.destroy();
        this.agent = new http.Agent({ keepAlive: true });
        return how;
    }
    ask(method, where, body) {
        return new Promise((resolve, reject) => {
            const r = http.request({ host: '127.0.0.1', port: this.port, method, path: where, agent: this.agent }, (a) => {
                let text = '';
                a.setEncoding('utf8');
                a.on('data', (d) => { text += d; });
                a.on('end', () => resolve({ status: a.statusCode, text }));
                a.on('error', reject);
            });
            r.on('error', reject);
            r.end(body === undefined ? undefined : JSON.stringify(body));
        });
    }
}

let counter = 0;

// Writes until 'on' is false, or the server is gone.  'now' is what the ledger notes as the
// time of an acknowledgement.
export class Load {
    constructor(server, ledger, fail, now = () => 0) { Object.assign(this, { server, ledger, fail, now, on: true, mayRefuse: false, batches: 0 }); }

    // Resolves when all writers have ended.
    run() {
        const writers = [this.http(0), this.http(1), this.telnet(2), this.telnet(3), this.change()];
        return Promise.all(writers.map((w) => w.catch((e) => { if (!/ECONN|socket hang up|EPIPE|aborted/.test(`${e.code} ${e.message}`)) throw e; })));
    }

    batch(w, at) {
        const points = [];
        for (let i = 0; i < BATCH; i++) {
            const t = T0 + (i % 3 === 2 ? random(SPAN) : (at * 7 + i * 11) % SPAN), s = random(SERIES);
            const v = random(4) === 0 ? ++counter + 0.5 : ++counter;
            points.push({ metric: 'power.test', t, v, tags: { writer: `w${w}`, series: `s${s}` }, key: `w${w} s${s} ${t}` });
        }
        const id = `w${w}n${++counter}`;
        points.push({ metric: 'power.fresh', t: T0, v: counter, tags: { id }, key: `fresh ${id}` });
        return { points, versions: points.map((p) => this.ledger.send(p.key, p.v)) };
    }
    acknowledge(versions) {
        const now = this.now();
        for (const v of versions) v.acked = now;
        this.batches++;
    }
    async say(method, where, body, versions) {
        const a = await this.server.ask(method, where, body);
        if (a.status === 503 && this.mayRefuse) { this.on = false; return; }
        if (a.status !== 200 && a.status !== 204) this.fail(`${method} ${where} answered ${a.status} ${a.text.slice(0, 300)}`);
        this.acknowledge(versions);
    }
    put(points, versions) {
        return this.say('POST', '/api/put', points.map((p) => ({ metric: p.metric, timestamp: p.t, value: p.v, tags: p.tags })), versions);
    }

    async http(w) {
        for (let at = random(SPAN); this.on; at += BATCH) {
            const { points, versions } = this.batch(w, at);
            await this.put(points, versions);
        }
    }
    async telnet(w) {
        const socket = net.connect(this.server.port, '127.0.0.1');
        let answered = null, closed = false;
        socket.on('error', () => {});
        socket.on('close', () => { closed = true; answered?.(false); });
        socket.on('data', (d) => { if (/put:/.test(d) && !this.mayRefuse) this.fail(`telnet said ${d}`); if (/Built on/.test(d)) answered(true); });
        for (let at = random(SPAN); this.on && !closed; at += BATCH) {
            const { points, versions } = this.batch(w, at), answer = new Promise((r) => { answered = r; });
            const tags = (p) => Object.entries(p.tags).map(([k, v]) => `${k}=${v}`).join(' ');
            socket.write(points.map((p) => `put ${p.metric} ${p.t} ${p.v} ${tags(p)}\n`).join('') + 'version\n');
            if (await answer) this.acknowledge(versions);
        }
        socket.destroy();
    }
    // Puts a few points, deletes some of them, and writes a note and a rollup.
    async change() {
        for (; this.on; counter++) {
            const t = T0 + random(SPAN / 100) * 100, points = [];
            for (let i = 0; i < 20; i++) points.push({ metric: 'power.gone', t: t + i, v: ++counter, tags: { a: 'b' }, key: `gone ${t + i}` });
            await this.put(points, points.map((p) => this.ledger.send(p.key, p.v)));
            await this.say('DELETE', `/api/query?start=${t + 5}&end=${t + 14}&m=none:power.gone`, undefined,
                points.slice(5, 15).map((p) => this.ledger.send(p.key, undefined)));
            const note = T0 + ++counter;
            await this.say('POST', '/api/annotation', { startTime: note, description: `n${counter}` }, [this.ledger.send(`note ${note}`, `n${counter}`)]);
            const hour = T0 + random(100) * 3600, sum = ['sum', 'max', 'count'][random(3)];
            await this.say('POST', '/api/rollup', { metric: 'power.rolled', timestamp: hour, value: ++counter, tags: { a: 'b' }, interval: '1h', aggregator: sum },
                [this.ledger.send(`rolled ${sum} ${hour}`, counter)]);
        }
    }
}

// A map of all keys that the server holds.
export async function look(server, fail) {
    const seen = new Map();
    const see = (key, v) => { if (seen.has(key)) fail(`${key} appears twice`); seen.set(key, v); };
    async function query(q, end) {
        const a = await server.ask('POST', '/api/query', { start: T0 - 1, end, queries: [q] });
        if (a.status === 200) return JSON.parse(a.text);
        if (a.status === 400 && /No such name/.test(a.text)) return [];
        return fail(`a query answered ${a.status} ${a.text.slice(0, 300)}\n${server.log}`);
    }
    const all = async (metric) => query({ metric, aggregator: 'none' }, T0 + SPAN + 200);
    for (const g of await all('power.test'))
        for (const [t, v] of Object.entries(g.dps)) see(`${g.tags.writer} ${g.tags.series} ${t}`, v);
    for (const g of await all('power.fresh')) see(`fresh ${g.tags.id}`, Object.values(g.dps)[0]);
    for (const g of await all('power.gone')) for (const [t, v] of Object.entries(g.dps)) see(`gone ${t}`, v);
    for (const sum of ['sum', 'max', 'count'])
        for (const g of await query({ metric: 'power.rolled', aggregator: 'none', downsample: `1h-${sum}`, rollupUsage: 'ROLLUP_NOFALLBACK' }, T0 + 101 * 3600))
            for (const [t, v] of Object.entries(g.dps)) see(`rolled ${sum} ${t}`, v);
    const a = await server.ask('GET', `/api/annotations?start_time=${T0}&end_time=${T0 + 100000000}`);
    if (a.status === 200) for (const n of JSON.parse(a.text)) see(`note ${n.startTime}`, n.description);
    return seen;
}

// Small files, so that all that happens to them happens soon.
export const settings = ['halite.store.head_bytes=1M', 'halite.store.journal_segment_bytes=64K',
    'halite.store.seal_delay_ms=1', 'halite.store.encode_delay_ms=20', 'halite.store.summary_delay_ms=20', 'halite.store.journal_bytes=1M', 'halite.store.write_buffer_bytes=64K',
    'halite.sync.interval_ms=50', 'tsd.http.query.allow_delete=true', 'tsd.rollups.enable=true',
    'tsd.rollups.config={"aggregationIds":{"sum":0,"count":1,"max":2},"intervals":[' +
        '{"table":"a","preAggregationTable":"b","interval":"1m","rowSpan":"1h","defaultInterval":true},' +
        '{"table":"c","preAggregationTable":"d","interval":"1h","rowSpan":"1d"}]}'];

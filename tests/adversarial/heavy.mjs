// Queries that cost much: regular expressions, and queries that read or hold too much.
import zlib from 'node:zlib';
import { ask, open, putMany, say, sleep, T0, until } from './rig.mjs';

const YEARS = 10 * 365 * 86400;

async function bombs(t) {
    const patterns = ['(a+)+$', '(a|aa)+$', '(a|a?)+$', '(.*a){25}$', '(x+x+)+y', '([a-z]+)*$', '^(([a-z])+.)+[A-Z]([a-z])+$', '(?=(a+))a*b\\1', '(a*)*b', '((a*)*)*b', '(?:a?){30}a{30}', '(.+)+\\1$', '(?<!b*)a',
        'a{65535}', '(a{1000}){1000}', '((a{100}){100}){100}', '(((a{50}){50}){50}){50}', 'x'.repeat(1 << 20), '('.repeat(1 << 17), '('.repeat(200) + ')'.repeat(200), '['.repeat(1 << 17), '(a'.repeat(50000) + ')'.repeat(50000),
        'a|'.repeat(1 << 19), '.*'.repeat(1 << 17), '(?i)'.repeat(50000), '\\'.repeat(9999), '[a-z&&[^a-m'.repeat(20000), '(?R)', '(?1)', '(a(?1)?b)', '\\1'.repeat(10000), '(?:' .repeat(60000), '[^a]{1,65535}'.repeat(10), '\\p{L}'.repeat(100000), '(?#', '(*MARK:x)a', '(*LIMIT_MATCH=4000000000)(a+)+$', '(*NO_START_OPT)(a+)+$', '(?C1)a', '\\Q' + 'a'.repeat(1 << 19)];
    for (const p of patterns) {
        const body = JSON.stringify({ start: T0 - 1, end: T0 + 60, queries: [{ aggregator: 'sum', metric: 'bomb', filters: [{ type: 'regexp', tagk: 'host', filter: p, groupBy: true }] }] });
        const from = Date.now();
        const r = await ask(t.port, 'POST', '/api/query', body, { ms: 10000 });
        const ms = Date.now() - from;
        t.check([200, 400, 413].includes(r.status), `regexp ${p.slice(0, 30)}: ${r.status} ${r.body.slice(0, 100)}`);
        t.quick(ms < 1500, `regexp ${p.slice(0, 30)} of ${p.length} bytes takes ${ms} ms: ${r.status}`);
        if (p === '(a+)+$') t.check(r.status === 400, `(a+)+$ over 28 letters: ${r.status}`);
    }
    // Ten at once, and where else patterns are taken: trees.
    const all = await Promise.all(Array.from({ length: 10 }, () => ask(t.port, 'GET', `/api/query?start=${T0 - 1}&end=${T0 + 60}&m=sum:bomb{host=regexp((a%2B)%2B%24)}`)));
    for (const r of all) t.check(r.status === 400, `one of ten: ${r.status} ${r.body.slice(0, 200)}`);
    const tree = JSON.parse((await ask(t.port, 'POST', '/api/tree', '{"name":"x","enabled":true,"strictMatch":false,"storeFailures":false}')).body).treeId;
    for (const p of ['(a+)+$', '((a+)+)+$', '(.*a){25}$']) {
        await ask(t.port, 'POST', '/api/tree/rule', JSON.stringify({ treeId: tree, level: 0, order: 0, type: 'TAGK', field: 'host', regex: p, regexGroupIdx: 0 }));
        const from = Date.now();
        const r = await ask(t.port, 'GET', `/api/tree/branch?treeid=${tree}`, undefined, { ms: 15000 });
        t.check(r.status > 0, `a tree's rule ${p}: no answer`);
        t.quick(Date.now() - from < 1500, `a tree's rule ${p}: ${r.status} after ${Date.now() - from} ms`);
    }
    for (const q of ['*'.repeat(60000), '*a'.repeat(30000), `${'*a'.repeat(30)}b`]) {
        const from = Date.now();
        const r = await ask(t.port, 'POST', '/api/query', JSON.stringify({ start: T0 - 1, end: T0 + 60, queries: [{ aggregator: 'sum', metric: 'bomb', filters: [{ type: 'wildcard', tagk: 'host', filter: q, groupBy: true }] }] }), { ms: 10000 });
        t.check([200, 400].includes(r.status), `wildcard of ${q.length}: ${r.status}`);
        t.quick(Date.now() - from < 1500, `wildcard of ${q.length}: ${r.status} after ${Date.now() - from} ms`);
    }
}

const running = async (port) => {
    const r = await ask(port, 'GET', '/api/stats/query', undefined, { from: '127.0.0.3' });
    try { return JSON.parse(r.body).running.length; } catch { return -1; }
};
const death = {
    'a second each for ten years': { start: T0 - YEARS, end: T0, queries: [{ aggregator: 'sum', metric: 'many', downsample: '1s-avg-zero' }] },
    'a millisecond each': { start: T0 - YEARS, end: T0, msResolution: true, queries: [{ aggregator: 'sum', metric: 'many', downsample: '1ms-avg-nan' }] },
    'all series apart, a second each': { start: T0 - YEARS, end: T0 + 60, queries: [{ aggregator: 'none', metric: 'many', downsample: '1s-avg-zero' }] },
    'a thousand of them': { start: T0 - YEARS, end: T0 + 60, queries: Array.from({ length: 1000 }, () => ({ aggregator: 'sum', metric: 'many', downsample: '1m-avg-zero', filters: [{ type: 'wildcard', tagk: 'host', filter: '*', groupBy: true }] })) },
    'percentiles of all': { start: T0 - YEARS, end: T0 + 60, queries: [{ aggregator: 'p99', metric: 'many', downsample: '1m-p99-zero' }] },
};
const exps = {
    'deep': { expr: '('.repeat(3000) + 'a' + ')'.repeat(3000) }, 'long': { expr: Array(4000).fill('a').join('+') }, 'minuses': { expr: '-'.repeat(8000) + 'a' }, 'nots': { expr: '!'.repeat(8000) + 'a' },
    'ternaries': { expr: 'a?'.repeat(1000) + 'a' + ':a'.repeat(1000) }, '1 MB': { expr: 'a+'.repeat(1 << 19) + 'a' }, 'unclosed': { expr: '(' .repeat(8000) }, 'powers': { expr: Array(500).fill('a').join('*') },
};
const expBody = (expr, n = 1) => JSON.stringify({ time: { start: `${T0 - YEARS}`, end: `${T0 + 60}`, aggregator: 'sum', downsampler: { interval: '1m', aggregator: 'avg', fillPolicy: { policy: 'zero' } } }, filters: [{ id: 'f', tags: [{ type: 'wildcard', tagk: 'host', filter: '*', groupBy: true }] }],
    metrics: [{ id: 'a', metric: 'many', filter: 'f' }], expressions: Array.from({ length: n }, (_, i) => ({ id: `e${i}`, expr })) });

async function queries(t) {
    const limit = t.long ? 60000 : 12000;
    for (const [what, q] of Object.entries(death)) {
        const from = Date.now();
        const r = await ask(t.port, 'POST', '/api/query', JSON.stringify(q), { ms: limit });
        t.check([200, 400, 413].includes(r.status), `${what}: ${r.status} ${r.body.slice(0, 200)} after ${Date.now() - from} ms`);
        t.note(`${what}: ${r.status} after ${Date.now() - from} ms`);
    }
    for (const [what, { expr }] of Object.entries(exps)) {
        const r = await ask(t.port, 'POST', '/api/query/exp', expBody(expr), { ms: limit });
        t.check([200, 400, 413].includes(r.status), `exp, ${what}: ${r.status} ${r.body.slice(0, 200)}`);
    }
    const many = await ask(t.port, 'POST', '/api/query/exp', expBody('a+a', 500), { ms: limit });
    t.check([200, 400, 413].includes(many.status), `500 expressions: ${many.status}`);
    for (const exp of [`${'absolute('.repeat(1500)}sum:many${')'.repeat(1500)}`, `sumSeries(${Array(26).fill('sum:many').join(',')})`, 'absolute('.repeat(3000), `scale(sum:many,${'9'.repeat(5000)})`, `movingAverage(sum:many,${'9'.repeat(18)})`, `shift(sum:many,'999999999999d')`]) {
        const r = await ask(t.port, 'GET', `/api/query/gexp?start=${T0 - YEARS}&end=${T0 + 60}&exp=${exp}`, undefined, { ms: limit });
        t.check([200, 400, 413].includes(r.status), `gexp ${exp.slice(0, 30)}: ${r.status} ${r.body.slice(0, 200)}`);
    }
    t.check(t.server.peak() < 1400, `it took ${t.server.peak().toFixed(0)} MB`);
}

// Some KB on the wire that would become GB, or seconds of a thread that others wait for.
async function small(t) {
    const large = '(?:[b-y]z){1200}', peak = t.server.peak();
    const tags = (n, value) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, value]));
    const query = (...queries) => JSON.stringify({ start: T0, end: T0 + 60, queries });
    const exp = JSON.stringify({
        time: { start: `${T0}`, end: `${T0 + 60}`, aggregator: 'sum' },
        filters: [{ id: 'f', tags: Object.keys(tags(512)).map((tagk) => ({ type: 'regexp', tagk, filter: large, groupBy: false })) }],
        metrics: Array.from({ length: 120 }, (_, i) => ({ id: `m${i}`, metric: `m${i}`, filter: 'f' })), expressions: [{ id: 'e', expr: 'm0+m1' }],
    });
    const subs = query(...Array.from({ length: 4096 }, (_, i) => ({ aggregator: 'sum', metric: 'm', tags: tags(10, 'a'), percentiles: [i / 100] })));
    const all = [
        ['an expression with many regexps', '/api/query/exp', exp], ['many sub-queries', '/api/query', subs],
        ['empty objects', '/api/query/last', `[${'{},'.repeat(11e6)}{}]`], ['names of nothing', '/api/search/lookup', `[${'[],'.repeat(11e6)}0]`],
        ...['regexp', 'REGEXP', 'reg\\u0065xp'].map((type) => [type, '/api/query', query({ aggregator: 'sum', metric: 'm', tags: tags(200, `${type}(${large})`) }).replaceAll('\\\\u', '\\u')]),
    ];
    for (const [what, path, body] of all) {
        const from = Date.now();
        const r = await ask(t.port, 'POST', path, zlib.gzipSync(body), { headers: { 'Content-Encoding': 'gzip' } });
        t.check([400, 413].includes(r.status), `${what}: ${r.status} ${r.body.slice(0, 100)}`);
        t.quick(Date.now() - from < 1500, `${what}: ${Date.now() - from} ms`);
    }
    // Of long values each wildcard takes long.
    for (let i = 0; i < 60; i++)
        await ask(t.port, 'POST', '/api/put', JSON.stringify({ metric: 'long', timestamp: T0, value: 1, tags: { h: `${'a'.repeat(31990)}${i}` } }));
    const filters = Array(6).fill({ type: 'iwildcard', tagk: 'h', filter: `*${'a'.repeat(56)}b*z*`, groupBy: false });
    const wild = ['wildcards of long values', '/api/query', query(...Array.from({ length: 8 }, (_, i) => ({ aggregator: 'sum', metric: 'long', filters, downsample: `${i + 1}s-sum` })))];
    // As it is, not packed: others wait for the thread that has the connection, so it hands this on.
    for (const [what, path, body] of [...all.slice(4), wild]) {
        const was = [true, false].map((c) => t.server.threadsMs(c));
        for (let i = 0; i < (t.long ? 100 : 10); i++) await ask(t.port, 'POST', path, body);
        const [connections, others] = [true, false].map((c, i) => t.server.threadsMs(c) - was[i]);
        t.check(connections < others / 2, `${what}: ${connections.toFixed(0)} ms on threads of connections, ${others.toFixed(0)} on others`);
    }
    t.check(t.server.peak() - peak < 200, `it took ${(t.server.peak() - peak).toFixed(0)} MB`);
}

// Whoever hangs up is not worked for any longer, however much he asked for.
async function hangUps(t) {
    let slowest = 0;
    for (const [what, q] of t.some([...Object.entries(death).reverse(), ['an expression', expBody('a+a*a', 20)]], 2))
        for (const how of t.some(['fin', 'reset'], 1)) {
            const body = typeof q === 'string' ? q : JSON.stringify(q);
            const path = typeof q === 'string' ? '/api/query/exp' : '/api/query';
            const all = await Promise.all(Array.from({ length: 4 }, () => open(t.port)));
            for (const s of all) s.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
            if (!await until(async () => await running(t.port) >= 1, 500, 5)) { for (const s of all) s.destroy(); continue; } // too quick to catch
            await sleep(100);
            const from = Date.now(), was = t.server.cpuMs();
            for (const s of all) if (how === 'fin') s.destroy(); else s.resetAndDestroy();
            const gone = await until(async () => await running(t.port) <= 0, 6000, 20);
            const ms = Date.now() - from, spent = t.server.cpuMs() - was;
            // A busy machine may take long, but not in the server.
            t.check(gone && (ms < 1000 || spent < 700), `${what}, ${how}: still at it after ${ms} ms, and ${spent} ms of CPU time`);
            slowest = Math.max(slowest, ms);
            await sleep(100);
            const cpu = t.server.cpuMs();
            await sleep(200);
            t.check(t.server.cpuMs() - cpu < 100, `${what}, ${how}: ${t.server.cpuMs() - cpu} ms of CPU time in 200 ms, after everybody left`);
        }
    t.note(`the slowest ended after ${slowest} ms`);
}

async function starve(t) {
    // More queries of death at once than there are workers, for a while.
    const body = JSON.stringify(death['a thousand of them']);
    const all = await Promise.all(Array.from({ length: 16 }, () => open(t.port)));
    for (const s of all) { s.pause(); s.write(`POST /api/query HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`); }
    await sleep(t.long ? 10000 : 1500);
    for (const s of all) { t.check(true, ''); s.destroy(); }
    t.check(await until(async () => await running(t.port) <= 0, 5000, 20), 'they go on');
}

const world = async (t) => {
    const lines = [];
    for (let i = 0; i < (t.long ? 20000 : 1500); i++) for (let k = 0; k < 3; k++) lines.push(`many ${T0 - k * 86400 * 300 + i % 60} ${i} host=h${i}`);
    await putMany(t.port, lines);
};

export default [
    {
        name: 'regexps',
        settings: () => ['tsd.core.tree.enable_processing=true'],
        prepare: async (t) => putMany(t.port, Array.from({ length: 300 }, (_, i) => `bomb ${T0 + i % 60} ${i} host=${'a'.repeat(28)}${i}! a=b`.replace('!', '-'))),
        run: bombs,
    },
    { name: 'small requests', run: small, keptMb: 100 },
    { name: 'queries of death', prepare: world, run: queries, keptMb: 200, settings: () => ['halite.query.bytes=128M', 'halite.query.answer_bytes=128M', 'tsd.query.timeout=5000'] },
    { name: 'hang-ups', prepare: world, run: hangUps, keptMb: 200 },
    { name: 'more than the workers', prepare: world, run: starve, keptMb: 200 },
    {
        name: 'limits of queries',
        light: true,
        prepare: world,
        settings: () => ['tsd.query.timeout=200', 'tsd.query.limits.data_points.default=2000', 'tsd.query.limits.bytes.default=100000', 'halite.query.bytes=4M', 'halite.query.answer_bytes=1M'],
        baseline: false,
        run: async (t) => {
            for (const [what, q] of Object.entries(death)) {
                const from = Date.now();
                const r = await ask(t.port, 'POST', '/api/query', JSON.stringify(q), { ms: 10000 });
                t.check(r.status === 413 || r.status === 400, `${what}: ${r.status} ${r.body.slice(0, 100)}`);
                t.quick(Date.now() - from < 1200, `${what}: ${Date.now() - from} ms with a timeout of 200`);
            }
            // The log tells of queries that were too much, but does not fill the disk with them.
            let logged = 0;
            t.server.child.stderr.on('data', (d) => { logged += d.length; });
            const large = JSON.stringify({ start: T0 - YEARS, end: T0 + 60, queries: Array.from({ length: 800 }, (_, i) => ({ aggregator: 'sum', metric: 'many', downsample: `${i + 1}s-avg` })) });
            for (let i = 0; i < 100; i++) await ask(t.port, 'POST', '/api/query', large);
            t.check(logged > 1e5 && logged < 3e6, `100 rejected queries of ${large.length} bytes are ${logged} bytes of the log`);
        },
    },
];

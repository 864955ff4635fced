// No ids left, races for names, and more series than there may be.
import { ask, open, putMany, random, T0, until } from './rig.mjs';

const point = (metric, tags, i = 0) => ({ metric, timestamp: T0 + i, value: i, tags });
const put = (t, points, query = 'details') => ask(t.port, 'POST', `/api/put?${query}`, JSON.stringify(points));
const counter = async (t, name) => Number(new RegExp(`"metric":"tsd\\.${name}"[^}]*?"value":"?(\\d+)`).exec((await ask(t.port, 'GET', '/api/stats')).body)?.[1] ?? NaN);

async function exhausted(t) {
    // 'baseline' and its tags have their ids; 254 more of each kind fit.
    for (const [kind, make] of [['metric', (i) => point(`m${i}`, { host: 'a' })], ['tagv', (i) => point('baseline', { host: `v${i}` })], ['tagk', (i) => point('baseline', { [`k${i}`]: 'a' })]]) {
        let stored = 0, rejected = 0;
        for (let i = 0; i < 300; i += 20) {
            const r = await put(t, Array.from({ length: 20 }, (_, k) => make(i + k)));
            t.check(r.status === 200 || r.status === 400, `${kind} ${i}: ${r.status} ${r.body.slice(0, 200)}`);
            const said = JSON.parse(r.body);
            stored += said.success ?? 0;
            rejected += said.failed ?? 0;
            for (const e of said.errors ?? []) t.check(/All Unique IDs|no more|max|exhaust|ids/i.test(e.error), `${kind}: ${e.error}`);
        }
        t.check(stored > 240 && stored < 256 && rejected === 300 - stored, `${kind}: ${stored} stored, ${rejected} rejected`);
        t.note(`${kind}: ${stored} ids`);
    }
    const s = await open(t.port);
    s.write(`put newer.metric ${T0} 1 host=a\nput baseline ${T0} 1 host=newer\nput m1 ${T0} 5 host=a\nversion\n`);
    await until(() => /built/i.test(s.text), 3000);
    t.check((s.text.match(/^put: /gm) ?? []).length === 2, `telnet: ${s.text}`);
    s.destroy();
    const r = await ask(t.port, 'GET', `/api/uid/assign?metric=one.more`);
    t.check([400, 413].includes(r.status), `assign: ${r.status} ${r.body}`);
    const q = await ask(t.port, 'GET', `/api/query?start=${T0 - 1}&end=${T0 + 400}&m=sum:m1`);
    t.check(q.status === 200 && /"1735689600":5/.test(q.body), `what was there: ${q.status} ${q.body}`);
}

// Eight clients make the same names in other orders, over both protocols and by assign.
async function races(t) {
    const names = Array.from({ length: t.long ? 3000 : 100 }, (_, i) => `race${i}`);
    const shuffled = () => { const a = [...names]; for (let i = a.length; --i > 0;) { const k = random(i + 1); [a[i], a[k]] = [a[k], a[i]]; } return a; };
    await Promise.all(Array.from({ length: 8 }, async (_, who) => {
        const mine = shuffled();
        if (who % 3 === 0) {
            await putMany(t.port, mine.map((n) => `${n} ${T0 + who} ${who} ${n}=${n} who=w${who}`));
        } else if (who % 3 === 1) {
            for (let i = 0; i < mine.length; i += 50) t.check((await put(t, mine.slice(i, i + 50).map((n) => point(n, { [n]: n, who: `w${who}` }, who)))).status === 200, 'a put is rejected');
        } else {
            for (let i = 0; i < mine.length; i += 50) {
                const list = mine.slice(i, i + 50);
                const r = await ask(t.port, 'POST', '/api/uid/assign', JSON.stringify({ metric: list, tagk: list, tagv: list }));
                t.check([200, 400].includes(r.status), `assign: ${r.status}`);
            }
        }
    }));
    const seen = {};
    for (const kind of ['metric', 'tagk', 'tagv']) {
        const ids = new Map();
        for (const n of names) {
            const r = await ask(t.port, 'POST', '/api/uid/assign', JSON.stringify({ [kind]: [n] }));
            const said = /UID: ([0-9A-F]+)/.exec(r.body)?.[1];
            if (!t.check(said !== undefined, `${kind} ${n} has no id: ${r.body}`)) continue;
            t.check(!ids.has(said), `${kind} ${n} and ${ids.get(said)} are both ${said}`);
            ids.set(said, n);
            const back = await ask(t.port, 'GET', `/api/uid/uidmeta?type=${kind}&uid=${said}`);
            t.check(JSON.parse(back.body).name === n, `${kind} ${said} is ${back.body}, not ${n}`);
        }
        seen[kind] = ids;
    }
    // Every point is under its own name, and only there.
    for (const n of names.slice(0, 60)) {
        const r = JSON.parse((await ask(t.port, 'GET', `/api/query?start=${T0 - 1}&end=${T0 + 60}&m=none:${n}`)).body);
        t.check(Array.isArray(r) && r.length === 6 && r.every((s) => s.tags[n] === n && Object.values(s.dps)[0] === Number(s.tags.who.slice(1))), `${n}: ${JSON.stringify(r).slice(0, 300)}`);
    }
}

async function limited(t) {
    let stored = 0;
    for (let i = 0; i < 400; i += 40) {
        const r = await put(t, Array.from({ length: 40 }, (_, k) => point('many', { host: `h${i + k}` }, k)));
        const said = JSON.parse(r.body);
        stored += said.success ?? 0;
        for (const e of said.errors ?? []) t.check(/^Too many series of this metric: the limit is 100 /.test(e.error), e.error);
        t.check(r.status === (i + 40 <= 80 ? 200 : 400), `${i}: ${r.status} ${r.body.slice(0, 100)}`);
    }
    t.check(stored === 100, `${stored} series of a metric that may have 100`);
    // Names of what was rejected do not fill the table of names either.
    const values = JSON.parse((await ask(t.port, 'GET', '/api/suggest?type=tagv&q=h&max=1000')).body).length;
    t.check(values <= 141, `${values} tag values were made for 100 series`);
    // What is there goes on; another spelling of it does, too.
    t.check((await put(t, [point('many', { host: 'h5' }, 77)])).status === 200, 'a series that is there is rejected');
    const s = await open(t.port);
    s.write(`put many ${T0 + 5} 5 host=h6\nput many ${T0} 1 host=telnet\nversion\n`);
    await until(() => /built/i.test(s.text), 3000);
    t.check(/^put: illegal argument: Too many series of this metric/m.test(s.text) && (s.text.match(/^put/gm) ?? []).length === 1, `telnet: ${s.text}`);
    s.destroy();
    // All together.
    stored = 0;
    for (let i = 0; i < 40; i++) {
        const r = JSON.parse((await put(t, Array.from({ length: 25 }, (_, k) => point(`other${i}`, { host: `h${k}` })))).body);
        stored += r.success ?? 0;
        for (const e of r.errors ?? []) t.check(/^Too many series: the limit is 500 /.test(e.error), e.error);
    }
    t.check(stored >= 390 && stored <= 400, `${stored} more series, of 500 in all`);
    // Eight at once: none too many.
    await Promise.all(Array.from({ length: 8 }, (_, who) => put(t, Array.from({ length: 50 }, (_, k) => point('race', { host: `r${who}x${k}` })))));
    const rejected = await counter(t, 'series.rejected');
    t.check(rejected >= 1000, `only ${rejected} rejections are counted`);
    const all = JSON.parse((await ask(t.port, 'GET', '/api/search/lookup?m=many&limit=0')).body);
    t.check(all.results.length === 100, `lookup lists ${all.results.length}`);
}

export default [
    { name: 'ids used up', light: true, run: exhausted, settings: () => ['tsd.storage.uid.width.metric=1', 'tsd.storage.uid.width.tagk=1', 'tsd.storage.uid.width.tagv=1'] },
    { name: 'races for names', light: true, run: races },
    { name: 'too many series', light: true, run: limited, settings: () => ['halite.series.limit=500', 'halite.series.limit_per_metric=100'] },
];

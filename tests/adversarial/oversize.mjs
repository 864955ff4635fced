// Too long, too many, too deep, too large, broken off.
import zlib from 'node:zlib';
import { ask, open, random, replies, say, T0, until } from './rig.mjs';

const HEAD = 'Host: x\r\nConnection: close\r\n';
const isRefused = (r) => r.replies.length > 0 && r.replies[0].status >= 400 && r.replies[0].status < 500;

async function lines(t) {
    const all = {
        'at the limit': 'x'.repeat(65536), 'one more': 'x'.repeat(65537), '1 MB': 'y'.repeat(1 << 20),
        'a put of 1 MB': `put m ${T0} 1 ${'a=b '.repeat(1 << 18)}`, 'NULs': '\0'.repeat(5000), 'blanks': ' '.repeat(60000),
        'words': 'w '.repeat(30000), 'a put of many tags': `put m ${T0} 1 ${Array.from({ length: 3000 }, (_, i) => `k${i}=v`).join(' ')}`,
        'a long name': `put ${'m'.repeat(60000)} ${T0} 1 a=b`, 'a long value': `put m ${T0} ${'9'.repeat(60000)} a=b`, 'a long exponent': `put m ${T0} 1e${'9'.repeat(60000)} a=b`,
        'a long time': `put m ${'1'.repeat(60000)} 1 a=b`, 'high bytes': '\xff'.repeat(60000), 'IACs': '\xff\xf1'.repeat(30000),
        'carriage returns': '\r'.repeat(60000), 'a histogram': `histogram h ${T0} ${Array.from({ length: 5000 }, (_, i) => `${i},${i + 1}=1`).join(':')} a=b`,
    };
    for (const [what, line] of Object.entries(all)) {
        const s = await open(t.port);
        s.write(Buffer.from(`${line}\nversion\n`, 'latin1'));
        t.check(await until(() => /built/i.test(s.text) || s.over, 5000, 3), `line, ${what}: no answer after it`);
        t.check(/built/i.test(s.text), `line, ${what}: the connection ends`);
        t.check(s.text.length < 200000, `line, ${what}: an answer of ${s.text.length} bytes`);
        s.destroy();
    }
    // No end at all: 32 MB without a line feed, from many.
    const rss = t.server.rss();
    const all2 = await Promise.all(Array.from({ length: 20 }, () => open(t.port)));
    for (const s of all2) for (let i = 0; i < (t.long ? 64 : 8); i++) s.write(Buffer.alloc(1 << 20, 0x7a));
    await until(() => all2.every((s) => s.writableLength === 0), 20000, 10);
    for (const s of all2) { t.check(s.writableLength === 0, 'endless lines are not read'); s.destroy(); }
    t.check(t.server.rss() - rss < 64, `endless lines cost ${(t.server.rss() - rss).toFixed(0)} MB`);
}

async function heads(t) {
    const heads = {
        'a header of 100 KB': `GET /api/version HTTP/1.1\r\n${HEAD}X: ${'a'.repeat(100000)}\r\n\r\n`,
        'a name of 100 KB': `GET /api/version HTTP/1.1\r\n${HEAD}${'X'.repeat(100000)}: a\r\n\r\n`,
        'a target of 100 KB': `GET /api/version?${'a'.repeat(100000)} HTTP/1.1\r\n${HEAD}\r\n`,
        'a target of 1 MB': `GET /${'a/'.repeat(500000)} HTTP/1.1\r\n${HEAD}\r\n`,
        'a method of 100 KB': `${'G'.repeat(100000)} / HTTP/1.1\r\n${HEAD}\r\n`,
        'a version of 100 KB': `GET / HTTP/${'1'.repeat(100000)}\r\n${HEAD}\r\n`,
        '3,000 headers': `GET /api/version HTTP/1.1\r\n${HEAD}${Array.from({ length: 3000 }, (_, i) => `X-${i}: a\r\n`).join('')}\r\n`,
        '30,000 headers': `GET /api/version HTTP/1.1\r\n${HEAD}${'X: a\r\n'.repeat(30000)}\r\n`,
        '10,000 parameters': `GET /api/version?${'a=b&'.repeat(10000)} HTTP/1.1\r\n${HEAD}\r\n`,
        'a cookie of 40 KB': `GET /api/version HTTP/1.1\r\n${HEAD}Cookie: ${'a=b; '.repeat(8000)}\r\n\r\n`,
    };
    for (const [what, bytes] of Object.entries(heads)) {
        const r = await say(t.port, bytes, { ms: 5000 });
        t.check(r.closed, `head, ${what}: not answered`);
        t.check(r.replies.length === 0 || isRefused(r), `head, ${what}: ${r.replies.map((x) => x.status)}`);
    }
    // Within the limit much is allowed, and must be answered.
    for (const n of [100, 300, 400, 1000, 2000]) {
        const r = await say(t.port, `GET /api/query?start=1h-ago${'&m=sum:none'.repeat(n)} HTTP/1.1\r\n${HEAD}\r\n`, { ms: 5000 });
        t.check(isRefused(r), `${n} sub-queries of an unknown metric: ${r.replies[0]?.status}`);
        const c = await say(t.port, `GET /api/version HTTP/1.1\r\n${HEAD}Cookie: ${'a=b; '.repeat(n)}\r\n\r\n`, { ms: 5000 });
        t.check(c.closed && c.replies.length > 0, `${n} cookies: ${c.replies[0]?.status}`);
        const h = await say(t.port, `GET /api/version HTTP/1.1\r\n${HEAD}${'A: b\r\n'.repeat(n)}\r\n`, { ms: 5000 });
        t.check(h.closed && h.replies.length > 0, `${n} headers: ${h.replies[0]?.status}`);
    }
}

async function lengths(t) {
    const rss = t.server.rss();
    const sizes = ['1073741824', '4294967296', '33554433', '9223372036854775807', '9223372036854775808', '18446744073709551615',
        '18446744073709551616', '18446744073709551618', '99999999999999999999999999', '-1', '-0', '+1', '0x10', '1e3', '1.0', '5 5', '5,5', '', ' ', '5a', 'a', '１'];
    await Promise.all(sizes.map(async (n) => {
        const r = await say(t.port, `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: ${n}\r\n\r\n[]`, { ms: 1500, done: (x) => /HTTP/.test(x) });
        t.check(isRefused(r), `Content-Length: ${n}: ${r.replies.map((x) => x.status)}`);
    }));
    t.check(t.server.rss() - rss < 16, `heads that promise much cost ${t.server.rss() - rss} MB`);
    const chunks = ['FFFFFFFFFFFFFFFF', '10000000000000000', 'FFFFFFFFFFFFFFFFF', '8000000000000000', '7FFFFFFFFFFFFFFF', '-1', '+1', '0x1', ' 1', 'g', '', '1 1', '1\0', 'ffffffffffffffff;x', '00000000000000000000000000000000000000000000000000g'];
    await Promise.all(chunks.map(async (n) => {
        const r = await say(t.port, `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${n}\r\n[]\r\n0\r\n\r\n`, { ms: 1500, end: true });
        t.check(r.replies.every((x) => x.status >= 400) && !/" *stored/.test(r.text), `chunk size ${JSON.stringify(n)}: ${r.replies.map((x) => x.status)}`);
        t.check(r.closed, `chunk size ${JSON.stringify(n)}: stays open`);
    }));
    // An extension, a trailer, a row of tiny chunks that do not end.
    const endless = [['extension', `1;${'x'.repeat(1 << 20)}\r\n[\r\n`], ['trailers', `0\r\n${'X: y\r\n'.repeat(200000)}`], ['size with zeros', `${'0'.repeat(1 << 20)}1\r\n`]];
    await Promise.all(endless.map(async ([what, bytes]) => {
        const rss = t.server.rss();
        const s = await open(t.port);
        s.write(`POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${bytes}`);
        await until(() => s.over, 800, 5);
        t.check(t.server.rss() - rss < 16, `a chunk's ${what} of 1 MB costs ${(t.server.rss() - rss).toFixed(0)} MB`);
        s.destroy();
    }));
}

async function bombs(t) {
    const zeros = zlib.gzipSync(Buffer.alloc(t.long ? 1 << 30 : 40 << 20), { level: 9 });
    const nested = zlib.gzipSync(zeros);
    const valid = Buffer.from(JSON.stringify([{ metric: 'bomb', timestamp: T0, value: 1, tags: { a: 'b' } }]));
    const good = zlib.gzipSync(valid);
    const list = { zeros, nested, deflate: zlib.deflateSync(Buffer.alloc(t.long ? 100 << 20 : 40 << 20)), 'many members': Buffer.concat(Array(2000).fill(zlib.gzipSync(Buffer.alloc(65536)))),
        'empty members': Buffer.concat(Array(50000).fill(zlib.gzipSync(''))), 'cut off': good.subarray(0, good.length - 3), 'wrong sum': Buffer.concat([good.subarray(0, -8), Buffer.alloc(8)]),
        garbage: Buffer.from('garbage'), 'garbage behind': Buffer.concat([good, Buffer.from('xx')]), nothing: Buffer.alloc(0), 'two bytes': good.subarray(0, 2) };
    for (const [what, body] of Object.entries(list)) {
        const r = await ask(t.port, 'POST', '/api/put', body, { headers: { 'Content-Encoding': what === 'deflate' ? 'deflate' : 'gzip' } });
        t.check(r.status >= 400 && r.status < 500, `gzip, ${what}: ${r.status}`);
    }
    for (const name of ['br', 'zstd', 'gzip, gzip', 'compress', 'x'.repeat(5000)]) {
        const r = await ask(t.port, 'POST', '/api/put', good, { headers: { 'Content-Encoding': name } });
        t.check(r.status >= 400, `an encoding that we do not know, ${name.slice(0, 20)}: ${r.status}`);
    }
    const many = await Promise.all(Array.from({ length: t.long ? 200 : 12 }, () => ask(t.port, 'POST', '/api/put', zeros, { headers: { 'Content-Encoding': 'gzip' }, ms: 60000 })));
    for (const r of many) t.check([413, 503].includes(r.status), `one of many bombs: ${r.status}`);
    t.check(t.server.peak() < 450, `bombs took ${t.server.peak().toFixed(0)} MB`);
}

// -- JSON -----------------------------------------------------------------------
const ENDPOINTS = ['/api/put', '/api/rollup', '/api/histogram', '/api/query', '/api/query/exp', '/api/query/gexp', '/api/query/last', '/api/suggest', '/api/uid/assign', '/api/uid/rename',
    '/api/uid/uidmeta', '/api/uid/tsmeta', '/api/annotation', '/api/annotation/bulk', '/api/search/lookup', '/api/search/uidmeta', '/api/tree', '/api/tree/rule', '/api/tree/rules', '/api/tree/test'];
const point = (over) => JSON.stringify({ metric: 'json', timestamp: T0, value: 1, tags: { a: 'b' }, ...over });
const raw = (value, timestamp = T0, metric = '"json"', tags = '{"a":"b"}') => `{"metric":${metric},"timestamp":${timestamp},"value":${value},"tags":${tags}}`;

async function json(t) {
    const deep = 100000;
    const tagk_sets = { arrays: ['['.repeat(deep), ']'.repeat(deep)], objects: ['{"a":'.repeat(deep), '1' + '}'.repeat(deep)], mixed: ['[{"a":'.repeat(deep / 2), '1' + '}]'.repeat(deep / 2)] };
    for (const target of ENDPOINTS) {
        const hold = { '/api/put': (x) => `{"metric":"json","timestamp":${T0},"value":1,"tags":{"a":"b"},"more":${x}}`, '/api/query': (x) => `{"start":1,"queries":${x}}`, '/api/annotation': (x) => `{"startTime":1,"custom":${x}}` }[target] ?? ((x) => `{"queries":${x}}`);
        for (const [what, [open, close]] of Object.entries(tagk_sets))
            for (const body of [open, open + close, hold(open), hold(open + close)]) {
                const r = await ask(t.port, 'POST', target, body);
                t.check(r.status >= 400 && r.status < 500 || r.status === 503 && target === '/api/histogram' || body !== open && [200, 204].includes(r.status), `${target}: ${what}, ${deep} deep: ${r.status} ${r.body.slice(0, 100)}`);
            }
    }
    const bad = ['', ' ', '{', '}', '[', ']', '[,]', '[1,]', '{"a"}', '{"a":}', '{a:1}', "{'a':1}", '{"a":1,}', '{"a":1 "b":2}', 'nul', 'null', 'true', '1', '"x"', '\ufeff[]', '[]]', '/*x*/[]', '[1]//', '{"a":+1}',
        '{"a":01}', '{"a":.5}', '{"a":1.}', '{"a":1e}', '{"a":0x1}', '{"a":NaN}', '{"a":Infinity}', '{"a":-}', '{"a":"\n"}', '{"a":"\\x41"}', '{"a":"\\u12"}', '{"a":"\\"}', '{"a":"', '"\\', '\0', '[\0]', '{"a":"\0"}'];
    for (const target of ENDPOINTS)
        for (const body of t.some(bad, 12)) {
            const r = await ask(t.port, 'POST', target, body);
            t.check(r.status >= 200 && r.status < 500 || (r.status === 503 && target === '/api/histogram'), `${target} ${JSON.stringify(body)}: ${r.status} ${r.body.slice(0, 80)}`);
        }
    const values = ['1e400', '-1e400', '1e-400', '9223372036854775808', '-9223372036854775809', '9'.repeat(100000), `0.${'0'.repeat(100000)}1`, `1e${'9'.repeat(1000)}`, '1e99999999999', '-0', '-0.0', '1E+2', '"1"', '"NaN"', '"Infinity"',
        '""', '" 1"', '"1 "', '"0x10"', '"1e"', '"1_0"', '"١"', 'null', 'true', '[]', '{}', '[1]', '"' + '9'.repeat(100000) + '"', '"\\u0000"', '"1\\u0000"', '"\\ud800"'];
    for (const v of values)
        for (const body of t.some([raw(v), raw(1, v), raw(1, T0, v), raw(1, T0, '"json"', v), raw(1, T0, '"json"', `{"a":${v}}`)], 3)) {
            const r = await ask(t.port, 'POST', '/api/put?details', body);
            t.check([200, 400].includes(r.status), `${body.slice(0, 100)}: ${r.status} ${r.body.slice(0, 100)}`);
        }
    // Bytes that are no UTF-8, halves of pairs, NULs in names.
    for (const name of ['\xff', '\xc0\xaf', '\xc0\x80', '\xed\xa0\x80', '\xf4\x90\x80\x80', '\xf8\x88\x80\x80\x80', '\xe2\x82', '\xc3', '\x80', 'a\0b', '\\ud800', '\\udc00', '\\ud800\\ud800', '\\udc00\\ud800', '\\u0000', '\\ud83d', '\x7f', '\x1b[2J', '\\u202e', '\\ufffe'])
        for (const make of [(n) => raw(1, T0, `"m${n}"`), (n) => raw(1, T0, '"json"', `{"${n}":"v"}`), (n) => raw(1, T0, '"json"', `{"k":"${n}"}`)]) {
            const r = await ask(t.port, 'POST', '/api/put?details', Buffer.from(make(name), 'latin1'));
            t.check(r.status === 400, `${JSON.stringify(name)} in a name: ${r.status} ${r.body.slice(0, 100)}`);
        }
    for (const [body, want] of [['{"metric":"json.one","metric":"json.two","timestamp":1,"timestamp":1735689600,"value":5,"value":7,"tags":{"a":"x"},"tags":{"a":"b","a":"c"}}', /json\.two/],
        [`{${'"a":1,'.repeat(100000)}"metric":"json.three","timestamp":1735689600,"value":1,"tags":{"a":"b"}}`, /json\.three/]]) {
        t.check((await ask(t.port, 'POST', '/api/put', body)).status === 204, 'equal members');
        t.check(want.test((await ask(t.port, 'GET', '/api/suggest?type=metrics&q=json')).body), 'of equal members the last counts');
    }
    t.check((await ask(t.port, 'POST', '/api/put', raw(1, T0, '"json"', `{${Array.from({ length: 50000 }, (_, i) => `"k${i}":"v"`).join(',')}}`))).status === 400, '50,000 tags');
    t.check((await ask(t.port, 'POST', '/api/put', `{"${'k'.repeat(1 << 20)}":1}`)).status === 400, 'a name of 1 MB');
}

async function truncated(t) {
    const bodies = {
        '/api/put': `[${point()},{"metric":"json.\\u00e9","timestamp":"1735689600","value":"1.5e3","tags":{"k":"v","l":"w"},"x":[1,{"y":null}]}]`,
        '/api/query': `{"start":1735689600,"end":"1735689700","queries":[{"aggregator":"sum","metric":"baseline","downsample":"1m-avg-nan","rate":true,"rateOptions":{"counter":true,"counterMax":100},"filters":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":true}]}]}`,
        '/api/query/exp': `{"time":{"start":"1735689600","aggregator":"sum"},"filters":[{"id":"f","tags":[{"type":"wildcard","tagk":"host","filter":"*"}]}],"metrics":[{"id":"a","metric":"baseline","filter":"f"}],"expressions":[{"id":"e","expr":"a+1"}],"outputs":[{"id":"e"}]}`,
    };
    for (const [target, body] of Object.entries(bodies)) {
        // As a whole body that is short, all on one connection.
        const s = await open(t.port);
        let n = 0;
        for (let i = 0; i < body.length; i++, n++) s.write(`POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: ${i}\r\n\r\n${body.slice(0, i)}`);
        await until(() => s.over || replies(s.text).length >= n, 10000, 20);
        const got = replies(s.text);
        for (let i = 0; i < n; i++) t.check(got[i]?.status === 400, `${target}, ${i} bytes of it: ${got[i]?.status}`);
        s.destroy();
        // Promised and not sent: cut by us at that byte, by a reset or an end.
        for (let i = 0; i < body.length; i += t.long ? 1 : 1 + random(12)) {
            const c = await open(t.port);
            c.write(`POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, i)}`);
            t.check(true, '');
            if (random(2)) c.resetAndDestroy(); else c.destroy();
        }
        const whole = await ask(t.port, 'POST', target, body);
        t.check(whole.status < 300, `${target}, all of it: ${whole.status} ${whole.body.slice(0, 200)}`);
    }
}

const options = ['tsd.core.histograms.config={"net.opentsdb.core.SimpleHistogramDecoder": 0}', 'tsd.core.tree.enable_processing=true'];
export default [
    { name: 'long lines', run: lines },
    { name: 'long heads', run: heads },
    { name: 'lengths', light: true, run: lengths, settings: () => ['halite.http.body_ms=1000'] },
    { name: 'bombs', run: bombs, keptMb: 96 },
    { name: 'json', light: true, run: json, settings: () => options },
    { name: 'truncated', light: true, run: truncated, settings: () => options },
];

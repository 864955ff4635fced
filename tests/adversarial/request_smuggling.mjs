// Heads of two minds, and paths that lead elsewhere.
import fs from 'node:fs';
import path from 'node:path';
import { ask, open, random, replies, say, sleep, T0, until } from './rig.mjs';

let serial = 0;
const inner = (name) => {
    const body = `{"metric":"${name}","timestamp":${T0},"value":1,"tags":{"a":"b"}}`;
    return `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
// Each takes the smuggled request and makes the bytes of one that hides it.
export const hidden = {
    'CL and TE': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${x}`,
    'TE and CL': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: ${x.length + 5}\r\n\r\n0\r\n\r\n${x}`,
    'two CL': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: ${x.length}\r\n\r\n${x}`,
    'two CL, the other way': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: ${x.length}\r\nContent-Length: 0\r\n\r\n${x}`,
    'CL: 0, n': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 0, ${x.length}\r\n\r\n${x}`,
    'CL: n, n': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 2, 2\r\n\r\n[]${x}`,
    'CL: +0': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: +0\r\n\r\n${x}`,
    'CL: -1': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n${x}`,
    'CL: 0x0': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 0x0\r\n\r\n${x}`,
    'CL: 0 0': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 0 0\r\n\r\n${x}`,
    'CL: empty': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n${x}`,
    'CL: 0\\v': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 0\x0b\r\n\r\n${x}`,
    'CL of 2^64': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551616\r\n\r\n${x}`,
    'CL of 2^64+2': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551618\r\n\r\n[]${x}`,
    'Content-Length : spaced': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length : ${x.length}\r\n\r\n${x}`,
    'Content_Length': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length\t: ${x.length}\r\n\r\n${x}`,
    'TE: chunked, identity': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${x}`,
    'TE: chunked, x': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n${x}`,
    'TE: x, chunked': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n${x}`,
    'TE: identity': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n${x}`,
    'TE: xchunked': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${x}`,
    'TE: "chunked"': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n${x}`,
    'TE: chunked;q=1': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n${x}`,
    'TE : chunked': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n${x}`,
    'TE:\\vchunked': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n${x}`,
    'two TE': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${x}`,
    'two TE, both chunked': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${x}`,
    'TE in 1.0': (x) => `POST /api/put HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${x}`,
    'folded TE': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${x}`,
    'folded CL': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n ${x.length}\r\n\r\n${x}`,
    'fold of nothing': (x) => `POST /api/put HTTP/1.1\r\n Host: x\r\nContent-Length: 0\r\n\r\n${x}`,
    'folded other': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nX-A: b\r\n\tTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n${x}`,
    'name without colon': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length\r\n\r\n${x}`,
    'empty name': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\n: chunked\r\n\r\n${x}`,
    'NUL in name': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding\0: chunked\r\n\r\n0\r\n\r\n${x}`,
    'NUL in value': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\0x\r\n\r\n0\r\n\r\n${x}`,
    'bare CR in a value': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nX-A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${x}`,
    'bad chunk size': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n\r\n${x}`,
    'chunk of 2^64': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n${x}`,
    'chunk of 2^64+0': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100000000000000000\r\n\r\n${x}`,
    'chunk of -1': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n${x}`,
    'chunk of +0': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n+0\r\n\r\n${x}`,
    'chunk of 0x0': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n${x}`,
    'chunk of nothing': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\r\n\r\n${x}`,
    'chunk with a wrong end': (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]XX0\r\n\r\n${x}`,
    'absolute target': (x) => `POST http://other/api/put HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n${x}`,
    'no HTTP version': (x) => `POST /api/put\r\nContent-Length: 0\r\n\r\n${x}`,
    'HTTP/2.0': (x) => `POST /api/put HTTP/2.0\r\nContent-Length: 0\r\n\r\n${x}`,
    'HTTP/1.1 twice': (x) => `POST /api/put HTTP/1.1 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n${x}`,
    'CR in the line': (x) => `POST /api/put\rx HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n${x}`,
};
// One meaning only; whatever it is, it must be held to: what follows is a request or it is
// not, as RFC 9112 says.  'or': what libmicrohttpd 1.0 answers before it closes.
export const clear = {
    'pipelined': { bytes: (x) => `GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n${x}GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n`, statuses: [200, 204, 200], stored: true },
    'pipelined body is data': { bytes: (x) => `POST /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: ${x.length}\r\n\r\n${x}GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n`, statuses: [400, 200], stored: false },
    'GET with a body': { bytes: (x) => `GET /api/version HTTP/1.1\r\nHost: x\r\nContent-Length: ${x.length}\r\n\r\n${x}GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n`, statuses: [200, 200], stored: false },
    'GET with chunks': { bytes: (x) => `GET /api/version HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${x.length.toString(16)}\r\n${x}\r\n0\r\n\r\nGET /api/version HTTP/1.1\r\nHost: x\r\n\r\n`, statuses: [200, 200], stored: false },
    'unknown path with a body': { bytes: (x) => `POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: ${x.length}\r\n\r\n${x}GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n`, statuses: [404, 200], stored: false },
    'OPTIONS with a body': { bytes: (x) => `OPTIONS /api/put HTTP/1.1\r\nHost: x\r\nContent-Length: ${x.length}\r\n\r\n${x}GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n`, statuses: [405, 200], stored: false },
    'close, then more': { bytes: (x) => `GET /api/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n${x}`, statuses: [200], stored: false },
    'HTTP/1.0, then more': { bytes: (x) => `GET /api/version HTTP/1.0\r\n\r\n${x}`, statuses: [200], stored: false },
    'chunk extensions': { bytes: (x) => `POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n[]\r\n0;x\r\n\r\nGET /api/version HTTP/1.1\r\nHost: x\r\n\r\n`, statuses: [404, 200], or: [400], stored: false },
    'trailers': { bytes: (x) => `POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\nContent-Length: 5\r\n\r\nGET /api/version HTTP/1.1\r\nHost: x\r\n\r\n`, statuses: [404, 200], stored: false },
};

async function stored(port, name) {
    return (await ask(port, 'GET', `/api/suggest?type=metrics&q=${name}`)).body.includes(name);
}

async function smuggling(t) {
    for (const [what, make] of Object.entries(hidden)) {
        for (const split of [false, true]) {
            const name = `smuggled.${serial++}`, bytes = make(inner(name));
            const at = 1 + random(bytes.length - 1);
            const r = split ? await inTwo(t.port, bytes, at) : await say(t.port, bytes, { ms: 1500 });
            const seen = r.replies.map((x) => x.status).filter((s) => s !== 100);
            const isIn = await stored(t.port, name);
            t.check(!isIn, `${what}: what was hidden is stored`);
            t.check(seen.length <= 1 && (seen.length === 0 || seen[0] >= 400), `${what}: answers ${seen}`);
            t.check(r.closed, `${what}: the connection stays open`);
        }
    }
    for (const [what, c] of Object.entries(clear)) {
        const name = `clear.${serial++}`;
        const r = await say(t.port, c.bytes(inner(name)), { ms: 5000, done: (x) => replies(x).filter((y) => y.status !== 100).length >= c.statuses.length });
        const seen = r.replies.map((x) => x.status).filter((s) => s !== 100);
        const isRejected = c.or && r.closed && String(seen) === String(c.or);
        t.check(isRejected || String(seen) === String(c.statuses), `${what}: answers ${seen}, not ${c.statuses}`);
        t.check(await stored(t.port, name) === c.stored, `${what}: stored or not`);
    }
    // Bare line feeds: taken as ends of lines throughout, or rejected; never one here and one there.
    for (const [what, eol] of [['LF', '\n'], ['CR', '\r'], ['LFCR', '\n\r'], ['CRCRLF', '\r\r\n']]) {
        const name = `bare.${serial++}`;
        const r = await say(t.port, `POST /nothing HTTP/1.1${eol}Host: x${eol}Content-Length: 5${eol}${eol}0\r\n\r\n${inner(name)}`, { ms: 700 });
        const seen = r.replies.map((x) => x.status);
        t.note(`${what} ends lines: ${seen}${r.closed ? ', closed' : ''}`);
        t.check(r.closed || seen.length === 2 || seen.length === 0, `${what}: answers ${seen}`);
    }
}
async function inTwo(port, bytes, at) {
    const s = await open(port);
    s.write(bytes.slice(0, at), 'latin1');
    await sleep(5);
    s.write(bytes.slice(at), 'latin1');
    await until(() => s.over, 1500, 3);
    const r = { text: s.text, closed: s.over, replies: replies(s.text) };
    s.destroy();
    return r;
}

// -- paths ----------------------------------------------------------------------
const SECRET = 'the secret of the house';
async function traversal(t) {
    const up = ['..', '%2e%2e', '%2E%2e', '.%2e', '%2e.', '..;', '%252e%252e', '%c0%ae%c0%ae', '..%00', '...', '%u002e%u002e', '．．'];
    const slash = ['/', '%2f', '%5c', '\\', '//', '%252f', '/./', '%c0%af'];
    const paths = [];
    for (const u of up)
        for (const s of slash)
            for (const depth of [1, 2, 6])
                for (const start of ['/s/', '/s/sub/', '/s//', '/S/', '/s/%2e/', '/s/./'])
                    paths.push(`${start}${(u + s).repeat(depth)}secret`, `${start}${(u + s).repeat(depth + 8)}etc${s}passwd`);
    paths.push('/s/link', '/s/linkdir/secret', '/s/linkup/secret', '/s/abs/etc/passwd', '/s//etc/passwd', '/s/%2fetc%2fpasswd', '/s/secret%00.html',
        '/s/inside.html%00', '/s/inside.html/', '/s/inside.html/..', '/s/sub', '/s/', '/s', '/s/.', '/s/./', '/s/fifo', '/s/dev', '/../secret', '/s/../secret',
        '/s/..', '/api/../s/../secret', '/s/?../secret', '/s/inside.html?/../secret', '/s/file:///etc/passwd', '/s/~root/', '/s/\\..\\secret', '/s/proc/self/environ');
    for (const p of [...t.some(paths.slice(0, -35), 400), ...paths.slice(-35)]) {
        const r = await say(t.port, `GET ${p} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, { ms: 3000 });
        const status = r.replies[0]?.status ?? 0;
        t.check(!r.text.includes(SECRET) && !/root:x?:/.test(r.text), `${p} gives away what is outside`);
        t.check(r.closed, `${p} is not answered`);
        t.check(status === 0 || status >= 300 || /inside/.test(p), `${p}: ${status}`);
    }
    const good = await ask(t.port, 'GET', '/s/inside.html');
    t.check(good.status === 200 && /inside/.test(good.body), `a file within: ${good.status}`);
    t.check((await ask(t.port, 'GET', '/s/linkin')).status === 200, 'a link that stays within');
}

export default [
    { name: 'smuggling', light: true, settings: () => ['halite.http.head_ms=1000', 'halite.http.body_ms=1000'], run: smuggling },
    {
        name: 'paths',
        light: true,
        settings: (t) => {
            const dir = t.folder('house'), root = path.join(dir, 'root');
            fs.mkdirSync(path.join(root, 'sub'), { recursive: true });
            fs.writeFileSync(path.join(dir, 'secret'), SECRET);
            fs.writeFileSync(path.join(root, 'inside.html'), 'inside');
            fs.symlinkSync('../secret', path.join(root, 'link'));
            fs.symlinkSync('..', path.join(root, 'linkdir'));
            fs.symlinkSync('../..', path.join(root, 'sub', 'linkup'));
            fs.symlinkSync('/', path.join(root, 'abs'));
            fs.symlinkSync('/dev', path.join(root, 'dev'));
            fs.symlinkSync('inside.html', path.join(root, 'linkin'));
            return [`tsd.http.staticroot=${root}`];
        },
        run: traversal,
    },
];

// Who may not: without credentials, around them, after them; pages of other sites.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import { ask, open, random, replies, say, sleep, T0, until } from './rig.mjs';

const secrets = { reader: 'token-of-reader', writer: 'token-of-writer', boss: 'token-of-boss' };
const roles = { reader: 'read', writer: 'write', boss: 'admin' };
const digest = (s) => `sha256:${createHash('sha256').update(s).digest('hex')}`;
function authFile(t, names = Object.keys(secrets), change = (x) => x) {
    const file = path.join(t.folder('auth'), 'auth');
    fs.writeFileSync(file, 'anonymous read\n' + names.map((n) => `token ${n} ${change(roles[n], n)} ${digest(secrets[n])}\n`).join(''), { mode: 0o600 });
    return file;
}

async function saysLine(s, line, expect) {
    const from = s.text.length;
    s.write(`${line}\n`);
    await until(() => expect.test(s.text.slice(from)) || s.over, 3000, 2);
    return s.text.slice(from);
}

const attacks = [
    {
        name: 'rights after a reload',
        light: true,
        baseline: false,
        settings: (t) => [`halite.auth.file=${authFile(t)}`],
        run: async (t) => {
            const people = {};
            for (const n of Object.keys(secrets)) {
                people[n] = await open(t.port);
                t.check(/AUTH_SUCCESS/.test(await saysLine(people[n], `auth ${secrets[n]}`, /AUTH_/)), `${n} cannot log in`);
            }
            const put = async (n) => saysLine(people[n], `put reload 1735689600 1 a=${n}\nversion`, /built|AUTH_FAIL|Unauthorized/i);
            t.check(!/AUTH_FAIL|Unauthorized/.test(await put('writer')), 'the writer may not write');
            // The writer becomes a reader, the boss is thrown out.
            authFile(t, ['reader', 'writer'], () => 'read');
            t.server.child.kill('SIGHUP');
            t.check(await until(async () => /Unauthorized/.test(await put('writer')), 3000, 20), 'who lost a role keeps it on his connection');
            t.check(await until(async () => /AUTH_FAIL/.test(await saysLine(people.boss, 'dropcaches', /\n/)), 3000, 20), 'who was thrown out goes on');
            t.check(/AUTH_FAIL/.test(await put('boss')), 'who was thrown out may write');
            t.check(/built/i.test(await saysLine(people.reader, 'version', /built|AUTH/i)), 'who stays does not stay');
            authFile(t);
            t.server.child.kill('SIGHUP');
            t.check(await until(async () => !/Unauthorized/.test(await put('writer')), 3000, 20), 'who is back is not back');
            t.check(!/debug/.test(t.server.log), 'SIGHUP has switched the log to debug');
            for (const s of Object.values(people)) s.destroy();
        },
    },
];

// -- around credentials ----------------------------------------------------------
// Whatever way a request is written, one that needs more than an anonymous client may do (here: read) may do
// is 401 with nothing and with wrong credentials, 403 with too little, and nothing happens.
const guarded = [
    ['POST', '/api/put', JSON.stringify({ metric: 'stolen', timestamp: T0, value: 1, tags: { a: 'b' } })],
    ['POST', '/api/rollup', JSON.stringify({ metric: 'stolen', timestamp: T0, value: 1, tags: { a: 'b' }, interval: '1h', aggregator: 'sum' })],
    ['POST', '/api/tool', '{"words":["mkmetric","stolen"]}'],
    ['POST', '/api/uid/assign', '{"metric":["stolen"]}'], ['GET', '/api/uid/assign?metric=stolen'], ['POST', '/api/uid/rename', '{"metric":"baseline","name":"stolen"}'],
    ['POST', '/api/annotation', `{"startTime":${T0},"description":"stolen"}`], ['GET', '/api/annotation?method_override=post&start_time=1&description=stolen'], ['GET', `/api/annotation?method_override=delete&start_time=${T0}`],
    ['GET', '/api/uid/uidmeta?method_override=post&uid=000001&type=metric&description=stolen'], ['GET', '/api/tree?method_override=post&name=stolen'], ['POST', '/api/tree', '{"name":"stolen"}'],
    ['DELETE', `/api/query?start=1&m=sum:baseline`], ['GET', `/api/query?start=1&m=sum:baseline&method_override=delete`], ['GET', '/dropcaches'], ['GET', '/api/dropcaches'], ['GET', '/logs'], ['GET', '/logs?level=debug'], ['GET', '/diediedie'],
];
const spellings = (path) => {
    const [p, q] = [path.replace(/\?.*/, ''), path.includes('?') ? path.slice(path.indexOf('?')) : ''];
    const seg = p.split('/');
    return [path, p.toUpperCase() + q, p.replace('/api/', '/api/v1/') + q, p.replace('/api/', '/API/V1/') + q, `/${p}${q}`, `${p}/${q}`, `${p}//${q}`, p.replaceAll('/', '//') + q, `${p}/.${q}`, `/./${p.slice(1)}${q}`, `/x/..${p}${q}`, `/s/..${p}${q}`, `/s/%2e%2e${p}${q}`,
        seg.slice(0, -1).join('/') + '/' + seg.at(-1).replace(/^./, (c) => `%${c.charCodeAt(0).toString(16)}`) + q, `${p}%00${q}`, `${p}%20${q}`, `${p};x=y${q}`, `${p}#x${q}`, `${p}\\${q}`, `/health${p}${q}`, `/api/status${p}${q}`, `${p}?/health${q.replace('?', '&')}`, `/favicon.ico/..${p}${q}`, `http://x${p}${q}`, `//x${p}${q}`, `${p}.json${q}`, p.replace('/api/', '/api/v2/') + q, p.replace('/api/', '/api//') + q];
};
const verbs = (m) => [m, m.toLowerCase(), `${m[0]}${m.slice(1).toLowerCase()}`, 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'TRACE', 'CONNECT', 'PROPFIND', `${m}X`];
const basic = (s) => `Basic ${Buffer.from(s).toString('base64')}`;
const wrong = () => [null, 'Bearer', 'Bearer ', 'Bearer x', `Bearer ${secrets.boss}x`, `Bearer ${secrets.boss.slice(0, -1)}`, `Bearer ${secrets.boss.toUpperCase()}`, `Bearer  ${secrets.boss} x`, `Token ${secrets.boss}`, secrets.boss, basic(`boss:${secrets.boss}`), basic(':'), basic('boss'), basic('boss:'), 'Basic ====',
    `Basic ${'A'.repeat(8000)}`, `Bearer ${'A'.repeat(8000)}`, 'Negotiate x', `Bearer ${digest(secrets.boss)}`, `Bearer ${secrets.reader}`];
const harmless = (status) => [0, 301, 400, 401, 403, 404, 405, 411, 429, 501, 505].includes(status);

async function around(t) {
    const untouched = async (why) => {
        t.check(t.server.alive, `${why}: the server is gone`);
        for (const type of ['metrics', 'tagk', 'tagv']) t.check(!(await ask(t.port, 'GET', `/api/suggest?type=${type}&q=stolen`)).body.includes('stolen'), `${why}: a name was made`);
    };
    for (const [method, path, body] of guarded) {
        const send = (m, p, headers = {}) => ask(t.port, m, p, body, { headers, ms: m === m.toUpperCase() ? 3000 : 150 });
        for (const auth of t.some(wrong(), 4)) {
            const r = await send(method, path, auth === null ? {} : { Authorization: auth });
            t.check([401, 403, 404, 429].includes(r.status) || (r.status === 405 && /method_override|query/.test(path)) || (r.status === 400 && path.startsWith('/api/query')) || (r.status === 200 && /query.*override/.test(path)), `${method} ${path} with ${auth}: ${r.status} ${r.body.slice(0, 100)}`);
        }
        for (const p of t.some(spellings(path), 5)) {
            const r = await send(method, p);
            t.check(harmless(r.status) || /^\/(health|api\/status|s\/|favicon)|query/.test(p.toLowerCase()) || p.startsWith('/s') || (r.status === 200 && /^\/\//.test(p)), `${method} ${p}: ${r.status} ${r.body.slice(0, 100)}`);
        }
        for (const m of t.some(verbs(method), 4)) {
            const r = await send(m, path);
            t.check(harmless(r.status) || (r.status === 200 && ['GET', 'HEAD', 'OPTIONS'].includes(m) && (method === 'POST' || m === 'HEAD')) || /query/.test(path), `${m} ${path}: ${r.status} ${r.body.slice(0, 100)}`);
        }
        const two = await say(t.port, `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer x\r\nAuthorization: Bearer ${secrets.boss}\r\nContent-Length: ${(body ?? '').length}\r\n\r\n${body ?? ''}`, { ms: 3000 });
        t.check([401, 400, 405].includes(two.replies[0]?.status) || /query/.test(path), `${path} with two Authorizations: ${two.replies[0]?.status}`);
        await untouched(`${method} ${path}`);
    }
    // What one request of a connection may, the next one may not.
    const s = await open(t.port);
    const bytes = (auth) => `POST /api/put HTTP/1.1\r\nHost: x\r\n${auth}Content-Length: 2\r\n\r\n[]`;
    s.write(bytes(`Authorization: Bearer ${secrets.writer}\r\n`) + bytes(''));
    await until(() => replies(s.text).length === 2, 3000);
    t.check(String(replies(s.text).map((x) => x.status === 401)) === 'false,true', `one connection, two clients: ${replies(s.text).map((x) => x.status)}`);
    s.destroy();
    // Telnet: every way to say it without rights.
    for (const line of ['put stolen 1 1 a=b', 'PUT stolen 1 1 a=b', ' put stolen 1 1 a=b', 'put\tstolen 1 1 a=b', 'rollup 1h-sum stolen 1 1 a=b', 'histogram stolen 1 x a=b', 'dropcaches', 'diediedie', 'auth', 'auth ', 'auth  ', `auth ${secrets.boss}x`, `auth boss ${secrets.boss}`, `auth\t${secrets.boss}`, `AUTH ${secrets.boss}`, 'auth ' + 'x'.repeat(60000), '\xff\xf1put stolen 1 1 a=b', 'auth x\rput stolen 1 1 a=b', 'auth x\0put stolen 1 1 a=b']) {
        const r = await say(t.port, `${line}\nput stolen 1 1 a=b\nexit\n`, { ms: 3000, end: true });
        t.check(!/AUTH_SUCCESS/.test(r.text), `telnet ${line.slice(0, 40)}: ${r.text.slice(0, 100)}`);
    }
    await untouched('telnet');
    // And the right ones work.
    const good = await ask(t.port, 'POST', '/api/put', guarded[0][2].replace('stolen', 'given'), { headers: { Authorization: `Bearer ${secrets.writer}` } });
    t.check(good.status === 204, `a writer may not write: ${good.status} ${good.body}`);
}

// -- pages of other sites ----------------------------------------------------------
async function foreign(t) {
    const changing = [['POST', '/api/put', guarded[0][2]], ['POST', '/api/tool', '{"words":["mkmetric","stolen"]}'], ['POST', '/api/uid/assign', '{"metric":["stolen"]}'], ['GET', '/api/uid/assign?metric=stolen'], ['GET', '/dropcaches'], ['GET', '/api/dropcaches'], ['GET', '/diediedie'], ['GET', '/logs?level=debug'],
        ['GET', '/api/annotation?method_override=post&start_time=1&description=stolen'], ['GET', '/api/tree?method_override=post&name=stolen'], ['DELETE', '/api/query?start=1&m=sum:baseline'], ['POST', '/api/annotation', `{"startTime":1,"description":"stolen"}`], ['POST', '/api/put?jsonp=x', guarded[0][2]]];
    const marks = [{ Origin: 'http://evil.example' }, { Origin: 'null' }, { Origin: 'http://x.evil.example' }, { Origin: 'https://x' }, { Origin: 'http://x:1' }, { Origin: 'http://xx' }, { Origin: 'http://x@evil.example' }, { Origin: 'http://evil.example/http://x' }, { Origin: '' , 'Sec-Fetch-Site': 'cross-site' },
        { 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }, { 'sec-fetch-site': 'CROSS-SITE' }, { ORIGIN: 'http://evil.example' }, { Origin: 'file://' }, { Origin: 'http://evil.example', 'Content-Type': 'text/plain' }, { Referer: 'http://evil.example/x' }, { Referer: 'http://x@evil.example/' }, { referer: 'http://evil.example/?http://127.0.0.1' }];
    for (const [method, path, body] of changing)
        for (const headers of marks) {
            const r = await ask(t.port, method, path, body, { headers });
            t.check((r.status >= 400 && r.status < 500) || /not permitted access/.test(r.body), `${method} ${path} from ${JSON.stringify(headers)}: ${r.status} ${r.body.slice(0, 100)}`);
            t.check(!/Access-Control-Allow-Origin: *(\*|.*evil)/i.test(r.head), `${path}: CORS lets ${JSON.stringify(headers)} read`);
        }
    t.check(t.server.alive, 'a page has stopped the server');
    t.check(!(await ask(t.port, 'GET', '/api/suggest?type=metrics&q=stolen')).body.includes('stolen'), 'a page has made a name');
    for (const headers of [{}, { Origin: 'http://grafana.example' }, { 'Sec-Fetch-Site': 'same-origin' }, { 'Sec-Fetch-Site': 'none' }])
        t.check((await ask(t.port, 'POST', '/api/put', guarded[0][2].replace('stolen', 'ours'), { headers })).status === 204, `our own ${JSON.stringify(headers)}`);
    const pre = await ask(t.port, 'OPTIONS', '/api/put', undefined, { headers: { Origin: 'http://evil.example', 'Access-Control-Request-Method': 'POST' } });
    t.check(!/evil/i.test(/Access-Control-Allow-Origin:[^\r\n]*/i.exec(pre.head)?.[0] ?? ''), 'a preflight of another site is granted');
}

// -- TLS ---------------------------------------------------------------------------
const shake = (port, options) => new Promise((resolve) => {
    const s = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () => { const v = `${s.getProtocol()} ${s.getCipher().name}`; s.destroy(); resolve(v); });
    s.on('error', (e) => resolve(`rejected: ${e.code ?? e.message}`));
    setTimeout(() => { s.destroy(); resolve('silence'); }, 5000).unref();
});
async function handshakes(t) {
    const port = t.server.tlsPort;
    const may = await shake(port, {});
    t.check(/^TLSv1\.3/.test(may), `a plain handshake: ${may}`);
    for (const maxVersion of ['TLSv1', 'TLSv1.1']) t.check(/^rejected/.test(await shake(port, { minVersion: 'TLSv1', maxVersion, ciphers: 'ALL:@SECLEVEL=0' })), `${maxVersion} is taken`);
    for (const c of ['AES128-SHA', 'AES256-GCM-SHA384', 'ECDHE-RSA-RC4-SHA', 'DES-CBC3-SHA', 'NULL-SHA256', 'aNULL', 'ADH-AES256-GCM-SHA384', 'ECDHE-ECDSA-AES128-SHA', 'PSK', 'EXPORT', 'CAMELLIA128-SHA'])
        t.check(/^rejected/.test(await shake(port, { maxVersion: 'TLSv1.2', ciphers: `${c}:@SECLEVEL=0` }).catch((e) => `rejected: ${e.message}`)), `${c} is taken`);
    // Of what both can do we choose, whatever the client likes best.
    const two = ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'];
    const chosen = [await shake(port, { maxVersion: 'TLSv1.2', ciphers: two.join(':') }), await shake(port, { maxVersion: 'TLSv1.2', ciphers: two.reverse().join(':') })];
    t.check(/^TLSv1\.2/.test(chosen[0]) && chosen[0] === chosen[1], `who chooses the cipher: ${chosen}`);
    const bad = await new Promise((r) => { const s = tls.connect({ port, host: '127.0.0.1' }); s.on('secureConnect', () => r('trusted')); s.on('error', (e) => { r(e.code); }); });
    t.check(bad !== 'trusted', 'a certificate that no authority signed is trusted');
    // Halves of handshakes, many at once, which are cut in time; beside them plain text,
    // noise, records of all sizes.
    const hello = Buffer.from('160301002f0100002b0303' + '00'.repeat(32) + '000004c02bc02f0100', 'hex');
    const crowd = await Promise.all(Array.from({ length: 100 }, () => open(port)));
    for (const s of crowd) s.write(hello.subarray(0, 20));
    t.check(/^TLSv1/.test(await shake(port, {})), 'a handshake beside a hundred halves');
    const noises = Array.from({ length: t.long ? 500 : 40 }, () => {
        const n = random(6);
        return [n, [hello.subarray(0, random(hello.length)), Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.from([0x16, 3, 1, 0xff, 0xff, ...Array.from({ length: 300 }, () => random(256))]), Buffer.from(Array.from({ length: 200 }, () => random(256))), Buffer.from([0x15, 3, 3, 0, 2, 2, 40]), Buffer.from([0x80, 0x2e, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10])][n]];
    });
    for (const [n, bytes] of noises) {
        const r = await say(port, bytes, { ms: n === 0 ? 60 : 1500, end: n !== 0 });
        t.check(r.closed || n === 0, `noise ${n} keeps a connection`);
    }
    t.check(await until(() => crowd.every((s) => s.over), 6000, 20), 'half handshakes are not cut');
    for (const s of crowd) s.destroy();
}

// -- passwords -----------------------------------------------------------------------
// 120 wrong passwords a second from ever new addresses, over both protocols, against a hash
// as 'halite secret' makes it.  The other clients (baseline.mjs) must not notice.
function passwordFile(t) {
    const file = path.join(t.folder('auth'), 'auth');
    const line = execFileSync(t.halite, ['secret', 'user', 'u', 'admin'], { input: 'right\n' });
    fs.writeFileSync(file, `anonymous read,write\n${line}`, { mode: 0o600 });
    return file;
}
async function guesses(t) {
    const answers = [];
    let n = 0;
    const from = () => { n++; return `127.${20 + (n >> 14)}.${n >> 6 & 255}.${1 + (n & 63)}`; };
    for (let i = 0; i < (t.long ? 200 : 50); i++) {
        for (let k = 0; k < 8; k++) answers.push(ask(t.port, 'GET', '/api/version', undefined, { from: from(), ms: 60000, headers: { Authorization: basic(`u:wrong${n}`) } }).then((r) => r.status));
        for (let k = 0; k < 4; k++) answers.push(say(t.port, `auth u wrong${n}\n`, { from: from(), ms: 60000, done: (text) => /AUTH_/.test(text) }).then((r) => r.text.trim()));
        await sleep(100);
    }
    for (const a of await Promise.all(answers)) t.check([401, 429, 'AUTH_FAIL'].includes(a), `a guess was answered ${a}`);
    const right = async () => (await ask(t.port, 'GET', '/logs', undefined, { headers: { Authorization: basic('u:right') }, ms: 60000 })).status === 200;
    t.check(await until(right, 60000, 500), 'the right password is rejected afterwards');
}

const names = () => ['halite.diediedie.remote=true', 'tsd.http.query.allow_delete=true'];
attacks.push(
    { name: 'around credentials', light: true, baseline: false, settings: (t) => [`halite.auth.file=${authFile(t)}`, ...names()], run: around },
    { name: 'pages of other sites', light: true, settings: () => ['tsd.http.request.cors_domains=http://grafana.example', ...names()], run: foreign },
    { name: 'password guesses', settings: (t) => [`halite.auth.file=${passwordFile(t)}`], run: guesses },
    {
        name: 'handshakes',
        light: true,
        settings: (t) => {
            const dir = t.folder('tls');
            execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30', '-subj', '/CN=localhost', '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`], { stdio: 'ignore' });
            return [`halite.tls.cert=${dir}/cert.pem`, `halite.tls.key=${dir}/key.pem`, 'halite.tls.port=0', 'halite.tls.handshake_ms=1500'];
        },
        run: handshakes,
    },
);
export default attacks;

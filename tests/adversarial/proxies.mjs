// Requests smuggled past a proxy: nginx and haproxy in front of the server, with
// connections that they keep.  The proxy lets no client put with '?inner' in the target; what
// is stored of such a request came past it, hidden in another.  And a victim, whose
// requests travel on the same connections, must get the answers to his own.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { ask, hear, random, replies, T0, until, whole } from './rig.mjs';
import { clear, hidden } from './request_smuggling.mjs';

const nginx = (t, dir) => `
daemon off; master_process off; worker_processes 1; pid ${dir}/pid; error_log ${dir}/error.log;
events { worker_connections 200; }
http {
    access_log off;
    client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
    upstream halite { server 127.0.0.1:${t.port}; keepalive 2; }
    server {
        listen unix:${dir}/socket;
        if ($query_string ~ inner) { return 403; }
        location / {
            proxy_pass http://halite; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_request_buffering off; proxy_read_timeout 3s;
        }
    }
}
`;
const haproxy = (t, dir) => `
defaults
    mode http
    timeout connect 3s
    timeout client 3s
    timeout server 3s
    option http-keep-alive
    http-reuse always
frontend in
    bind unix@${dir}/socket
    http-request deny if { query -m sub inner }
    default_backend halite
backend halite
    server s 127.0.0.1:${t.port} maxconn 2
`;
const proxies = {
    nginx: { config: nginx, argv: (f, dir) => ['nginx', '-c', f, '-p', dir, '-e', `${dir}/error.log`] },
    haproxy: { config: haproxy, argv: (f) => ['haproxy', '-db', '-f', f] },
};
const isThere = (name) => (process.env.PATH + ':/usr/sbin:/usr/local/sbin').split(':').map((d) => path.join(d, name)).find((f) => fs.existsSync(f));

function connect(socketPath) {
    return new Promise((resolve) => {
        const s = net.connect({ path: socketPath, allowHalfOpen: true });
        s.chunks = [];
        s.over = false;
        s.on('data', (d) => { s.chunks.push(d); s.waiter?.(); });
        s.on('end', () => { s.over = true; s.waiter?.(); });
        s.on('close', () => { s.over = true; s.waiter?.(); });
        s.on('error', () => { s.over = true; resolve(s); s.waiter?.(); });
        s.on('connect', () => resolve(s));
        Object.defineProperty(s, 'text', { get: () => Buffer.concat(s.chunks).toString('latin1') });
    });
}
async function say(socketPath, bytes, ms, done) {
    const s = await connect(socketPath);
    s.write(Buffer.from(bytes, 'latin1'));
    await hear(s, done, ms);
    const text = s.text;
    s.destroy();
    return text;
}
const inner = (name) => {
    const body = `{"metric":"${name}","timestamp":${T0},"value":1,"tags":{"a":"b"}}`;
    return `POST /api/put?inner HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
// Two requests with answers that differ.
const victim = [
    ['GET /api/aggregators HTTP/1.1\r\nHost: x\r\n\r\n', /"mimmax"/],
    [`GET /api/suggest?type=metrics&q=victim HTTP/1.1\r\nHost: x\r\n\r\n`, /^\["victim"\]$/],
];

async function behind(t, name) {
    const { config, argv } = proxies[name], program = isThere(name);
    if (program === undefined) { t.note(`LEFT OUT: ${name} is not there (apt-get install nginx-light haproxy)`); return; }
    const dir = t.folder(name), file = path.join(dir, 'config'), socket = path.join(dir, 'socket');
    for (const d of ['body', 'proxy']) fs.mkdirSync(path.join(dir, d), { recursive: true });
    fs.rmSync(socket, { force: true });
    fs.writeFileSync(file, config(t, dir));
    const [, ...args] = argv(file, dir);
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    child.stderr.on('data', (d) => { log = (log + d).slice(-3000); });
    const stop = () => child.kill('SIGKILL');
    process.on('exit', stop);
    try {
        if (!await until(() => fs.existsSync(socket), 5000)) { t.check(false, `${name} does not start: ${log}`); return; }
        await ask(t.port, 'POST', '/api/put', JSON.stringify({ metric: 'victim', timestamp: T0, value: 1, tags: { a: 'b' } }));
        const open = await say(socket, inner('no.way'), 3000, whole);
        t.check(replies(open)[0]?.status === 403, `${name} lets all clients through: ${open.slice(0, 200)}`);
        let serial = 0, closed = 0;
        const ways = { ...hidden, ...Object.fromEntries(Object.entries(clear).map(([what, c]) => [what, c.bytes])) };
        for (const [what, make] of Object.entries(ways)) {
            const metric = `past.${name}.${serial++}`;
            const bytes = make(inner(metric)).replaceAll('/api/put HTTP', '/api/version HTTP'); // what hides it is harmless
            const at = 1 + random(bytes.length - 1), s = await connect(socket);
            s.write(Buffer.from(bytes.slice(0, at), 'latin1'));
            const ours = [0, 1, 2, 3].map((i) => victim[i % 2]);
            s.write(Buffer.from(bytes.slice(at), 'latin1'));
            await hear(s, whole, 300);
            for (const [request, want] of ours) {
                const text = await say(socket, request, 4000, whole), r = replies(text)[0];
                t.check(r?.status === 200 && want.test(r.body), `${name}, ${what}: the next client was told ${text.slice(0, 300)}`);
            }
            await hear(s, null, 20);
            closed += s.over;
            s.destroy();
            const seen = (await ask(t.port, 'GET', `/api/suggest?type=metrics&q=${metric}`)).body;
            t.check(!seen.includes(metric), `${name}, ${what}: what was hidden came past the proxy`);
        }
        t.note(`${name}: ${serial} ways, ${closed} closed`);
    } finally {
        process.off('exit', stop);
        stop();
    }
}

export default [
    { name: 'behind nginx', byHand: true, settings: () => ['halite.http.head_ms=1000', 'halite.http.body_ms=1000'], run: (t) => behind(t, 'nginx') },
    { name: 'behind haproxy', byHand: true, settings: () => ['halite.http.head_ms=1000', 'halite.http.body_ms=1000'], run: (t) => behind(t, 'haproxy') },
];

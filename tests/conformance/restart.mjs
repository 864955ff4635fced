// restart.mjs term|kill HALITE PORT [OPTION...]: a server that is restarted between
// writing and reading.  It stands on PORT and hands every connection to HALITE tsd,
// which runs behind it on a port of its own with --data in a temporary folder.
// When a connection wants to read and another wrote since the last start, the server
// is stopped first, with SIGTERM (term) or SIGKILL (kill), and started on the same
// data.  So a program that plays requests and compares answers, as it does against
// halite itself, tries what a restart keeps.  SIGTERM ends it; it then says how
// often it restarted.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

const [how, halite, portArg, ...options] = process.argv.slice(2);
if (!['term', 'kill'].includes(how) || !halite || !Number(portArg)) {
    console.error('usage: restart.mjs term|kill HALITE PORT [OPTION...]');
    process.exit(2);
}
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-restart-'));
let server = null, restarts = 0, written = false, stopping = false;
process.on('exit', () => { server?.kill('SIGKILL'); fs.rmSync(dir, { recursive: true, force: true }); });

// -- the server ---------------------------------------------------------------
function start() {
    return new Promise((resolve) => {
        let text = '';
        server = spawn(halite, ['tsd', '--bind', '127.0.0.1', '--port', '0', '--data', path.join(dir, 'data'), ...options],
            { stdio: ['ignore', 'ignore', 'pipe'] });
        server.gone = new Promise((r) => server.on('exit', (code, signal) => r({ code, signal })));
        server.stderr.on('data', (d) => {
            process.stderr.write(d);
            text += d;
            server.port ??= Number(/listening on \S+:(\d+)/.exec(text)?.[1]) || undefined;
            if (server.port) resolve();
        });
        server.gone.then(({ code, signal }) => {
            if (stopping || server.wanted) return;
            console.error(`restart: the server ended by itself: ${code ?? signal}`);
            process.exit(1);
        });
    });
}
async function stop(signal) {
    server.wanted = true;
    server.kill(signal);
    const { code, signal: by } = await server.gone;
    if (signal === 'SIGTERM' && code !== 0) {
        console.error(`restart: SIGTERM ended the server with ${code ?? by}`);
        process.exit(1);
    }
}

// -- its connections, one after the other --------------------------------------
const READS = [
    /^(GET|HEAD|OPTIONS) /,
    /^POST \/(api\/(v\d+\/)?)?(query|suggest|search|config|stats|aggregators|version)\b/,
    /^(version|stats|help|dropcaches|exit)\b/,
];
const isRead = (text) => READS.some((r) => r.test(text)) && !/method_override|delete/i.test(text) &&
    !/\n(put|rollup|histogram|POST|PUT|DELETE) /.test(text);
const open = new Map(); // upstream -> when it is closed

async function restart() {
    // What was sent is answered, or its connection closed; idle ones are closed here.
    const idle = setTimeout(() => { for (const upstream of open.keys()) upstream.end(); }, 3000);
    await Promise.all([...open.values()]);
    clearTimeout(idle);
    restarts++;
    written = false;
    await stop(how === 'kill' ? 'SIGKILL' : 'SIGTERM');
    await start();
}
let turn = Promise.resolve(); // one connection decides at a time

function accept(client) {
    client.on('error', () => {});
    client.once('data', (first) => {
        client.pause();
        turn = turn.then(async () => {
            const read = isRead(first.toString('latin1'));
            if (read && written) await restart();
            if (!read) written = true;
            join(client, first);
        });
    });
}
function join(client, first) {
    const upstream = net.connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    const closed = new Promise((r) => upstream.on('close', r));
    open.set(upstream, closed);
    closed.then(() => { open.delete(upstream); client.destroySoon(); });
    upstream.on('error', () => client.destroy());
    upstream.write(first);
    client.pipe(upstream);
    upstream.pipe(client);
    client.on('data', (d) => { if (!isRead(d.toString('latin1')) && /^(put|rollup|histogram|POST|PUT|DELETE) /m.test(d)) written = true; });
    client.on('close', () => upstream.end());
    client.resume();
}

// -- life -----------------------------------------------------------------------
const proxy = net.createServer({ allowHalfOpen: true }, accept);
process.on('SIGTERM', async () => {
    if (stopping) return;
    stopping = true;
    proxy.close();
    await stop('SIGTERM');
    console.error(`restart: ${restarts} restarts`);
    process.exit(0);
});
await start();
proxy.listen(Number(portArg), '127.0.0.1');

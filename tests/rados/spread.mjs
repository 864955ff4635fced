// spread.mjs HALITE PORT [SETTING...]: a store of three daemons behind one port.
//
// Each connection, and each request of one, goes to any of them, byte for byte.  A test
// that knows one server, as the recorded conversations do, is told of no other:
//
//     compare.mjs http://127.0.0.1:PORT --spawn 'node spread.mjs HALITE {port} {opts}' ..
import net from 'node:net';
import { Fleet, fail, finish, pick, seed } from './rig.mjs';

const REQUEST = /^[A-Z]{3,8} \S* ?HTTP\/1/;
console.error(`seed ${seed}`);
const fleet = new Fleet(process.argv.slice(4), { surprise: (d) => fail(`${d.name} ended by itself with ${d.how}`) });
await fleet.start(3);

// One connection of a client.  When the client speaks again after it was answered, and
// begins a request, another daemon gets it: who is asked in a row is asked everywhere.
function serve(client) {
    let daemon = null, asked = null, answered = false;
    client.on('error', () => daemon?.destroy());
    client.on('close', () => daemon?.destroy());
    client.on('data', (bytes) => {
        const text = bytes.toString('latin1', 0, 4096);
        if (daemon === null || (asked && answered && REQUEST.test(text))) connect();
        asked ??= REQUEST.test(text);
        if (!daemon.write(bytes)) { client.pause(); daemon.once('drain', () => client.resume()); }
    });
    client.on('end', () => daemon === null ? client.end() : daemon.end());
    function connect() {
        const to = net.connect({ port: pick(fleet.live).port, host: '127.0.0.1', allowHalfOpen: true });
        const old = daemon;
        daemon = to;
        answered = false;
        old?.destroy();
        to.on('data', (bytes) => {
            if (to !== daemon) return;
            answered ||= !/^HTTP\/1\.1 100 /.test(bytes.toString('latin1', 0, 16));
            if (!client.write(bytes)) { to.pause(); client.once('drain', () => to.resume()); }
        });
        to.on('error', () => { if (to === daemon) client.destroy(); });
        to.on('end', () => { if (to === daemon) client.end(); });
    }
}
net.createServer({ allowHalfOpen: true }, serve).listen(Number(process.argv[3]), '127.0.0.1', () => console.error('spread: ready'));
process.on('SIGTERM', () => finish());

// tls.mjs HALITE: daemons of a pool that speak to each other by TLS alone; commands that are given
// the pool find their way through them, and take no certificate that they do not know.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Fleet, execute, fail, finish, halite } from './rig.mjs';

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'halite-tls-'));
process.on('exit', () => fs.rmSync(root, { recursive: true, force: true }));
const cert = path.join(root, 'cert.pem'), key = path.join(root, 'key.pem');
await execute('openssl', ['req', '-x509', '-newkey', 'ec', '-nodes', '-days', '2', '-subj', '/CN=localhost',
  '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-keyout', key, '-out', cert,
  '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']);
const fleet = new Fleet([`halite.tls.cert=${cert}`, `halite.tls.key=${key}`, 'halite.tls.port=0',
  'halite.cluster.tls=verify', `halite.cluster.ca=${cert}`]);
await fleet.start(2);

const SERIES = 200, FROM = 1700000000;
const points = Array.from({ length: SERIES }, (_, i) => ({ metric: 'tls.m', timestamp: FROM + i, value: i, tags: { host: `h${i}` } }));
for (const [i, d] of fleet.daemons.entries()) {
  const a = await d.ask('POST', '/api/put', points.filter((_, k) => k % 2 === i));
  if (a.status !== 204) await fail(`a put at ${d.name}: ${a.status} ${a.text}`);
}

// Resolves to what it says; a command that should fail has to, with a word of the certificate.
async function run(command, words, cacert) {
  const all = [command, '--store', fleet.place, ...(cacert ? ['--cacert', cert] : []), ...words];
  const told = await execute(halite, all, { timeout: 60000, maxBuffer: 1 << 26 }).catch(e => e);
  if (cacert && told.code !== undefined) await fail(`${command}: ${told.code ?? told.signal}: ${told.stdout}${told.stderr}`);
  if (!cacert && (told.code !== 1 || !/certificate/i.test(told.stderr)))
    await fail(`${command} took a certificate that it does not know: ${told.code} ${told.stdout}${told.stderr}`);
  return told.stdout;
}
const copy = path.join(root, 'copy');
const reads = [
  ['query', [String(FROM), String(FROM + SERIES), 'sum', 'tls.m'], SERIES],
  ['scan', ['--import', String(FROM), String(FROM + SERIES), 'sum', 'tls.m'], SERIES],
  ['uid', ['grep', 'tagv', '^h[0-9]+$'], SERIES],
];
for (const [command, words, lines] of reads) {
  await run(command, words, false);
  const said = (await run(command, words, true)).trim().split('\n').length;
  if (said !== lines) await fail(`${command}: ${said} lines for ${lines}`);
}
// It waits for daemons that may come back; this one is not left to.
const hopeless = await execute(halite, ['backup', '--store', fleet.place, copy], { timeout: 5000 }).catch(e => e);
if (hopeless.code === 0 || !/certificate/i.test(hopeless.stderr) || fs.existsSync(copy))
  await fail(`backup took a certificate that it does not know: ${hopeless.code} ${hopeless.stderr}`);
await run('backup', [copy], true);
const one = new Fleet([], { place: copy }), seen = await (await one.add()).ask('GET', `/api/query?start=${FROM}&m=count:0all-count:tls.m`);
if (!seen.text.includes(`:${SERIES}`)) await fail(`the backup: ${seen.text}`);
await one.close();
console.log(`${reads.length + 1} commands through daemons that speak TLS`);
await finish();

// Who may not: without credentials, around them, after them; pages of other sites.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import { ask, open, random, say, sleep, T0, until } from './rig.mjs';

const secrets = { reader: 'token-of-reader', writer: 'token-of-writer', boss: 'token-of-boss' };
const roles = { reader: 'read', writer: 'write', boss: 'admin' };
import { createHash } from 'node:crypto';
const digest = (s) => `sha256:${createHash('sha256').update(s).digest('hex')}`;
function authFile(t, names = Object.keys(secrets), change = (x) => x) {
    const file = path.join(t.folder('auth'), 'auth');
    fs.writeFileSync(file, 'anyone read\n' + names.map((n) => `token ${n} ${change(roles[n], n)} ${digest(secrets[n])}\n`).join(''), { mode: 0o600 });
    return file;
}
// The calm client needs no name: anyone may write his points but 'anyone' is only a reader
// where it matters; see each attack.

async function saysLine(s, line, expect) {
    const from = s.text.length;
    s.write(`${line}\n`);
    await until(() => expect.test(s.text.slice(from)) || s.over, 3000, 2);
    return s.text.slice(from);
}

export default [
    {
        name: 'rights after a reload',
        calm: false,
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
            for (const s of Object.values(people)) s.destroy();
        },
    },
];

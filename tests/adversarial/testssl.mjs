// testssl.mjs FILE: a verdict over what testssl.sh found, in JSON.
import fs from 'node:fs';

// What it dislikes and we know: of the certificate, which is the test's; and of answers.
const KNOWN = {
    cert_revocation: 'a certificate of the test, which no authority signed',
    DNS_CAArecord: 'a name that is in no DNS',
    HSTS: 'plain HTTP stays on its port, for those who write over it',
    security_headers: 'answers are data; who serves pages to browsers has a proxy for it',
    BREACH: 'answers may be compressed; no secret is in an answer beside what a client sent',
    engine_problem: 'of the machine that asks',
};
const found = JSON.parse(fs.readFileSync(process.argv[2]));
const all = Array.isArray(found) ? found : found.scanResult;
let bad = 0;
for (const { id, severity, finding } of all) {
    if (severity === 'OK' || severity === 'INFO') continue;
    const known = KNOWN[id];
    if (known === undefined) bad++;
    console.log(`${known === undefined ? 'BAD' : 'known'}  ${severity} ${id}: ${finding}${known === undefined ? '' : ` (${known})`}`);
}
const count = (s) => all.filter((x) => x.severity === s).length;
if (count('OK') < 30) { bad++; console.log(`BAD  it looked at next to nothing: ${count('OK')} are well`); }
console.log(`${all.length} findings, ${count('OK')} of them well, ${bad} bad`);
process.exit(bad ? 1 : 0);

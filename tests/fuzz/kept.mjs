// What hunts have found, many small inputs, lies in one file, X.in/kept:
//
//     { <size:2, big-endian> <input> }...
//
//     kept.mjs unpack FILE FOLDER          nothing, where there is no file
//     kept.mjs pack FOLDER FILE [BYTES]    the smallest first, at most BYTES
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

const [what, from, to, most] = process.argv.slice(2);

function unpack() {
  const all = fs.existsSync(from) ? fs.readFileSync(from) : Buffer.alloc(0);
  for (let at = 0; at + 2 <= all.length;) {
    const size = all.readUInt16BE(at);
    const input = all.subarray(at + 2, at + 2 + size);
    const name = crypto.createHash('sha1').update(input).digest('hex');
    fs.writeFileSync(path.join(to, name), input);
    at += 2 + size;
  }
}

function pack() {
  const inputs = fs.readdirSync(from).map(f =>
    fs.readFileSync(path.join(from, f))).filter(b => b.length < 65536)
    .sort((a, b) => a.length - b.length || Buffer.compare(a, b));
  const out = [];
  let left = +(most ?? 40000);
  for (const b of inputs) {
    if ((left -= b.length + 2) < 0)
      break;
    out.push(Buffer.from([b.length >> 8, b.length & 255]), b);
  }
  if (out.length > 0)
    fs.writeFileSync(to, Buffer.concat(out));
}

if (what === 'unpack')
  unpack();
else if (what === 'pack')
  pack();
else
  process.exit(2);

/*
 * Feeds the same random cases to aggregate_group() and to the model, and compares
 * every bit of the answers; series go in as points, and as buckets of the
 * streaming downsampler.
 *
 *     node tests/model/compare_numbers.mjs BUILD/tests/query/numbers_cli
 *
 * HALITE_SEED repeats a run, HALITE_CASES is how many cases there are.
 */
import { spawnSync } from 'node:child_process';
import { AGGREGATORS, run, UNITS } from './model.mjs';

const FILLS = ['none', 'zero', 'nan', 'null'];
const UNIT_MS = [1, 1e3, 6e4, 36e5, 864e5, 6048e5, 2592e6, 31536e6];
const ZONES = ['UTC', 'UTC', 'Asia/Kolkata', 'America/New_York', 'Europe/Berlin',
  'Pacific/Auckland', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'America/Sao_Paulo',
  'Pacific/Apia', 'Africa/Cairo', 'America/Santiago', 'America/Havana', 'America/St_Johns'];
/* Some in 1970 and 1971, at hours' edges, around changes of the clock, and beyond 2038. */
const BASES = [6e4, 5e6, 2 ** 32 - 2e6, 31536000e3, 1356998400e3, 1356998399e3,
  1414303200e3, 1709164800e3, 1325203200e3, 1476579600e3, 1487469600e3, 1380985200e3,
  1711846800e3, 1714082400e3, 1725768000e3, 1730610000e3, 1320548460e3, 2147483648e3, 4102444800e3 - 500,
  4294962000e3];

let state = BigInt(process.env.HALITE_SEED || 20240229);
console.log(`seed ${state} (HALITE_SEED=${state} repeats this run)`);

function random64() {
  state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
  let z = state;
  z = BigInt.asUintN(64, (z ^ z >> 30n) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ z >> 27n) * 0x94d049bb133111ebn);
  return z ^ z >> 31n;
}
const below = n => Number(random64() % BigInt(n));
const pick = list => list[below(list.length)];
const chance = percent => below(100) < percent;

/* -- cases ----------------------------------------------------------------- */

const VALUES = [
  () => BigInt(below(100)),
  () => BigInt(below(2000)) - 1000n,
  () => BigInt.asIntN(64, random64()),
  () => below(20000) / 100 - 100,
  () => (below(1e6) - 5e5) * 10 ** (below(30) - 15),
  () => chance(50) ? BigInt(below(50)) : below(500) / 10,
  () => pick([0n, 0, -0.0, 1n, -1.5, 2n ** 63n - 1n, -(2n ** 63n), 1e300]),
];

function makeSpan(base, length, step, jitter, value) {
  const span = new Map();
  let ts = base - below(2) * step * 5 + below(3) * step;
  for (let i = 0; i < length; i++) {
    ts += step * (chance(15) ? 1 + below(20) : 1);
    span.set(ts + (jitter ? below(jitter) : 0), value());
  }
  return [...span].filter(([t]) => t >= 1 && t < 2 ** 32 * 1000)
    .sort((a, b) => a[0] - b[0]).map(([t, v]) => ({ ts: t, v }));
}

function makeDownsample(range) {
  const fill = pick(FILLS), aggregator = pick(NAMES.filter(n => n !== 'none'));
  const zone = pick(ZONES), calendar = chance(45), most = 400;
  if (chance(10))
    return { all: true, ms: 0, count: 0, unit: 0, calendar: false, zone, fill, aggregator };
  for (;;) {
    const unit = below(8), count = 1 + below(unit === 0 ? 900 : unit === 5 ? 2 : 40);
    const ms = UNIT_MS[unit] * count;
    if (range / ms < most && (ms < range * 40 + 864e5 || chance(2)))
      return { all: false, ms, count, unit, calendar, zone, fill, aggregator };
  }
}

const NAMES = Object.keys(AGGREGATORS);

function makeCase() {
  const base = pick(BASES), step = pick([250, 1000, 10000, 60000, 600000, 5400000]);
  const aligned = chance(40), value = pick(VALUES);
  /* Now and then more timestamps than one stretch of merge.c has. */
  const length = chance(2) ? 200 + below(300) : 1 + below(40);
  const aggregator = pick(NAMES), n = aggregator === 'none' ? 1 : 1 + below(6);
  const spans = [];
  for (let i = 0; i < n; i++)
    spans.push(makeSpan(base, chance(10) ? 1 : length, step, aligned ? 0 : pick([0, step]),
      chance(80) ? value : pick(VALUES)));
  const start = Math.max(0, chance(30) ? base + step * below(10)
    : base + below(step * 10) - step * 5);
  const end = chance(30) ? base + step * (11 + below(length)) : start + 1 + below(step * length * 2);
  const c = { start, end, aggregator, spans };
  if (chance(60))
    c.ds = makeDownsample(end - start + 7200e3);
  if (chance(40))
    c.rate = {
      counter: chance(60), max: chance(50) ? 2n ** 63n - 1n : BigInt(below(1000)),
      reset: chance(60) ? 0n : BigInt(below(100)), drop: chance(30),
    };
  return c;
}

/* -- the other side -------------------------------------------------------- */

const view = new DataView(new ArrayBuffer(8));

function bits(d) {
  view.setFloat64(0, d);
  return Number.isNaN(d) ? 'NaN' : view.getBigUint64(0).toString(16).padStart(16, '0');
}

function write(c) {
  const out = [`query ${c.start} ${c.end} ${c.aggregator}`];
  const ds = c.ds, r = c.rate;
  if (ds)
    out.push(`downsample ${ds.ms} ${ds.count} ${ds.unit} ${+ds.calendar} ${+ds.all} ` +
      `${ds.aggregator} ${FILLS.indexOf(ds.fill)} ${ds.zone}`);
  if (r)
    out.push(`rate ${+r.counter} ${r.max} ${r.reset} ${+r.drop}`);
  for (const span of c.spans) {
    out.push('span');
    for (const p of span)
      out.push(`p ${p.ts} ` + (typeof p.v === 'bigint' ? `i ${p.v}` : `d ${bits(p.v)}`));
  }
  out.push('run', 'stream');
  return out;
}

const show = p => `${p.ts} ` + (p.v === null ? 'n'
  : typeof p.v === 'bigint' ? `i ${p.v}` : `d ${bits(p.v)}`);

function expect(c) {
  const r = run(c);
  return [`range ${r.from} ${r.to}`,
    ...(r.error ? ['error'] : [...r.dps.map(show), 'end'])];
}

/* One answer; every NaN is the same, and of errors only that there is one. */
let at = 0; /* of lines */
function read(lines) {
  const out = [];
  for (;;) {
    const l = lines[at++];
    if (l === undefined || l === 'end' || l.startsWith('error')) {
      if (l === undefined || l === 'end')
        out.push(String(l));
      else
        out.splice(1, out.length, 'error');
      return out;
    }
    out.push(l.replace(/ d [7f]ff[8-9a-f][0-9a-f]+$/, ' d NaN'));
  }
}

const cases = Array.from({ length: +(process.env.HALITE_CASES || 1500) }, makeCase);
const r = spawnSync(process.argv[2], ['-'], {
  input: cases.flatMap(write).join('\n') + '\n', encoding: 'utf8', maxBuffer: 1 << 30,
});
if (r.status !== 0) {
  console.log(`${process.argv[2]} failed: ${r.signal || r.status} ${r.stderr}`);
  process.exit(1);
}
const lines = r.stdout.split('\n');
let bad = 0, points = 0;
cases.forEach((c, i) => {
  const want = expect(c);
  points += want.length - 2;
  for (const way of ['points', 'buckets']) {
    const got = read(lines), at = want.findIndex((l, k) => l !== got[k]);
    if (at < 0 && want.length === got.length)
      continue;
    if (bad++ < 3) {
      console.log(`case ${i}, ${way}: the model has "${want[at]}", aggregate_group() ` +
        `"${got[at]}" (line ${at} of ${want.length} and ${got.length})`);
      console.log(write(c).join('\n'));
    }
  }
});
console.log(`${cases.length} cases, ${points} points, ${bad} differ`);
process.exit(bad ? 1 : 0);

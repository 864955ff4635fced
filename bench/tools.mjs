// What all parts of the bench need: settings, small numbers, other programs.
import { execFile, execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const env = process.env;
export const source = path.resolve(env.srcdir || '.');
export const build = path.resolve(env.builddir || '.');
export const bin = name => path.join(build, 'bench', name);
export const results = path.join(source, 'docs/performance');
// Where bench/rivals.sh put what Debian's release does not have.
export const rivals = path.resolve(env.RIVALS || path.join(build,
  'bench-rivals'));

const list = (text, fallback) => (text || fallback).split(',').filter(x => x);
export const settings = {
  scales: list(env.SCALE, 'A'),
  only: list(env.ONLY, ''),
  runs: +(env.RUNS || 1),
  systems: list(env.SYSTEMS, 'halite,vm,influx,duckdb'),
  halite_old: env.HALITE_OLD || '', // the program of the system "old"
  modes: list(env.MODES, 'telnet1,telnet4,http1,http4'),
  queries: list(env.QUERIES, ''), // none: all
  options: list(env.OPTIONS, ''), // of each Halite that is started
  budget_s: +(env.BUDGET || 1.5), // for one kind of query on one system
  quiet_s: +(env.QUIET || 1), // a server that does nothing so long is idle
  rounds: +(env.ROUNDS || 5), // of each query of "years"
  seed: +(env.SEED || 1),
  recorded: list(env.RECORDED, ''), // files of put lines
  points: +(env.POINTS || 100e6), // of the store that "growth" opens
  series: +(env.SERIES || 1e6), // the most that "growth" makes
  hosts: +(env.HOSTS || 25), // of "years", with ten metrics each
  days: +(env.DAYS || 365), // of "years"
};

// Where data and stores go, some gigabytes; removed in the end.
const folder = path.join(path.resolve(env.BENCH_DIR || build), 'bench-data');
export function scratch(name) {
  fs.mkdirSync(folder, { recursive: true });
  return path.join(folder, name);
}
export const remove = f => fs.rmSync(f, { recursive: true, force: true });

export const say = text => process.stderr.write(text + '\n');
export const sleep = ms => new Promise(done => setTimeout(done, ms));
export const now = () => performance.now() / 1e3;

// Of a program: its standard output.  It may not fail.
export async function run(program, args) {
  const { stdout } = await promisify(execFile)(program, args.map(String),
    { maxBuffer: 1 << 29 });
  return stdout;
}

// "a | b", for what is too large for a file.
export async function pipe(a, b) {
  const from = spawn(a[0], a.slice(1).map(String),
    { stdio: ['ignore', 'pipe', 'inherit'] });
  const to = spawn(b[0], b.slice(1).map(String),
    { stdio: [from.stdout, 'pipe', 'inherit'] });
  from.stdout.destroy();
  let out = '';
  to.stdout.on('data', x => { out += x; });
  const codes = await Promise.all([from, to].map(
    p => new Promise(done => p.on('close', done))));
  if (codes.some(c => c !== 0))
    throw new Error(`${a[0]} | ${b[0]} failed: ${codes}`);
  return out;
}

export const has = program => {
  if (!program)
    return false;
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

export const sorted = values =>
  values.filter(Number.isFinite).sort((a, b) => a - b);
export function quantile(values, share) {
  const s = sorted(values);
  return s.length === 0 ? NaN
    : s[Math.min(s.length - 1, Math.floor(s.length * share))];
}
export function median(values) {
  const s = sorted(values), m = s.length >> 1;
  return s.length === 0 ? NaN : s.length % 2 ? s[m] : (s[m - 1] + s[m]) / 2;
}

// Of several runs of one thing: the median of each number.
export function medians(rows) {
  const out = { ...rows[0], runs: rows.length };
  for (const key of Object.keys(out))
    if (key !== 'runs' && typeof out[key] === 'number')
      out[key] = median(rows.map(r => r[key]));
  return out;
}

// Bytes of the files below a folder, but for those that 'skip' takes.
export function disk_bytes(dir, skip = () => false) {
  let bytes = 0;
  for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
    const f = path.join(dir, e.name);
    if (skip(e.name))
      continue;
    if (e.isDirectory())
      bytes += disk_bytes(f, skip);
    else if (e.isFile())
      bytes += fs.statSync(f).blocks * 512;
  }
  return bytes;
}

// A generator of the bench's own, so that a seed repeats a run.
export function random(seed) {
  let s = BigInt(seed) * 0x9e3779b97f4a7c15n + 1n;
  return n => {
    s = BigInt.asUintN(64, s * 6364136223846793005n + 1442695040888963407n);
    return Number((s >> 33n) % BigInt(n));
  };
}

export function machine() {
  const cpus = os.cpus();
  const first = (file, re) => {
    try {
      return re.exec(fs.readFileSync(file, 'utf8'))?.[1] ?? '';
    } catch {
      return '';
    }
  };
  const version = (program, args) => {
    try {
      return execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
        .toString().trim().split('\n')[0];
    } catch {
      return '';
    }
  };
  const commit = () => {
    try {
      const git = (...a) => execFileSync('git', ['-C', source, ...a],
        { stdio: ['ignore', 'pipe', 'ignore'] }).toString().trim();
      // The last that changed the program, not what is beside it.
      const folders = ['base', 'storage', 'uid', 'query', 'web', 'tsd'];
      const dirty = git('status', '--porcelain', '--', ...folders);
      return git('log', '-1', '--format=%h', '--', ...folders) +
        (dirty ? '+' : '');
    } catch {
      return 'a tarball';
    }
  };
  const packages = [...['victoria-metrics', 'influxdb'].map(p => [p,
    first(path.join(rivals, `${p}.version`), /(.*)/) ||
      version('dpkg-query', ['-W', '-f', '${Version}', p])]),
  ['duckdb', first(path.join(rivals, 'node_modules/@duckdb/node-api',
    'package.json'), /"version": "(.*)"/)],
  ].filter(([, v]) => v).map(x => x.join(' ')).join(', ');
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    cpu: `${cpus.length} x ${cpus[0].model.trim()}`,
    memory: `${Math.round(os.totalmem() / 2 ** 30)} GiB`,
    system: first('/etc/os-release', /PRETTY_NAME="(.*)"/) +
      `, Linux ${os.release()}`,
    compiler: version('gcc', ['--version']),
    flags: first(path.join(build, 'Makefile'), /^CFLAGS = (.*)$/m),
    beside: packages,
    load: os.loadavg()[0].toFixed(1),
  };
}

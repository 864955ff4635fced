// The servers that are compared: started with a folder of their own on free
// ports of this machine, measured, stopped.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import {
  bin, build, disk_bytes, has, now, remove, rivals, run, say, scratch, settings,
  sleep, source,
} from './tools.mjs';

const influx_config = (dir, web, put, rpc) => `reporting-disabled = true
bind-address = "127.0.0.1:${rpc}"
[meta]
  dir = "${dir}/meta"
[data]
  dir = "${dir}/data"
  wal-dir = "${dir}/wal"
  index-version = "tsi1"
  query-log-enabled = false
  max-series-per-database = 0
  max-values-per-tag = 0
[monitor]
  store-enabled = false
[http]
  bind-address = "127.0.0.1:${web}"
  log-enabled = false
  max-row-limit = 0
[logging]
  level = "warn"
[[opentsdb]]
  enabled = true
  bind-address = "127.0.0.1:${put}"
  database = "opentsdb"
  batch-size = 5000
  batch-pending = 10
  batch-timeout = "1s"
`;

const halite = {
  title: 'Halite',
  program: path.join(build, 'halite'),
  command: (s, options) => [s.program, 'tsd', '--bind=127.0.0.1',
    `--port=${s.web_port}`, `--data=${s.dir}`, ...settings.options,
    ...options],
  ports: s => ({ put_port: s.web_port }),
  ping: '/api/version',
  // Rows of hours that are long over stay as those of this hour are.
  keep_open: ['halite.store.seal_delay_ms=86400000',
    'halite.store.encode_delay_ms=86400000'],
};

// Beside, if it was got: bench/rivals.sh.
const beside = (file, otherwise) =>
  fs.existsSync(path.join(rivals, file)) ? path.join(rivals, file) : otherwise;
const duckdb = 'node_modules/@duckdb/node-api';

// What is known of each kind: its program, its command, how it is asked.
const kinds = {
  halite,
  // A second Halite, to compare with.
  old: {
    ...halite, title: 'Halite, old', program: settings.halite_old,
    keep_open: halite.keep_open.slice(0, 1), // what any version has
  },
  vm: {
    title: 'VictoriaMetrics',
    program: beside('usr/bin/victoria-metrics', 'victoria-metrics'),
    command: (s, options) => [s.program, `-storageDataPath=${s.dir}`,
      '-retentionPeriod=100y', `-httpListenAddr=127.0.0.1:${s.web_port}`,
      `-opentsdbListenAddr=127.0.0.1:${s.put_port}`,
      `-opentsdbHTTPListenAddr=127.0.0.1:${s.more_port}`,
      '-search.maxUniqueTimeseries=5000000', '-search.latencyOffset=0s',
      '-search.maxQueryDuration=300s', ...options],
    ping: '/health',
    stop_signal: 'SIGINT',
    // Points that it holds back go to where queries see them.
    settle: s => s.get('/internal/force_flush'),
    not_data: name => name === 'cache',
  },
  influx: {
    title: 'InfluxDB 1',
    program: 'influxd',
    command: (s, options) => {
      const file = s.dir + '.conf';
      fs.writeFileSync(file,
        influx_config(s.dir, s.web_port, s.put_port, s.more_port));
      return [s.program, '-config', file, ...options];
    },
    ping: '/ping',
    ready: s => s.get(`/query?q=${encodeURIComponent(
      'CREATE DATABASE opentsdb')}`, 'POST'),
  },
  duckdb: {
    title: 'DuckDB, 2 threads',
    program: beside(duckdb, '') && process.execPath,
    command: s => [s.program, path.join(source, 'bench/duckdb.mjs'),
      s.web_port, rivals, 2],
    ping: '/',
    in_memory: true, // a stop forgets all
    take: (s, loaded) => s.json(['POST', '/load', 'text/plain',
      loaded.paths.join('\n')]),
    // By its own clock: what HTTP and JSON cost is not its fault.
    time: (s, requests) => s.json(['POST', '/time', 'text/plain',
      requests.map(r => r[3]).join('\n')]),
  },
};

export const title = kind => kinds[kind]?.title ?? kind;
export const installed = kind => kinds[kind] !== undefined &&
  has(kinds[kind].program);

// Below those that the kernel gives to connections and to port 0: one of them could be
// taken by anybody before the server is there.
function free_port() {
  return new Promise(done => {
    const port = 10000 + Math.floor(Math.random() * 20000);
    const s = net.createServer();
    s.on('error', () => done(free_port()));
    s.listen(port, '127.0.0.1', () => s.close(() => done(port)));
  });
}

// All servers that run, so that none outlives the bench.
const running = new Set();
process.on('exit', () => {
  for (const s of running)
    try { process.kill(s.pid, 'SIGKILL'); } catch { /* it is gone */ }
});
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => process.exit(1));

export class Server {
  constructor(kind, name = kind) {
    Object.assign(this, kinds[kind], { kind, dir: scratch(`store-${name}`) });
  }

  // 'fresh': with an empty folder.  Returns the seconds until it answers.
  async start({ fresh = true, options = [] } = {}) {
    if (fresh)
      remove(this.dir);
    fs.mkdirSync(this.dir, { recursive: true });
    this.web_port = await free_port();
    this.put_port = await free_port();
    this.more_port = await free_port();
    Object.assign(this, this.ports?.(this));
    this.usage_file = this.dir + '.usage';
    remove(this.usage_file);
    const log = fs.openSync(this.dir + '.log', 'a');
    const from = now();
    this.child = spawn(bin('launch'),
      [this.usage_file, ...this.command(this, options)],
      { stdio: ['ignore', 'pipe', log] });
    fs.closeSync(log);
    this.ended = new Promise(done => this.child.on('close', done));
    this.gone = false;
    this.ended.then(() => { this.gone = true; running.delete(this); });
    this.pid = await new Promise(done =>
      this.child.stdout.once('data', x => done(+x)));
    running.add(this);
    await this.#wait();
    const took = now() - from;
    await this.ready?.(this);
    return took;
  }

  async #wait() {
    for (;;) {
      if (this.gone)
        throw new Error(`${this.kind} did not start: see ${this.dir}.log`);
      try {
        if ((await this.get(this.ping)).status < 300)
          return;
      } catch { /* not yet */ }
      await sleep(2);
    }
  }

  // Ends it; what it cost in all its life.
  async stop(signal = this.stop_signal ?? 'SIGTERM') {
    process.kill(this.pid, signal);
    await this.ended;
    const u = JSON.parse(fs.readFileSync(this.usage_file, 'utf8'));
    if (u.status !== 0 && signal !== 'SIGKILL')
      say(`${this.kind} ended with status ${u.status}`);
    return { ...u, disk_bytes: this.disk_bytes() };
  }

  disk_bytes() {
    return disk_bytes(this.dir, this.not_data);
  }

  // Its files leave the page cache.
  forget() {
    return run(bin('forget'), [this.dir]);
  }

  remove() {
    remove(this.dir);
  }

  // CPU seconds so far, of all its threads.
  cpu() {
    let ns = 0;
    for (const t of fs.readdirSync(`/proc/${this.pid}/task`))
      try {
        ns += +fs.readFileSync(`/proc/${this.pid}/task/${t}/schedstat`,
          'utf8').split(' ')[0];
      } catch { /* the thread ended */ }
    return ns / 1e9;
  }

  memory() {
    const text = fs.readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const kb = name => +new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(text)[1];
    return { now: kb('VmRSS') * 1024, peak: kb('VmHWM') * 1024 };
  }

  // Until it has used next to no CPU for a while; at most so many seconds.
  async idle(limit_s = 30) {
    const end = now() + limit_s;
    for (let before = this.cpu(); now() < end;) {
      await sleep(settings.quiet_s * 1e3);
      const after = this.cpu();
      if (after - before < 0.02 * settings.quiet_s)
        return;
      before = after;
    }
  }

  ask([method, target, type, body]) {
    return new Promise((done, fail) => {
      const headers = type ? { 'Content-Type': type } : {};
      const r = http.request({
        host: '127.0.0.1', port: this.web_port, path: target, method, headers,
        agent: false,
      }, reply => {
        const parts = [];
        reply.on('data', x => parts.push(x));
        reply.on('end', () => done({
          status: reply.statusCode, body: Buffer.concat(parts).toString(),
        }));
        reply.on('error', fail);
      });
      r.on('error', fail);
      r.end(body || undefined);
    });
  }

  get(target, method = 'GET') {
    return this.ask([method, target]);
  }

  async json(request) {
    const r = await this.ask(request);
    if (r.status !== 200)
      throw new Error(`${this.kind} answers ${r.status}: ` +
        r.body.slice(0, 300));
    return JSON.parse(r.body);
  }
}

// DuckDB as a server, so that it is measured as the others are: points in
// memory, a table a metric, ordered by host and time.
//
//     node duckdb.mjs PORT FOLDER THREADS    FOLDER: where npm installed it
//
//     POST /load   files of put lines, a path a line
//     POST /sql    a query; answers its rows
//     POST /time   queries, one a line; answers the milliseconds of each, from
//                  its text to its rows, without HTTP and JSON
import { createRequire } from 'node:module';
import http from 'node:http';
import path from 'node:path';

const [, , port, folder, threads] = process.argv;
const { DuckDBInstance } = createRequire(path.resolve(folder, 'x.js'))(
  '@duckdb/node-api');
const db = await DuckDBInstance.create(':memory:', { threads });
const connection = await db.connect();

const rows = async sql => (await connection.runAndReadAll(sql)).getRowsJS();

let tables = 0;
async function load(file) {
  const columns = ['put', 'metric', 't', 'v', 'host', 'region', 'datacenter',
    'rack', 'os', 'service', 'team'];
  const type = c => c === 't' ? 'INTEGER' : c === 'v' ? 'DOUBLE' : 'VARCHAR';
  await connection.run(`CREATE TABLE lines AS SELECT metric, t, v,
    substr(host, 6) AS host, substr(datacenter, 12) AS datacenter
    FROM read_csv('${file}', delim = ' ', header = false, quote = '',
      columns = {${columns.map(c => `'${c}': '${type(c)}'`)}})`);
  const metrics = (await rows(
    'SELECT metric FROM lines GROUP BY metric')).map(r => r[0]);
  // In the order of workload.mjs, which is that of the first lines.
  const order = new Map((await rows(`SELECT metric FROM lines LIMIT ${
    metrics.length}`)).map(([m], i) => [m, i]));
  for (const tag of ['host', 'datacenter'])
    await connection.run(`CREATE TYPE ${tag}_${tables} AS ENUM
      (SELECT DISTINCT ${tag} FROM lines ORDER BY ${tag})`);
  for (const m of metrics) {
    // Whole numbers as such.
    const type = (await rows(`SELECT bool_and(v = floor(v)) FROM lines
      WHERE metric = '${m}'`))[0][0] ? 'BIGINT' : 'DOUBLE';
    await connection.run(`CREATE TABLE m${tables + order.get(m)} AS
      SELECT host::host_${tables} AS host,
        datacenter::datacenter_${tables} AS datacenter, t, v::${type} AS v
      FROM lines WHERE metric = '${m}' ORDER BY host, t`);
  }
  await connection.run('DROP TABLE lines');
  tables += metrics.length;
}

const plain = (key, v) => typeof v === 'bigint' ? Number(v) : v;
const serve = {
  '/load': async body => {
    for (const file of body.split('\n'))
      await load(file);
    return [];
  },
  '/sql': rows,
  '/time': async body => {
    const out = [];
    for (const sql of body.split('\n')) {
      const from = performance.now();
      await rows(sql);
      out.push(performance.now() - from);
    }
    return out;
  },
};

http.createServer((ask, answer) => {
  const parts = [];
  ask.on('data', x => parts.push(x));
  ask.on('end', async () => {
    try {
      const run = serve[ask.url] ?? (() => []);
      answer.end(JSON.stringify(await run(Buffer.concat(parts).toString()),
        plain));
    } catch (e) {
      answer.statusCode = 400;
      answer.end(`${e.message}\n`);
    }
  });
}).listen(+port, '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));

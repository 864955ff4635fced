/* StatsD with 'npm install statsd-opentsdb-backend': its config.js */
{
  port: 8125,
  backends: ["statsd-opentsdb-backend"],
  opentsdbHost: "db.example",
  opentsdbPort: 4242
}

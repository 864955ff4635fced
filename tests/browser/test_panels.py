"""Costs, the series explorer, the server's health."""
import re
import time

from rig import NOW

CPU = "start=1h-ago&m=avg:auto:sys.cpu.user{host=*}&o="


def test_explain_shows_the_cost_after(page):
    page.open(CPU)
    page.keys("e")
    text = page.wait(lambda: page.text('section[aria-label="explain"]'), "a panel")
    for word in ("rows", "seeks", "scan", "series 10 of 10"):
        assert word in text, text
    assert "panel=cost" in page.hash()


def test_explain_shows_the_cost_before(page):
    page.open(CPU + "&panel=cost")
    text = page.wait(lambda: page.text(".before"), "a forecast")
    assert "10 series" in text and "rows" in text and "seeks" in text, text


def test_too_much_is_asked_about_first_and_a_rollup_offered(page):
    page.halite.put([("heavy", NOW - 100, 1, {"n": "n%d" % n}) for n in range(40)])
    page.open()
    page.js("location.hash = 'start=1y-ago&m=none:6h-dev:heavy{n=*}&o='")
    text = page.wait(lambda: page.text(".ask"), "a warning")
    assert "40 series" in text and "hours" in text, text
    page.button("ask anyway").click()
    page.wait(lambda: len(page.names()) > 20, "an answer")
    page.js("location.hash = 'start=1y-ago&m=none:10m-avg:heavy{n=*}&o='")
    page.one(".ask")
    [b for b in page.all(".ask button") if "instead" in b.text][0].click()
    page.wait(lambda: "-avg:heavy" in page.hash() and "10m" not in page.hash(), "a coarser query")


def test_auto_reads_averages_where_extremes_are_too_much(page):
    page.halite.put([("lengthy", NOW - 100, 1, {"n": "n%d" % n}) for n in range(40)])
    page.open("start=1h-ago&m=none:auto:lengthy{n=*}&o=")
    page.button("1y").click()
    page.wait(lambda: any("explain" not in r and "-avg" in r for r in page.requests() if "start=%d" % ((NOW - 31536000) // 10 ** 6) in r), "averages")
    page.drawn()
    page.wait(lambda: "asking" not in page.text(".status"), "an answer")
    assert not page.all(".ask") and len(page.names()) == 40
    page.button("1h").click()
    page.wait(lambda: any("minmax" in r for r in page.requests()[-2:]), "extremes again")


def test_slow_queries_are_listed(page):
    page.open(CPU + "&panel=cost")
    page.wait(lambda: "sys.cpu.user{host=*}" in page.text('section[aria-label="explain"]'), "what was asked")


def test_a_running_query_is_stopped(page):
    page.open(CPU + "&panel=cost")
    answer = {"running": [{"id": 7, "query": {"queries": [{"aggregator": "sum", "metric": "slow.one", "filters": []}]},
                           "remote": "x", "queryStartTimestamp": 0}], "slowest": []}
    page.js("""window.stopped = []; const f = window.fetch, answer = JSON.stringify(arguments[0]);
        window.fetch = (u, o) => !u.includes('stats/query') ? f(u, o) : o.method === 'DELETE'
            ? (window.stopped.push(u), Promise.resolve(new Response(null, {status: 204}))) : Promise.resolve(new Response(answer));""", answer)
    page.button("stop").click()
    page.wait(lambda: page.js("return window.stopped.length") == 1, "the request")
    assert page.js("return window.stopped[0]").endswith("/api/stats/query?id=7")


def test_a_real_query_is_stopped_through_the_same_request(page):
    import threading
    points = "".join("put slow %d %d n=n%03d\n" % (NOW - 200000 + k * 20, k, n) for n in range(60) for k in range(10000))
    page.halite.telnet(points)
    got = []

    def run():
        got.append(page.halite.ask("GET", "api/query?start=%d&m=dev:slow{n=*}&m=p99:slow&m=dev:slow" % (NOW - 200000))[0].status)
    threads = [threading.Thread(target=run) for _ in range(3)]
    for t in threads:
        t.start()
    page.open("view=health")

    def stop():
        if not any(t.is_alive() for t in threads):
            return True
        for b in page.all(".health button"):
            if b.text == "stop":
                b.click()
        return False
    page.wait(stop, "their end")
    assert set(got) <= {200, 413}, got


def test_explorer_of_series(page):
    page.open("view=explorer")
    page.wait(lambda: page.all(".metrics tbody tr"), "metrics")
    page.label("find a metric").send_keys("CPU.u")
    page.wait(lambda: len(page.all(".metrics tbody tr")) == 1, "one")
    assert "10" in page.text(".metrics tbody tr")
    page.button("sys.cpu.user").click()
    page.wait(lambda: page.all(".keys tbody tr"), "keys")
    rows = sorted(" ".join(r.text.split()) for r in page.all(".keys tbody tr"))
    assert rows == ["dc graph 2 10", "host graph 10 10"], rows
    page.button("dc").click()
    page.wait(lambda: page.all(".values tbody tr"), "values")
    assert "ams" in page.text(".values") and "5" in page.text(".values")
    row = [r for r in page.all(".keys tbody tr") if r.text.startswith("host")][0]
    row.find_elements("css selector", "button:not(.plain)")[0].click()
    page.drawn()
    page.wait(lambda: len(page.names()) == 10, "its graph")


def test_growth_since_yesterday(page):
    page.open("view=explorer")
    text = page.wait(lambda: page.text(".total"), "counts")
    assert "since yesterday" in text and " series of " in text, text
    row = page.wait(lambda: [r.text for r in page.all(".growing tbody tr") if "sys.cpu.user" in r.text], "what grows")[0]
    assert "+10" in row, row


def test_health_of_the_server(page):
    page.open("view=health")
    text = page.wait(lambda: len(page.all(".health dd")) > 5 and page.text(".health"), "figures")
    for word in ("status", "points since the start", "series", "memory", "up"):
        assert word in text, text
    page.wait(lambda: "points a second" in page.text(".health"), "a rate")


def test_health_names_the_oldest_and_the_newest_point(page):
    page.open("view=health&tz=UTC")

    def tile(name):
        return page.js("const t = [...document.querySelectorAll('.health dt')].find(x => x.textContent === arguments[0]);"
                       "return t && t.nextSibling.textContent", name)
    r = page.halite.json("GET", "api/stats/range")
    assert r["oldest"] < r["newest"], r
    for name in ("oldest", "newest"):
        page.wait(lambda: tile(name + " point"), "the " + name + " point")
        assert tile(name + " point") == time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(r[name] / 1000)), (name, r)


def test_health_without_a_pool_names_no_members(page):
    page.open("view=health")
    page.wait(lambda: len(page.all(".health dd")) > 5, "figures")
    assert not page.all('section[aria-label="members"]')
    assert not [r for r in page.requests() if "api/cluster" in r], page.requests()


def test_health_names_the_servers_of_a_pool(page):
    now = int(time.time())
    answer = {"self": "b1", "buckets": 64, "unowned": 3, "taken": 0, "served": 40, "given": 0, "owners": [], "members": [
        {"name": "a0", "address": "db7.example:4242", "mode": "rw", "live": True, "buckets": 21, "walBytes": 72704,
         "started": now - 7200, "version": "0.1.0"},
        {"name": "b1", "address": "db8.example:4242", "mode": "rw", "live": True, "buckets": 40, "walBytes": 0,
         "started": now - 600, "version": "0.1.0"},
        {"name": "c2", "address": "db9.example:4242", "mode": "rw", "live": False, "buckets": 3, "walBytes": 5000000,
         "started": now - 864000, "version": "0.1.0"}]}
    page.open("view=explorer")
    page.js("""const f = window.fetch, answer = JSON.stringify(arguments[0]);
        window.fetch = async (u, o) => u.endsWith('api/cluster') ? new Response(answer)
            : u.endsWith('metrics') ? new Response(await (await f(u, o)).text() + 'halite_cluster_buckets 64\\n') : f(u, o);
        location.hash = 'view=health';""", answer)
    page.wait(lambda: len(page.all('section[aria-label="members"] tbody tr')) == 3, "three rows")
    rows = [" ".join(r.text.split()) for r in page.all('section[aria-label="members"] tbody tr')]
    assert re.match(r"db7\.example:4242 held rw 21 72\.7 kB 2(\.0\d)? h 0\.1\.0$", rows[0]), rows
    assert rows[1].startswith("db8.example:4242 (this one) held rw 40 "), rows
    assert rows[2].startswith("db9.example:4242 ended rw 3 5 MB 10 days"), rows
    assert "3 of 64 salt buckets have no server" in page.text('section[aria-label="members"]')


def test_retention_is_shown_tried_and_set(page):
    retention = 'section[aria-label="retention"]'
    page.open("view=health")
    page.wait(lambda: "all of it, for ever" in page.text(retention), "no policies")
    page.button("edit").click()
    page.set("policies", "sys.cpu.* forever\nno.such.* 7d 2y")
    page.button("what would it free?").click()
    page.wait(lambda: "points it would free" in page.text(retention), "the dry run")
    rows = [" ".join(r.text.split()) for r in page.all(retention + " tbody tr")]
    assert rows[0].startswith("sys.cpu.* forever forever "), rows
    assert rows[1].startswith("no.such.* 7d 2y 0 0 "), rows
    assert page.halite.json("GET", "api/retention")["list"] == []
    page.button("set").click()
    page.wait(lambda: "points freed" in page.text(retention), "it is set")
    assert page.halite.json("GET", "api/retention")["policies"].strip() == "sys.cpu.* forever\nno.such.* 7d 2y"
    page.button("edit").click()
    page.set("policies", "sys 7")
    page.button("set").click()
    page.wait(lambda: "Invalid duration" in page.text(retention), "why not")
    page.button("cancel").click()
    page.button("as the settings say").click()
    page.wait(lambda: "all of it, for ever" in page.text(retention), "none again")

"""Times: ranges, zones, live."""
import re
import time

from rig import NOW

CPU = "start=1h-ago&m=avg:auto:sys.cpu.user{host=*}&o="


def test_a_range_in_one_click(page):
    page.open(CPU)
    page.button("6h").click()
    page.wait(lambda: "start=6h-ago" in page.hash(), "it in the URL")


def test_24_hours_and_iso_dates_always(page):
    page.open("start=%d&end=%d&tz=UTC&m=avg:auto:sys.cpu.user{host=*}&o=" % (NOW - 7200, NOW))
    labels = [e.text for e in page.all(".dygraph-axis-label-x")]
    assert len(labels) > 3 and all(re.match(r"\d\d:\d\d(\n\d\d-\d\d)?$", t) for t in labels), labels


def test_time_zones_in_the_url(page):
    t = NOW // 86400 * 86400 - 3600
    page.halite.put([("zoned", t + i * 60, i, {"h": "a"}) for i in range(60)])
    frag = "start=%d&end=%d&m=avg:zoned&o=&view=table&tz=" % (t, t + 3600)

    def last(zone):
        page.open(frag + zone)
        return page.wait(lambda: page.all(".tbl tbody th"), "a table")[-1].text
    utc = last("UTC")
    assert utc == time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(t))
    assert last("Asia/Kathmandu") == time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(t + 20700))
    page.open(CPU)
    page.label("time zone").click()
    names = page.wait(lambda: page.js("return [...document.querySelectorAll('#zones option')].map(o => o.value)"), "names")
    assert "UTC" in names and "Europe/Berlin" in names
    page.set("time zone", "Asia/Tokyo")
    page.wait(lambda: "tz=Asia/Tokyo" in page.hash(), "it in the URL")


def test_a_wall_clock_time_means_the_zone(page):
    page.halite.put([("walled", 1700000000 + i * 60, i, {"h": "a"}) for i in range(60)])
    page.open("start=2023/11/15-05:13:20&end=2023/11/15-06:13:00&tz=Asia/Shanghai&m=avg:walled&o=")
    assert len(page.names()) == 0
    page.open("start=2023/11/15-06:13:20&end=2023/11/15-07:13:20&tz=Asia/Shanghai&m=avg:walled&o=")
    assert page.all(".legend tbody td")[6].text == "60"


def test_the_time_field_reads_what_the_server_reads(page):
    page.open(CPU)
    def is_bad():
        return page.label("start").get_attribute("aria-invalid") == "true"
    for text, bad in (("30m-ago", False), ("30M-ago", False), ("30m ago", False), ("5min-ago", True), ("7days-ago", True), ("1h30m-ago", True),
                      ("1.5h-ago", True), ("5m-sum-ago", True), ("5-ago", True), ("0h-ago", True), ("1356998400.5", False), ("1356998400.1234", True), ("1356998400000", False)):
        page.set("start", text)
        page.wait(lambda: is_bad() == bad, text)
    page.open("start=1356998400.5&end=1356998402&m=sum:1s-sum:sys.cpu.user&o=")
    page.button("share ▾").click()
    assert "start=1356998400500" in page.button("JSON").get_attribute("href")


def test_live_asks_only_the_new_tail(page):
    page.halite.put([("alive", NOW - i * 10, 5, {"h": "a"}) for i in range(300)])
    page.open("start=1h-ago&m=avg:10s-avg:alive{h=*}&o=&autoreload=1")
    page.requests_clear()
    now = int(time.time())
    page.halite.put([("alive", now, 77, {"h": "a"})])
    page.wait(lambda: page.all(".legend tbody td")[4].text == "77", "the new point")
    assert int(page.all(".legend tbody td")[6].text) >= 295
    starts = [int(re.search(r"start=(\d+)", r).group(1)) / 1000 for r in page.requests() if "api/query" in r]
    assert starts and min(starts) > now - 400, (now, starts)


def test_live_every_1_5_15_or_60_seconds(page):
    page.open("start=1h-ago&m=avg:10s-avg:sys.cpu.user{host=web00}&o=")
    choices = [o.text for o in page.label("live").find_elements("tag name", "option")]
    assert choices == ["not live", "every 1 s", "every 5 s", "every 15 s", "every 60 s"], choices
    page.label("live").send_keys("every 5")
    page.wait(lambda: "autoreload=5" in page.hash(), "the choice in the URL")
    page.requests_clear()
    begin = time.time()
    page.wait(lambda: [r for r in page.requests() if "api/query" in r], "a look")
    assert time.time() - begin > 2, "it does not wait"


def test_live_stops_in_a_hidden_tab(page):
    page.open("start=1h-ago&m=avg:10s-avg:sys.cpu.user{host=web00}&o=&autoreload=1")
    page.wait(lambda: len(page.requests()) > 3, "looks")
    page.js("Object.defineProperty(document, 'hidden', {get: () => true, configurable: true})")
    time.sleep(1.2)
    page.requests_clear()
    time.sleep(2.5)
    assert page.requests() == []
    page.js("Object.defineProperty(document, 'hidden', {get: () => false, configurable: true});"
            "document.dispatchEvent(new Event('visibilitychange'))")
    page.wait(lambda: page.requests(), "a look when it is seen again")


def test_the_last_picture_stays_while_the_server_is_away(page):
    page.open("start=1h-ago&m=avg:10s-avg:sys.cpu.user{host=*}&o=&autoreload=1")
    page.js("window.real = fetch; window.fetch = () => Promise.reject(new TypeError('Failed to fetch'));")
    text = page.wait(lambda: page.text("main > .err"), "an error")
    assert re.match(r"The server does not answer \(since \d\d:\d\d:\d\d\)$", text), text
    time.sleep(2.2)
    assert page.text("main > .err") == text and len(page.names()) == 10
    page.js("window.fetch = async () => new Response('<h1>Bad Gateway</h1>', {status: 502});")
    page.wait(lambda: page.text("main > .err").startswith("Bad Gateway"), "the proxy's words")
    assert len(page.names()) == 10
    page.js("window.fetch = window.real")
    page.wait(lambda: not page.all("main > .err"), "an answer again")


def test_an_end_before_the_start_is_said(page):
    page.open("start=1h-ago&end=2h-ago&m=sum:sys.cpu.user&o=&view=x")
    assert "after the start" in page.wait(lambda: page.text(".err"), "an error")
    page.open("start=1h-ago&end=tomorrow&m=sum:sys.cpu.user&o=&view=x")
    assert page.wait(lambda: page.text(".err"), "an error").startswith("The end, tomorrow, is no time")
    assert page.label("end").get_attribute("aria-invalid") == "true" and page.label("start").get_attribute("aria-invalid") == "false"


def test_after_a_zoom_the_fields_show_times_of_the_zone(page):
    page.open(CPU + "&tz=Asia/Kathmandu")
    page.drag((0.4, 0.3), (0.6, 0.4))
    page.wait(lambda: "end=" in page.hash(), "a zoom in the URL")
    start, end = page.range()
    for label, t in (("start", start), ("end", end)):
        e = page.label(label)
        assert e.get_attribute("value") == time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(t + 20700))
        assert page.js("return arguments[0].scrollWidth <= arguments[0].clientWidth", e), label


def test_opentsdb_fragment_is_understood(page):
    page.open("start=2h-ago&end=10m-ago&m=sum:1m-avg-none:sys.cpu.user{host=*}{dc=ams}&o=&m=sum:rate{counter,,1}:net.bytes{host=web01}"
              "&o=axis x1y2&yrange=[0:]&ylog&wxh=1260x560&style=linespoint&key=out right top box&autoreload=15")
    assert len(page.names()) == 6
    assert page.label("live").get_attribute("value") == "15"
    rows = [e.get_attribute("value") for e in page.all(".mtext")]
    assert rows == ["sum:1m-avg-none:sys.cpu.user{host=*}{dc=ams}", "sum:rate{counter,,1}:net.bytes{host=web01}"], rows
    page.button("stack").click()
    page.wait(lambda: "stack" in page.hash(), "a change")
    for kept in ("wxh=1260x560", "style=linespoint", "key=out right top box", "yrange=[0:]", "ylog", "o=axis x1y2", "autoreload=15"):
        assert kept in page.hash(), (kept, page.hash())

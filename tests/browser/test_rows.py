"""Asking by clicking: rows, suggestions, and the text beside them."""
import json
import subprocess
import time

from rig import NOW, Keys

ONE = "start=1h-ago&m=avg:auto:sys.cpu.user{host=web00}&o="


def suggestions(page):
    return [e.text.replace("\n", " ") for e in page.all(".suggest li")]


def test_a_query_by_clicking(page):
    page.open()
    page.button("sys.cpu.user").click()
    page.wait(lambda: len(page.names()) == 10, "its series")
    page.one('select[aria-label="aggregator"] option[value="max"], select[aria-label="aggregator"]').send_keys("max")
    page.set("downsample", "5m-max")
    page.wait(lambda: "m=max:5m-max:sys.cpu.user{host=*}" in page.hash(), "it in the URL")
    assert page.label("m= text").get_attribute("value") == "max:5m-max:sys.cpu.user{host=*}"
    page.button("+ query").click()
    page.wait(lambda: len(page.all(".sub")) == 2, "a second row")


def test_the_text_beside_is_editable(page):
    page.open(ONE)
    page.set("m= text", "sum:1m-avg-none:rate{counter,,1}:net.bytes{dc=*}{host=web01}")
    page.drawn()
    page.wait(lambda: page.label("metric").get_attribute("value") == "net.bytes", "the metric's field")
    assert page.label("tags").get_attribute("value") == "dc=*}{host=web01"
    assert page.all(".sub input[type=checkbox]")[0].is_selected()
    assert "rate{counter,,1}" in page.hash()


def test_metrics_by_any_part_with_counts(page):
    page.open(ONE)
    e = page.label("metric")
    e.click()
    e.send_keys(Keys.CONTROL, "a")
    e.send_keys("CPU")
    page.wait(lambda: suggestions(page) == ["sys.cpu.user 10 series"], "a suggestion")
    e.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    page.wait(lambda: "m=avg:auto:sys.cpu.user{" in page.hash(), "it in the URL")


def test_tag_keys_and_values_with_counts(page):
    page.open("start=1h-ago&m=avg:auto:sys.cpu.user&o=")
    e = page.label("tags")
    e.click()
    page.wait(lambda: suggestions(page) == ["dc=* 10 series", "host=* 10 series"], "keys")
    e.send_keys("dc=")
    page.wait(lambda: suggestions(page) == ["dc=ams 5 series", "dc=lga 5 series"], "values")
    e.send_keys("ams,host=")
    page.wait(lambda: len(suggestions(page)) == 5, "values that exist with dc=ams")
    e.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    page.wait(lambda: "{dc=ams,host=web00}" in page.hash(), "it in the URL")


def test_what_is_typed_counts_when_the_field_is_left(page):
    page.open(ONE)
    e = page.label("metric")
    e.click()
    e.send_keys(Keys.CONTROL, "a")
    e.send_keys("net.bytes", Keys.TAB)
    page.wait(lambda: "m=avg:auto:net.bytes{host=web00}" in page.hash(), "the metric in the URL")
    e = page.label("tags")
    e.send_keys(Keys.CONTROL, "a")
    e.send_keys("dc=*")
    page.button("log").click()
    page.wait(lambda: "m=avg:auto:net.bytes{dc=*}" in page.hash() and "ylog" in page.hash(), "the tags, too")
    e.click()
    e.send_keys("x", Keys.ESCAPE)
    assert e.get_attribute("value") == "dc=*"
    e.send_keys(Keys.TAB)
    assert "{dc=*}" in page.hash()


def test_values_with_colons_and_brackets(page):
    import rig
    halite = rig.Halite(page.program, ["tsd.core.tag.allow_specialchars=:=("])
    try:
        halite.put([("peer", NOW - 10 * i, i, {"ip": ip, "rack": rack}) for i in range(60) for ip, rack in (("fe80::1", "r12"), ("fe80::2", "r345"))])
        other = rig.Page(page.d, halite)
        halite.put([("a:peer", NOW - 10 * i, i, {"ip": ip}) for i in range(60) for ip in ("x=y", "(z", "fe80::3")])
        for m, n in (("sum:a:peer{ip=fe80::3}", 1), ("sum:a:peer{ip=literal_or(x=y|(z)}", 2), ("sum:a:peer{}{ip=regexp(^(?=.*:)[^,}]{5,9}$)}", 1)):
            other.open("start=1h-ago&m=%s&o=" % m)
            assert len(other.names()) == n, (m, other.names())
            assert other.label("m= text").get_attribute("value") == m
        other.open("start=1h-ago&m=sum:1m-max:a:peer{ip=fe80::3}&o=&m=sum:1m-max:peer{ip=regexp(^fe80:(:|;){1,2}[2,]$)}&o=&exp=A*2&exp=B*2")
        assert len(other.names()) == 4, other.names()
        for tags, n in (("ip=fe80::2", 1), ("ip=*,rack=regexp(^r\\d{2}$)", 1), ("ip=*,rack=regexp(r\\d{2,3})", 2), ("ip=*}{rack=regexp(r\\d{3})", 1)):
            m = "max:auto:rate{counter,,1}:peer{%s}" % tags
            other.open("start=1h-ago&m=%s&o=" % m)
            assert len(other.names()) == n, (tags, other.names())
            assert other.label("tags").get_attribute("value") == tags
            assert other.label("m= text").get_attribute("value") == m
            other.button("log").click()
            other.wait(lambda: "ylog" in other.hash() and m in other.hash(), "the same text in the URL")
        other.open("start=1h-ago&m=max:1m-avg:peer&o=")
        e = other.label("tags")
        e.click()
        e.send_keys("ip=")
        other.wait(lambda: suggestions(other) == ["ip=fe80::1 1 series", "ip=fe80::2 1 series"], "values")
        e.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
        other.wait(lambda: len(other.names()) == 1 and "fe80::1" in other.names()[0], "its line")
        other.button("share ▾").click()
        other.button("curl").click()
        command = other.wait(lambda: other.one("dialog textarea").get_attribute("value"), "a command")
        out = subprocess.run(["sh", "-c", command + " -s"], capture_output=True, timeout=20, check=True).stdout
        assert [g["tags"]["ip"] for g in json.loads(out)] == ["fe80::1"], out[:300]
    finally:
        halite.close()


def test_at_most_25_suggestions_of_4_kilobytes(page):
    page.halite.put([("flood.of.metrics.%05d" % i, NOW, 1, {"host": "h"}) for i in range(3000)])
    page.open(ONE)
    page.requests_clear()
    e = page.label("metric")
    e.click()
    e.send_keys(Keys.CONTROL, "a")
    e.send_keys("flood")
    page.wait(lambda: len(suggestions(page)) == 25, "suggestions")
    sizes = page.js("return performance.getEntriesByType('resource').filter(r => r.name.includes('suggest')).map(r => r.decodedBodySize)")
    assert sizes and max(sizes) <= 4096, sizes


def test_typing_asks_once_and_the_last_wins(page):
    page.open(ONE)
    e = page.label("metric")
    e.click()
    time.sleep(0.3)
    page.requests_clear()
    page.js("""const e = document.querySelector('[aria-label="metric"]');
        for (const t of ['n', 'ne', 'net', 'net.', 'net.b']) { e.value = t; e.dispatchEvent(new Event('input', {bubbles: true})); }""")
    page.wait(lambda: suggestions(page) == ["net.bytes 10 series"], "the last")
    asked = [r for r in page.requests() if "suggest" in r]
    assert len(asked) == 1, asked


def test_an_error_of_one_query_leaves_the_others(page):
    page.open(ONE + "&m=sum:no.such.metric&o=")
    assert "No such name for 'metrics': 'no.such.metric'" in page.text('[aria-label="query B"] .err')
    assert len(page.names()) == 1


def test_one_request_in_flight_a_query(page):
    page.open(ONE)
    page.requests_clear()
    page.js("""for (const t of ['15m', '6h', '1d', '15m']) [...document.querySelectorAll('.ranges button')].find(b => b.textContent === t).click();""")
    page.wait(lambda: "start=15m-ago" in page.hash(), "the last range")
    page.drawn()
    page.wait(lambda: page.js("return !document.querySelector('.status').textContent.includes('asking')"), "an answer")
    assert len(page.names()) == 1


def test_without_points_it_says_how_to_put_some(page):
    import rig
    halite = rig.Halite(page.program)
    try:
        other = rig.Page(page.d, halite)
        other.open()
        text = other.wait(lambda: other.text(".welcome"), "help")
        assert "put sys.cpu.user" in text and str(halite.port) in text
    finally:
        halite.close()


def test_the_first_view_says_that_the_server_does_not_answer(page):
    page.open()
    page.js("window.fetch = () => Promise.reject(new TypeError('Failed to fetch')); location.hash = '#view=health';")
    page.button("graph").click()
    page.wait(lambda: "does not answer" in page.text("main .err"), "an error")


def test_split_by_a_tag_from_the_legend(page):
    page.open("start=1h-ago&m=avg:auto:sys.cpu.user&o=")
    assert len(page.names()) == 1
    page.button("split by dc").click()
    page.wait(lambda: len(page.names()) == 2, "two data centers")
    assert "{dc=*}" in page.hash()
    page.button("split by host").click()
    page.wait(lambda: len(page.names()) == 10, "ten hosts")


def test_ctrl_enter_asks_again(page):
    page.open(ONE)
    page.requests_clear()
    page.label("metric").click()
    page.label("metric").send_keys(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: any("api/query?" in r for r in page.requests()), "a request")

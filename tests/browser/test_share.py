"""The same query elsewhere."""
import json
import re
import subprocess
import time
from urllib.parse import unquote

from rig import BLUE, GREEN, NOW, ORANGE

CPU = "start=1h-ago&m=avg:1m-avg:sys.cpu.user{host=*}&o="


def share(page, what):
    page.button("share ▾").click()
    page.button(what).click()
    return page.wait(lambda: page.one("dialog textarea").get_attribute("value"), "a text")


def saved(page):
    """What downloads would save: blobs of links that are clicked."""
    page.js("""window.kept = []; const make = URL.createObjectURL;
        URL.createObjectURL = b => { b.text().then(t => window.kept.push(t)); return make(b); };
        HTMLAnchorElement.prototype.click = function() {};""")


def test_a_link_with_absolute_times(page):
    page.open(CPU)
    link = share(page, "link with absolute times")
    m = re.search(r"start=(\d+)&end=(\d+)", link)
    assert m and abs(int(m.group(2)) / 1000 - int(m.group(1)) / 1000 - 3600) < 2, link
    page.d.get("about:blank")
    page.d.get(link)
    page.drawn()
    assert len(page.names()) == 10


def test_csv(page):
    page.open(CPU)
    saved(page)
    page.button("share ▾").click()
    page.button("CSV").click()
    text = page.wait(lambda: page.js("return window.kept[0]"), "a file")
    lines = text.strip().split("\n")
    assert lines[0].startswith("timestamp,time,") and '"sys.cpu.user{dc=ams,host=web00}"' in lines[0]
    assert re.match(r"\d{10},\d{4}-\d\d-\d\d \d\d:\d\d:00,", lines[1]) and len(lines) > 40, lines[:3]


def test_json(page):
    page.open(CPU)
    page.button("share ▾").click()
    href = page.button("JSON").get_attribute("href")
    path = href[len(page.base):]
    assert len(page.halite.json("GET", path)) == 10


def test_curl(page):
    page.open(CPU)
    command = share(page, "curl")
    assert command.startswith("curl -g ")
    out = subprocess.run(["sh", "-c", command + " -s"], capture_output=True, timeout=20, check=True).stdout
    assert len(json.loads(out)) == 10


def test_times_that_only_the_page_knows_are_written_out(page):
    for start in (time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(NOW - 1800)), "30m ago"):
        page.open("start=" + start + "&m=avg:1m-avg:sys.cpu.user{host=*}&o=")
        page.button("share ▾").click()
        href = page.button("JSON").get_attribute("href")
        assert len(page.halite.json("GET", href[len(page.base):])) == 10, href


def test_grafana_panel(page):
    page.open(CPU + "&ylog")
    panel = json.loads(share(page, "Grafana panel"))
    target = panel["targets"][0]
    assert panel["datasource"]["type"] == "opentsdb" and target["metric"] == "sys.cpu.user"
    assert target["filters"] == [{"tagk": "host", "type": "wildcard", "filter": "*", "groupBy": True}]
    assert target["downsampleInterval"] == "1m" and target["aggregator"] == "avg"


def test_put_lines(page):
    page.halite.put([("few", NOW - 30, 1.5, {"host": "a"}), ("few", NOW - 20, 2, {"host": "a"})])
    page.open("start=%d&m=none:few{host=a}&o=" % (NOW - 100))
    assert share(page, "put lines").split("\n")[:2] == ["put few %d 1.5 host=a" % (NOW - 30), "put few %d 2 host=a" % (NOW - 20)]


def test_copied_means_copied(page):
    page.open(CPU)
    share(page, "curl")
    page.button("copy").click()
    page.wait(lambda: page.text("dialog [role=status]") == "copied", "the word")


def test_png_has_the_same_parameters(page):
    page.open(CPU + "&ylog&yrange=[0:]&title=x")
    page.js("window.open = () => ({set location(x) {}, close() {}}); window.asked = []; const f = fetch;"
            "window.fetch = (u, o) => { window.asked.push(u); return f(u, o); };")
    page.button("share ▾").click()
    page.button("PNG").click()
    u = unquote(page.wait(lambda: page.js("return window.asked.find(u => u.includes('/q?'))"), "the URL"))
    for part in ("start=1h-ago", "m=avg:1m-avg:sys.cpu.user{host=*}", "ylog", "yrange=[0:]", "title=x", "wxh=1200x600", "&png"):
        assert part in u, (part, u)


def test_png_and_svg_are_the_servers_own(page):
    page.open(CPU + "&ylog&line=40")
    page.js("""window.open = () => ({set location(x) {}, close() {}}); window.kinds = []; const f = fetch;
        window.fetch = async (u, o) => { const r = await f(u, o); if (u.includes('/q?')) window.kinds.push([r.status, r.headers.get('Content-Type')]); return r; };""")
    for kind in ("PNG", "SVG"):
        page.button("share ▾").click()
        page.button(kind).click()
    kinds = page.wait(lambda: len(page.js("return window.kinds")) == 2 and page.js("return window.kinds"), "both")
    assert sorted(kinds) in ([[200, "image/png"], [200, "image/svg+xml"]], [[501, "application/json"]] * 2), kinds


def test_a_picture_has_only_what_is_shown_and_says_what_it_leaves_out(page):
    page.open(CPU + "&m=sum:net.bytes{dc=*}&o=axis x1y2&hide=B&line=40&only=A sys.cpu.user{dc=ams,host=web00}&only=A sys.cpu.user{dc=lga,host=web01}")
    page.js("window.open = () => ({set location(x) {}, close() {}}); window.asked = []; const f = fetch;"
            "window.fetch = (u, o) => { window.asked.push(u); return f(u, o); };")
    page.button("share ▾").click()
    assert page.text(".menu small") == "PNG and SVG are without thresholds"
    page.button("SVG").click()
    u = unquote(page.wait(lambda: page.js("return window.asked.find(u => u.includes('/q?'))"), "the URL"))
    assert re.findall(r"\bm=([^&]*)", u) == ["avg:1m-avg:sys.cpu.user{host=web00|web01}"], u
    assert u.count("&o=") == 1 and "only" not in u and "hide" not in u, u


def test_an_error_of_a_picture_is_a_sentence(page):
    page.open(CPU + "&title=" + "x" * 300)
    page.js("window.open = () => ({set location(x) {}, close() {}});")
    page.button("share ▾").click()
    page.button("SVG").click()
    text = page.wait(lambda: page.text("main > .err"), "an error")
    assert "title" in text and "<" not in text, text


def test_the_url_holds_all(page):
    page.open("start=1h-ago&tz=UTC&m=max:auto:sys.cpu.user{host=*}&o=axis x1y2&m=sum:1m-avg:rate:net.bytes{dc=*}&o=&exp=A*2&hide=A&ylog&y2log"
              "&stack&shift=1d&sort=max&line=5&no_annotations&panel=cost&autoreload=60")
    before = sorted(page.hash()[1:].split("&"))
    page.button("zero").click()
    page.wait(lambda: "yrange=[0:]" in page.hash(), "a change")
    page.button("zero").click()
    page.wait(lambda: sorted(page.hash()[1:].split("&")) == before, "the same URL")


def test_embed_shows_the_graph_alone(page):
    page.open(CPU, "?embed")
    assert not page.one("header").is_displayed() and not page.one(".legend").is_displayed()
    assert page.box()[3] > 500
    page.open("start=1h-ago&m=sum:no.such.metric&o=", "?embed")
    assert page.one("main > .err").is_displayed() and "no.such.metric" in page.text("main > .err")


def test_table(page):
    page.open(CPU)
    page.keys("t")
    head = page.wait(lambda: page.text(".tbl thead"), "a table")
    assert "web00" in head and "web09" in head
    times = [e.text for e in page.all(".tbl tbody th")]
    assert len(times) > 50 and times == sorted(times, reverse=True) and re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", times[0])
    page.keys("t")
    page.drawn()


def test_saved_queries_on_one_page(page):
    page.open(CPU)
    page.js("localStorage.removeItem('halite.board')")
    page.button("save").click()
    page.wait(lambda: page.all(".board article"), "a panel")
    page.wait(lambda: page.js("return +document.querySelector('.board .plot').dataset.drawn"), "its picture")
    assert "view=board" in page.hash()
    href = page.button("save as a file").get_attribute("href")
    file = json.loads(unquote(href.split(",", 1)[1]))
    assert file[0]["title"] == "avg:1m-avg:sys.cpu.user{host=*}, 1h-ago" and "sys.cpu.user" in unquote(file[0]["query"])
    page.js("""const t = new DataTransfer(); t.items.add(new File([JSON.stringify([{title: 'mine', query: '#start=1h-ago&m=sum:net.bytes&o='}])], 'x.json'));
        const i = document.querySelector('input[type=file]'); i.files = t.files; i.dispatchEvent(new Event('change', {bubbles: true}));""")
    page.wait(lambda: len(page.all(".board article")) == 2, "what the file had")
    page.js("""const t = new DataTransfer(); t.items.add(new File(['{}'], 'x.json'));
        const i = document.querySelector('input[type=file]'); i.files = t.files; i.dispatchEvent(new Event('change', {bubbles: true}));""")
    assert "no file of saved queries" in page.wait(lambda: page.text(".err"), "an error")
    page.button("mine").click()
    page.drawn()
    assert "m=sum:net.bytes" in page.hash()
    page.js("localStorage.removeItem('halite.board')")


def test_a_saved_view_shows_what_was_shown(page):
    page.open(CPU + "&m=sum:net.bytes{dc=*}&o=&hide=B&only=A sys.cpu.user{dc=ams,host=web00}")
    assert len(page.all(".legend tr.off")) == 9
    page.js("localStorage.removeItem('halite.board')")
    page.button("save").click()
    page.wait(lambda: page.js("return +document.querySelector('.board .plot').dataset.drawn"), "its picture")
    assert page.pixels(BLUE) > 50 and page.pixels(ORANGE) == 0 and page.pixels(GREEN) == 0
    assert "net.bytes" not in page.text(".board h3")
    assert not page.all(".ranges") and not page.all('[aria-label="start"]')
    before = page.hash()
    page.keys("3")
    assert page.hash() == before
    page.js("localStorage.removeItem('halite.board')")


def test_no_picture_of_the_server_where_a_formula_is_drawn(page):
    page.open(CPU + "&exp=A*2")
    page.button("share ▾").click()
    page.button("CSV")
    assert not [b for b in page.all("[role=menuitem]") if b.text in ("PNG", "SVG")]

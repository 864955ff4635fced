"""The graph: drawn, zoomed, panned, shown in other ways."""
import time

from rig import BLUE, GREEN, HOSTS, NOW, ORANGE, Keys

CPU = "start=1h-ago&m=avg:auto:sys.cpu.user{host=*}&o="
ONE = "start=1h-ago&m=avg:auto:sys.cpu.user{host=web00}&o="


def test_ten_series_are_drawn(page):
    page.open(CPU)
    assert len(page.names()) == HOSTS
    assert page.pixels(BLUE) > 300


def test_zoom_by_drag_and_back_undoes(page):
    page.open(CPU)
    before = page.hash()
    page.drag((0.4, 0.3), (0.6, 0.4))
    page.wait(lambda: page.hash() != before, "a zoom in the URL")
    start, end = page.range()
    assert 500 < end - start < 1000
    page.d.back()
    page.wait(lambda: page.hash() == before, "Back")
    page.d.forward()
    page.wait(lambda: page.hash() != before, "Forward")


def test_pan_by_shift_drag(page):
    page.open("start=%d&end=%d&m=avg:auto:sys.cpu.user{host=*}&o=" % (NOW - 3600, NOW - 1800))
    before = page.hash()
    page.drag((0.3, 0.3), (0.6, 0.3), Keys.SHIFT)
    page.wait(lambda: page.hash() != before, "a pan in the URL")
    start, end = page.range()
    assert abs(end - start - 1800) < 3 and 300 < NOW - 3600 - start < 800


def test_zoom_by_ctrl_wheel(page):
    page.open("start=%d&end=%d&m=avg:auto:sys.cpu.user{host=*}&o=" % (NOW - 3600, NOW - 1800))
    before = page.hash()
    page.js("""const r = document.querySelector('.plot').getBoundingClientRect();
        document.querySelector('.plot').dispatchEvent(new WheelEvent('wheel', {deltaY: -300, ctrlKey: true,
        clientX: r.left + r.width / 2, clientY: r.top + 50, bubbles: true, cancelable: true}));""")
    page.wait(lambda: page.hash() != before, "a zoom")
    start, end = page.range()
    assert 600 < end - start < 700 and page.js("return history.length") > 1


def test_pan_by_two_fingers(page):
    page.open("start=%d&end=%d&m=avg:auto:sys.cpu.user{host=*}&o=" % (NOW - 3600, NOW - 1800))
    before = page.hash()
    page.js("""const p = document.querySelector('.plot'), r = p.getBoundingClientRect();
        const touch = (x, id) => new Touch({identifier: id, target: p, clientX: r.left + x, clientY: r.top + 99});
        const send = (k, a, b) => p.dispatchEvent(new TouchEvent(k, {touches: k === 'touchend' ? [] : [touch(a, 1), touch(b, 2)],
            bubbles: true, cancelable: true}));
        send('touchstart', 300, 400); send('touchmove', 400, 500); send('touchend');""")
    page.wait(lambda: page.hash() != before, "a pan")
    start, end = page.range()
    assert abs(end - start - 1800) < 5 and 60 < NOW - 3600 - start < 300, (start, end)


def test_hover_names_the_nearest_line(page):
    page.open(CPU)
    page.hover(0.5, 0.5)
    tip = page.wait(lambda: page.text(".plot .tip"), "a name")
    assert "host=web" in tip and "sys.cpu.user" in tip
    near = page.one(".legend tr.near").get_attribute("data-name")
    assert near in tip
    cursor = page.one(".legend tr.near td:nth-child(2)").text
    assert cursor and cursor in tip


def test_click_on_a_line_isolates(page):
    page.open(CPU)
    page.hover(0.5, 0.5)
    page.one(".legend tr.near")
    page.click_at(0.5, 0.5)
    page.wait(lambda: len(page.all(".legend tr.off")) == HOSTS - 1, "one series alone")
    assert "only=" in page.hash()


def test_gaps_are_shown(page):
    page.open("start=%d&end=%d&m=none:sys.cpu.user{host=web02}&o=" % (NOW - 4000, NOW - 1000))
    # The hole is from 1/3 to 2/3 of the picture: no blue in its middle, but on both sides.
    found = page.js("""
        let out = [0, 0, 0];
        for (const c of document.querySelectorAll('.plot .inner canvas')) {
            const w = c.width, d = c.getContext('2d').getImageData(0, 0, w, c.height).data;
            for (let i = 0; i < d.length; i += 4) {
                const x = i / 4 % w / w;
                if (d[i + 3] > 90 && d[i] < 60 && d[i + 2] > 120 && d[i + 1] > 70)
                    if (x > 0.1 && x < 0.3) out[0]++; else if (x > 0.45 && x < 0.6) out[1]++; else if (x > 0.75 && x < 0.9) out[2]++;
            }
        }
        return out;""")
    assert found[0] > 20 and found[1] == 0 and found[2] > 20, found


def test_a_point_alone_is_seen(page):
    page.halite.put([("alone", NOW - 300, 5, {"h": "a"})])
    page.open("start=10m-ago&m=none:alone{h=a}&o=")
    assert 6 <= page.pixels(BLUE, 120) <= 25, page.pixels(BLUE, 120)
    assert page.text(".status").startswith("1 series, 1 points") and page.d.title == "alone"


def test_no_value_at_the_cursor_where_there_is_none(page):
    page.halite.put([("halfway", NOW - 3600 + i * 10, 5, {"h": "a"}) for i in range(180)])
    page.open("start=%d&end=%d&m=none:halfway{h=a}&o=" % (NOW - 3600, NOW))
    cursor = lambda: page.one(".legend td:nth-child(2)").text
    page.hover(0.3, 0.5)
    page.wait(lambda: cursor() == "5", "a value")
    page.hover(0.8, 0.5)
    page.wait(lambda: cursor() == "", "none")
    assert "halfway" not in page.text(".plot .tip")


def test_partial_last_bucket_is_dotted(page):
    halite = page.halite
    t = int(time.time()) // 600 * 600
    halite.put([("part", t - 600 * i + 1, 5, {"host": "a"}) for i in range(6)])
    page.open("start=%d&m=avg:10m-avg:part&o=" % (t - 3000))
    assert page.wait(lambda: page.js("return document.querySelector('.plot').dataset.partial"), "it") == "1"
    halite.put([("whole", t - 600 * i + 1, 5, {"host": "a"}) for i in range(1, 6)])
    page.open("start=%d&end=%d&m=avg:10m-avg:whole&o=" % (t - 3000, t))
    assert page.js("return document.querySelector('.plot').dataset.partial") == "0"


def test_log_scale(page):
    page.halite.put([("wide", NOW - 600 + i * 10, 10 ** (i % 5), {"h": "a"}) for i in range(50)])
    page.open("start=%d&m=avg:wide&o=" % (NOW - 700))
    page.button("log").click()
    page.wait(lambda: "ylog" in page.hash(), "it in the URL")
    page.drawn()
    labels = [e.text for e in page.all(".dygraph-axis-label-y")]
    assert {"1", "10", "100", "1000"} <= set(labels), labels


def test_a_picture_without_data_says_so(page):
    page.halite.put([("frozen", NOW - 600 + i * 10, -i, {"h": "a"}) for i in range(50)])
    page.open("start=%d&m=avg:frozen&o=" % (NOW - 700))
    assert not page.one(".plot .says").is_displayed()
    page.button("log").click()
    page.wait(lambda: page.text(".plot .says") == "nothing above 0", "the words")
    page.open("start=3d-ago&end=2d-ago&m=avg:frozen&o=&line=7")
    assert page.text(".plot .says").startswith("no data")


def test_axes_tell_near_values_apart(page):
    def labels(name, value):
        page.halite.put([(name, NOW - 600 + i * 10, value(i), {"h": "a"}) for i in range(50)])
        page.open("start=%d&m=none:%s{h=a}&o=" % (NOW - 700, name))
        cut = page.js("return [...document.querySelectorAll('.dygraph-axis-label-y')].filter(e => e.scrollWidth > e.clientWidth).length")
        assert not cut, "labels are cut"
        return [e.text for e in page.all(".dygraph-axis-label-y")]
    near = labels("near", lambda i: 1000000 + i % 10 * 0.001)
    assert len(set(near)) == len(near) > 4, near
    assert "1.000009M" not in near and any(t.startswith("1.000000004") for t in near), near
    assert page.one(".legend tbody td:nth-child(5)").text == "1.000000009M"
    page.keys("t")
    page.wait(lambda: any(e.text == "1000000.009" for e in page.all(".tbl td")), "all digits in the table")
    zero = labels("still", lambda i: 0)
    assert {"-1.0", "0", "1.0"} <= set(zero), zero
    assert any(t.endswith("p") for t in labels("tiny", lambda i: 1e-12))
    assert any(t == "1e+300" for t in labels("giant", lambda i: 1e300))


def test_zero_in_the_picture(page):
    page.open("start=1h-ago&m=avg:auto:sys.cpu.user{host=web09}&o=")
    assert "0" not in [e.text for e in page.all(".dygraph-axis-label-y")]
    page.button("zero").click()
    page.wait(lambda: "yrange=[0:]" in page.hash(), "OpenTSDB's range")
    page.drawn()
    assert "0" in [e.text for e in page.all(".dygraph-axis-label-y")]


def test_stack(page):
    page.open(CPU)
    before = page.pixels(BLUE)
    page.button("stack").click()
    page.drawn()
    page.wait(lambda: page.pixels(BLUE) > 5 * before, "an area")
    labels = [e.text for e in page.all(".dygraph-axis-label-y")]
    assert "400" in labels, labels


def test_two_axes(page):
    page.open(ONE + "&m=sum:1m-avg:rate:net.bytes{host=web01}&o=axis x1y2")
    assert page.all(".dygraph-axis-label-y2")
    assert any(e.text.startswith("200") or e.text.startswith("199") for e in page.all(".dygraph-axis-label-y2"))
    assert page.pixels(BLUE) > 100 and page.pixels(ORANGE) > 100
    box = page.all('[aria-label="query B"] input[type=checkbox]')[1]
    assert box.is_selected()
    box.click()
    page.wait(lambda: "x1y2" not in page.hash(), "one axis")


def test_several_queries_with_letters(page):
    page.open(ONE + "&m=max:auto:sys.cpu.user{dc=*}&o=")
    assert [b.text for b in page.all("button.letter")] == ["A", "B"]
    names = page.names()
    assert len(names) == 3 and names[0].startswith("A ") and names[2].startswith("B ")


def test_letters_after_z(page):
    page.open("start=1h-ago&" + "&".join("m=avg:1m-avg:sys.cpu.user{host=web00}&o=" for _ in range(28)) + "&exp=AB * 2")
    assert [b.text for b in page.all("button.letter")][25:] == ["Z", "AA", "AB"]
    page.wait(lambda: len(page.names()) == 29 and not page.all(".sub .err"), "all, and the formula")
    assert page.names()[27].startswith("AB ")


def test_arithmetic_between_queries(page):
    page.open("start=1h-ago&m=sum:1m-avg:sys.cpu.user&o=&m=max:1m-avg:sys.cpu.user&o=&exp=(A %2B B) * 2")
    row = [r for r in page.all(".legend tbody tr") if "(A + B) * 2" in r.text]
    assert row, page.text(".legend")
    last = [r.find_elements("css selector", "td")[4].text for r in page.all(".legend tbody tr")]
    assert float(last[2]) == 2 * (float(last[0]) + float(last[1])), last
    page.set("expression", "A + Z")
    assert "there is no query Z" in page.wait(lambda: page.text(".sub .err"), "an error")


def test_a_query_may_be_there_for_expressions_only(page):
    page.open("start=1h-ago&m=sum:1m-avg:sys.cpu.user{dc=ams}&o=&exp=A/10&hide=A")
    assert page.names() == ["A/10{dc=ams}"], page.names()
    page.label("show query A").click()
    page.wait(lambda: len(page.names()) == 2, "both")


def test_heatmap_of_histograms(page):
    halite = page.halite
    for i in range(30):
        halite.json("POST", "api/histogram", [
            {"metric": "latency", "timestamp": NOW - 1800 + i * 60, "tags": {"host": "a"},
             "buckets": {"0,10": 5 + i, "10,20": 30, "20,40": i}, "underflow": 0, "overflow": 0}])
    page.open("start=30m-ago&m=avg:auto:rate:latency{host=a}&o=")
    assert "histogram" in page.text(".plot .says")
    page.button("heatmap").click()
    page.drawn()
    page.wait(lambda: page.pixels((0, 114, 178), 20) > 5000, "cells")
    assert page.hash().endswith("&heat")
    assert any("10.0_20.0" in n for n in page.names())
    labels = [e.text for e in page.all(".dygraph-axis-label-y")]
    assert "40" in labels or "35" in labels, labels
    page.button("heatmap").click()
    page.wait(lambda: "m=avg:auto:rate:latency{host=a}" in page.hash(), "the query as it was")
    page.open(ONE + "&heat")
    assert page.text(".plot .says") == "no data of a histogram"


def test_thresholds(page):
    page.open(ONE)
    page.set("thresholds", "22 60")
    page.wait(lambda: "line=22&line=60" in page.hash(), "both in the URL")
    page.drawn()
    assert page.pixels((193, 39, 45), 30) > 400


def test_common_tags_are_written_once(page):
    page.open("start=1h-ago&m=avg:auto:sys.cpu.user{host=*,dc=ams}&o=")
    assert "dc=ams" in page.text(".common")
    assert all("dc=ams" not in r.text for r in page.all(".legend tbody tr"))


def test_hundred_of_many_series_are_drawn(page):
    page.halite.put([("many", NOW - 60 * i, i, {"n": "n%03d" % n}) for n in range(230) for i in range(3)])
    page.open("start=1h-ago&m=none:many{n=*}&o=")
    page.wait(lambda: len(page.names()) == 100, "a hundred")
    assert "100 of 230 series drawn" in page.text('section[aria-label="legend"]')
    page.button("100 more").click()
    page.wait(lambda: len(page.names()) == 200, "more")


def test_a_spike_of_one_point_is_never_averaged_away(page):
    points = [("spiky", NOW - 7200 + i, 1, {"h": "a"}) for i in range(0, 7200)]
    points[3333] = (*points[3333][:2], 1000, points[3333][3])
    page.halite.put(points)
    page.open("start=2h-ago&m=none:auto:spiky{h=a}&o=")
    assert page.one(".legend tbody td:nth-child(5)").text == "1000", page.text(".legend")


def test_interpolation_is_marked(page):
    page.open("start=1h-ago&m=avg:auto:sys.cpu.user&o=")
    assert "~" in page.text(".legend tbody tr") and "straight line" in page.one(".legend tbody small").get_attribute("title")
    page.open(ONE)
    assert "~" not in page.text(".legend tbody tr")


def test_leaving_cancels_what_is_asked(page):
    page.open(ONE)
    page.js("""window.signals = []; const f = fetch; window.fetch = (u, o) => {
        if (u.includes('api/query?') && !u.includes('explain')) { window.signals.push(o.signal); return new Promise((_, no) =>
            o.signal.addEventListener('abort', () => no(new DOMException('', 'AbortError')))); } return f(u, o); };""")
    page.keys("r")
    page.wait(lambda: page.js("return window.signals.length") == 1, "a request")
    page.keys("3")
    page.wait(lambda: page.js("return window.signals.length") == 2, "another")
    assert page.js("return window.signals[0].aborted") and not page.js("return window.signals[1].aborted")


def test_a_stack_of_series_with_other_times_is_their_sum(page):
    page.halite.put([("apart", NOW - 600 + i * 10 + off, 10, {"h": "h%d" % off}) for off in (0, 3, 7) for i in range(60)])
    for ds in ("", "auto:"):
        page.open("start=%d&end=%d&m=sum:%sapart{h=*}&o=&stack&line=30" % (NOW - 500, NOW - 100, ds))
        page.wait(lambda: page.pixels((193, 39, 45), 30) > 100, "the threshold")
        # The top layer ends at the line of 30: at each x the first green pixel lies on the red line.
        off = page.js("""
            const c = document.querySelector('.plot .inner canvas'), w = c.width, h = c.height, out = [];
            const d = c.getContext('2d').getImageData(0, 0, w, h).data, at = (x, y, f) => f(...d.slice(4 * (y * w + x), 4 * (y * w + x) + 4));
            const first = (x, f) => { for (let y = 0; y < h; y++) if (at(x, y, f)) return y; return -99; };
            const line = first(w >> 1, (r, g, b, a) => a > 90 && r > 150 && g < 110);
            for (let x = w * 0.2 | 0; x < w * 0.9; x += 5) out.push(Math.abs(line - first(x, (r, g, b, a) => a > 150 && g > r + 40 && g > b + 20)));
            return out;""")
        assert len(off) > 50 and max(off) <= 3, (ds, off)


def test_formulas_of_queries_at_auto(page):
    page.open(ONE + "&exp=A * 2")
    page.wait(lambda: len(page.names()) == 2 and not page.all(".sub .err"), "both")
    page.button("6h").click()
    page.drawn()
    page.wait(lambda: len(page.names()) == 2 and not page.all(".sub .err"), "both again")

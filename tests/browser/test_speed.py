"""Fast over a bad line, and never frozen.

What else the machine does makes these late: each is tried three times.
"""
import time

from rig import NOW

SERIES, POINTS = 100, 10000
LINE = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 0.75e6 / 8}
WATCH = """window.longest = 0; new PerformanceObserver(l => { for (const e of l.getEntries()) window.longest = Math.max(window.longest, e.duration); })
    .observe({type: 'longtask', buffered: true});"""


def best_of_three(measure, most):
    seen = []
    while not seen or (seen[-1] >= most and len(seen) < 3):
        seen.append(measure())
    print("measured %s ms, at most %d" % (seen, most))
    assert seen[-1] < most, seen


def test_first_picture_within_two_seconds_on_a_bad_line(page):
    def measure():
        page.d.get("about:blank")
        page.d.execute_cdp_cmd("Network.clearBrowserCache", {})
        page.d.execute_cdp_cmd("Network.emulateNetworkConditions", LINE)
        page.d.get(page.base + "#start=1h-ago&m=avg:auto:sys.cpu.user{host=*}&o=")
        return float(page.wait(lambda: page.js("const p = document.querySelector('.plot'); return p && p.dataset.first"), "a picture"))
    page.d.execute_cdp_cmd("Network.enable", {})
    try:
        best_of_three(measure, 2000)
    finally:
        page.d.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
        page.d.execute_cdp_cmd("Network.disable", {})


def test_a_hundred_series_of_ten_thousand_points_stay_smooth(page):
    step = 8
    page.halite.telnet("".join("put big %d %d n=n%02d\n" % (NOW - POINTS * step + k * step, n * 10 + k % 7, n)
                               for n in range(SERIES) for k in range(POINTS)))

    def measure():
        page.open("start=%d&end=%d&m=none:auto:big{n=*}&o=" % (NOW - POINTS * step, NOW))
        page.wait(lambda: len(page.names()) == SERIES, "the legend")
        page.hover(0.5, 0.5)
        page.drag((0.3, 0.3), (0.6, 0.3))
        page.wait(lambda: page.js("return !document.querySelector('.status').textContent.includes('asking')"), "an answer")
        page.drawn()
        time.sleep(0.3)
        return page.js("return window.longest")
    page.d.get("about:blank")
    script = page.d.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})["identifier"]
    try:
        best_of_three(measure, 200)
    finally:
        page.d.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script})


def test_at_most_two_points_a_pixel_are_asked_for(page):
    page.open("start=2h-ago&m=avg:auto:sys.cpu.user{host=web00}&o=")
    assert int(page.all(".legend tbody td")[6].text) <= 2 * page.box()[2] + 4

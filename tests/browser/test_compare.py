"""With the time before; and what changed."""
from rig import NOW, Keys

WEEK = 7 * 86400


def feed(page):
    points = []
    for t in range(NOW - 3600, NOW, 60):
        points += [("load", t, 30, {"host": "a"}), ("load", t - WEEK, 10, {"host": "a"})]
    page.halite.put(points)


def test_last_week_beneath(page):
    feed(page)
    page.open("start=1h-ago&m=avg:1m-avg:load{host=*}&o=")
    assert len(page.names()) == 1
    page.keys("w")
    page.wait(lambda: len(page.names()) == 2, "the week before")
    assert "shift=1w" in page.hash()
    rows = [r.text for r in page.all(".legend tbody tr")]
    assert "(before)" in rows[1] and " 10 " in rows[1] and " 30 " in rows[0], rows
    page.keys("w")
    page.wait(lambda: len(page.names()) == 1, "without")


def test_difference_to_last_week(page):
    feed(page)
    page.open("start=1h-ago&m=avg:1m-avg:load{host=*}&o=&shift=1w")
    page.button("difference").click()
    page.wait(lambda: len(page.names()) == 1, "one line")
    cells = [c.text for c in page.all(".legend tbody td")]
    assert cells[2] == cells[4] == "20", cells


def test_the_day_before(page):
    page.open("start=1h-ago&m=avg:1m-avg:load{host=*}&o=")
    page.label("compare").send_keys("a d")
    page.wait(lambda: "shift=1d" in page.hash(), "it in the URL")


def test_what_changed(page):
    points = []
    for t in range(NOW - 3600, NOW, 30):
        late = t > NOW - 1800
        points += [("err", t, 100 if late and h == "b" else 10, {"host": h, "dc": "x"}) for h in "abc"]
    page.halite.put(points)
    page.open("start=%d&end=%d&m=avg:auto:err{host=*}&o=" % (NOW - 1800, NOW))
    page.keys("c")
    first = page.wait(lambda: page.all(".changes tbody tr"), "a list")[0].text
    assert first.startswith("host=b") and "+" in first, first
    page.button("host=b").click()
    page.wait(lambda: "{host=b}" in page.hash(), "the filter")

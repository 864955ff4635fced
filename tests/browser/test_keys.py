"""The keyboard, and those who do not see."""
from rig import NOW, Keys

CPU = "start=%d&end=%d&m=avg:auto:sys.cpu.user{host=*}&o=" % (NOW - 3600, NOW - 1800)


def test_slash_goes_to_the_metric(page):
    page.open(CPU)
    page.keys("/")
    assert page.js("return document.activeElement.getAttribute('aria-label')") == "metric"


def test_arrows_pan(page):
    page.open(CPU)
    page.keys(Keys.ARROW_LEFT)
    page.wait(lambda: abs(page.range()[0] - NOW + 4500) < 2, "half a range earlier")
    page.keys(Keys.ARROW_RIGHT)
    page.wait(lambda: abs(page.range()[0] - NOW + 3600) < 2, "and back")


def test_minus_zooms_out_and_z_undoes(page):
    page.open(CPU)
    before = page.hash()
    page.keys("-")
    page.wait(lambda: abs(page.range()[1] - page.range()[0] - 3600) < 3, "twice as much")
    page.keys("z")
    page.wait(lambda: page.hash() == before, "undone")


def test_keys_change_the_looks(page):
    page.open(CPU)
    for key, what in (("l", "ylog"), ("s", "stack"), ("0", "yrange=[0:]"), ("w", "shift=1w"), ("t", "view=table"), ("e", "panel=cost"), ("c", "panel=changed")):
        page.keys(key)
        page.wait(lambda: what in page.hash(), what)


def test_numbers_choose_ranges(page):
    page.open(CPU)
    for key, what in (("1", "15m"), ("2", "1h"), ("3", "6h"), ("4", "1d"), ("5", "1w"), ("6", "4w"), ("7", "1y")):
        page.keys(key)
        page.wait(lambda: "start=%s-ago" % what in page.hash(), what)


def test_r_refreshes(page):
    page.open(CPU)
    page.requests_clear()
    page.keys("r")
    page.wait(lambda: [r for r in page.requests() if "api/query" in r], "a request")


def test_question_mark_helps_and_escape_closes(page):
    page.open(CPU)
    page.keys("?")
    assert "undo" in page.wait(lambda: page.text("dialog"), "help")
    page.one("dialog").send_keys(Keys.ESCAPE)
    page.wait(lambda: not page.all("dialog"), "its end")


def test_keys_in_a_field_are_text(page):
    page.open(CPU)
    e = page.label("thresholds")
    e.click()
    e.send_keys("ls")
    assert "ylog" not in page.hash() and "stack" not in page.hash()


def test_every_control_has_a_name(page):
    page.open(CPU + "&panel=cost")
    bad = page.js("""return [...document.querySelectorAll('button,input,select,textarea,a,[role=img],table,section')].filter(e =>
        !(e.getAttribute('aria-label') || e.textContent.trim() || e.title || e.style.display === 'none' || (e.labels && e.labels.length) || e.tagName === 'TABLE')).map(e => e.outerHTML.slice(0, 80))""")
    assert bad == [], bad
    assert page.one(".plot").get_attribute("role") == "img" and "legend and the table" in page.one(".plot").get_attribute("aria-label")
    assert all(e.get_attribute("scope") for e in page.all("th"))


def test_focus_is_visible_and_the_legend_takes_keys(page):
    page.open(CPU)
    row = page.all(".legend tbody tr")[2]
    page.js("arguments[0].focus()", row)
    page.keys_here(Keys.ENTER)
    page.wait(lambda: len(page.all(".legend tr.off")) == 9, "one alone")
    assert page.all(".legend tbody tr")[2].get_attribute("aria-pressed") == "true"
    e = page.label("start")
    e.send_keys(Keys.TAB)
    assert page.js("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_colours_for_the_colour_blind(page):
    page.open(CPU)
    colours = page.js("return [...document.querySelectorAll('.legend i')].map(e => getComputedStyle(e).backgroundColor)")
    assert colours[:4] == ["rgb(0, 114, 178)", "rgb(230, 159, 0)", "rgb(0, 158, 115)", "rgb(204, 121, 167)"], colours
    assert len(set(colours)) == 10

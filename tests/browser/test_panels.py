"""Costs, the series explorer, the server's health."""
from rig import NOW

CPU = "start=1h-ago&m=avg:auto:sys.cpu.user{host=*}&o="


def test_explain_shows_the_cost_after(page):
    page.open(CPU)
    page.keys("e")
    text = page.wait(lambda: page.text('section[aria-label="explain"]'), "a panel")
    for word in ("rows", "seeks", "scan", "series 10 of 10"):
        assert word in text, text
    assert "panel=cost" in page.hash()


def test_slow_queries_are_listed(page):
    page.open(CPU + "&panel=cost")
    page.wait(lambda: "sys.cpu.user{host=*}" in page.text('section[aria-label="explain"]'), "what was asked")


def test_explorer_of_series(page):
    page.open("view=explorer")
    page.wait(lambda: page.all(".metrics tbody tr"), "metrics")
    e = page.label("find a metric")
    e.send_keys("CPU.u")
    page.wait(lambda: len(page.all(".metrics tbody tr")) == 1, "one")
    assert "10" in page.text(".metrics tbody tr")
    page.button("sys.cpu.user").click()
    page.wait(lambda: page.all(".keys tbody tr"), "keys")
    rows = [" ".join(r.text.split()) for r in page.all(".keys tbody tr")]
    assert rows == ["dc graph 2 10", "host graph 10 10"], rows
    page.button("dc").click()
    page.wait(lambda: page.all(".values tbody tr"), "values")
    assert "ams" in page.text(".values") and "5" in page.text(".values")
    page.all(".keys tbody button:not(.plain)")[1].click()
    page.drawn()
    assert len(page.names()) == 10


def test_health_of_the_server(page):
    page.open("view=health")
    text = page.wait(lambda: len(page.all(".health dd")) > 5 and page.text(".health"), "figures")
    for word in ("status", "points since the start", "series", "memory", "up"):
        assert word in text, text
    page.wait(lambda: "points a second" in page.text(".health"), "a rate")

"""The legend: statistics, isolation, sorting."""
from rig import HOSTS, NOW

CPU = "start=1h-ago&m=avg:auto:sys.cpu.user{host=*}&o="


def test_statistics_and_the_value_at_the_cursor(page):
    page.halite.put([("stat", NOW - 1000 + i * 10, v, {"h": "a"}) for i, v in enumerate([1, 2, 9, 4])])
    page.open("start=%d&end=%d&m=none:stat&o=" % (NOW - 1100, NOW - 900))
    cells = [c.text for c in page.all(".legend tbody td")]
    assert cells[2:] == ["1", "4", "9", "4", "4"], cells
    page.hover(0.55, 0.5)
    page.wait(lambda: page.all(".legend tbody td")[1].text in ("1", "2", "9", "4"), "a value")


def test_click_isolates_and_ctrl_toggles_kept_in_the_url(page):
    page.open(CPU)
    page.all(".legend tbody tr")[3].click()
    page.wait(lambda: len(page.all(".legend tr.off")) == HOSTS - 1, "one alone")
    assert "only=sys.cpu.user" in page.hash()
    from rig import ActionChains, Keys
    ActionChains(page.d).key_down(Keys.CONTROL).click(page.all(".legend tbody tr")[5]).key_up(Keys.CONTROL).perform()
    page.wait(lambda: len(page.all(".legend tr.off")) == HOSTS - 2, "two")
    page.d.refresh()
    page.drawn()
    assert len(page.all(".legend tr.off")) == HOSTS - 2
    page.drag((0.4, 0.3), (0.6, 0.3))
    page.wait(lambda: "end=" in page.hash(), "a zoom")
    page.drawn()
    assert len(page.all(".legend tr.off")) == HOSTS - 2
    page.keys(Keys.ESCAPE)
    page.wait(lambda: not page.all(".legend tr.off"), "all")


def test_sort_by_a_statistic_kept_in_the_url(page):
    page.open(CPU)
    page.button("max").click()
    page.wait(lambda: "web09" in page.names()[0], "the largest first")
    assert "sort=max" in page.hash()
    page.button("max ▾").click()
    page.wait(lambda: "web00" in page.names()[0], "the smallest first")
    assert page.all('.legend th[aria-sort="ascending"]')
    page.d.refresh()
    page.drawn()
    assert "web00" in page.names()[0]

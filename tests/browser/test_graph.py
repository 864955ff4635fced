"""The graph: drawn, zoomed, panned."""
from rig import BLUE, HOSTS

CPU = "start=1h-ago&m=avg:auto:sys.cpu.user{host=*}&o="


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

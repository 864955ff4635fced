"""Annotations."""
import time

from rig import NOW, Keys

ONE = "start=%d&end=%d&m=avg:1m-avg:sys.cpu.user{host=web00}&o=" % (NOW - 3600, NOW)


def test_annotations_are_shown(page):
    page.halite.json("POST", "api/annotation", {"startTime": NOW - 1200, "description": "deploy 42"})
    page.open(ONE)
    assert "deploy 42" in page.text('section[aria-label="annotations"]')
    assert page.pixels((213, 94, 0), 60) > 50


def test_a_click_on_the_time_axis_makes_one(page):
    page.open(ONE)
    page.click_at(0.5, 0.97)
    page.wait(lambda: page.all("dialog"), "a window")
    page.label("what happened").send_keys("cable cut")
    page.one("dialog button[type=submit]").click()
    page.wait(lambda: "cable cut" in page.text('section[aria-label="annotations"]'), "it in the list")
    got = page.halite.json("GET", "api/query?start=%d&m=sum:sys.cpu.user{host=web00}&global_annotations" % (NOW - 3600))
    assert any(n["description"] == "cable cut" for n in got[0]["globalAnnotations"])


def test_an_end_and_notes_are_taken_away(page):
    page.halite.json("POST", "api/annotation", {"startTime": NOW - 1800, "endTime": NOW - 1700, "description": "works", "notes": "long", "custom": {"who": "me"}})
    page.open(ONE)

    def edit(**fields):
        [li for li in page.all(".notes li") if "works" in li.text][0].find_element("css selector", "button").click()
        for label, text in fields.items():
            e = page.label("annotation " + label)
            e.send_keys(Keys.CONTROL, "a")
            e.send_keys(text or Keys.DELETE)
        page.one("dialog button[type=submit]").click()
    edit(end=time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(NOW - 2000)))
    assert "cannot end before" in page.text("dialog .err")
    page.label("close").click()
    edit(end="", notes="")
    page.wait(lambda: not page.all("dialog"), "it is saved")
    got = page.halite.json("GET", "api/annotation?start_time=%d" % (NOW - 1800))
    assert not got.get("endTime") and not got.get("notes") and got["custom"] == {"who": "me"} and got["description"] == "works", got


def test_one_is_changed_and_deleted(page):
    page.halite.json("POST", "api/annotation", {"startTime": NOW - 2400, "description": "typo"})
    page.open(ONE)
    item = [li for li in page.all(".notes li") if "typo" in li.text][0]
    item.find_element("css selector", "button").click()
    e = page.label("what happened")
    e.send_keys(Keys.CONTROL, "a")
    e.send_keys("fixed text", Keys.ENTER)
    page.wait(lambda: "fixed text" in page.text(".notes") and "typo" not in page.text(".notes"), "the change")
    item = [li for li in page.all(".notes li") if "fixed text" in li.text][0]
    item.find_element("css selector", "button").click()
    page.button("delete").click()
    page.wait(lambda: "fixed text" not in page.text("main"), "its end")

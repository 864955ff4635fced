"""The first two minutes: an empty page, 'halite demo', graphs of the machine."""
import subprocess
import time

from rig import Halite, Page, WAIT_S


def test_the_demo_is_offered_and_its_graphs_are_a_click_away(page):
    halite = Halite(page.program)
    demo = None
    try:
        other = Page(page.d, halite)
        other.open()
        other.wait(lambda: "halite demo --server 127.0.0.1:%d" % halite.port in other.text(".welcome"), "the offer")
        demo = subprocess.Popen([page.program, "demo", "--server", "127.0.0.1:%d" % halite.port],
                                stderr=subprocess.DEVNULL)
        until = time.time() + WAIT_S
        while time.time() < until and not halite.json("GET", "api/suggest?type=metrics&q=proc.uptime"):
            time.sleep(0.1)
        time.sleep(2.2)  # a rate needs two points
        for name in ("load", "CPU, %", "memory", "network", "disks, sectors", "disks, free"):
            other.open()
            link = other.wait(lambda: [a for a in other.all(".welcome a") if a.text == name], name)
            link[0].click()
            other.drawn()
            assert other.names(), name
            assert not other.all(".err"), (name, other.text(".err"))
    finally:
        if demo:
            demo.kill()
            demo.wait()
        halite.close()

"""Dark, light, phone, a proxy, a login."""
import http.client
import http.server
import os
import tempfile
import threading

import rig
from rig import Keys

CPU = "start=1h-ago&m=avg:auto:sys.cpu.user{host=*}&o="


def background(page):
    return page.js("return getComputedStyle(document.body).backgroundColor")


def test_dark_follows_the_system_and_the_switch(page):
    scheme = lambda v: page.d.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": v}]})
    try:
        scheme("light")
        page.open(CPU)
        page.js("localStorage.removeItem('halite.theme')")
        page.open(CPU)
        assert background(page) == "rgb(255, 255, 255)"
        scheme("dark")
        page.wait(lambda: background(page) == "rgb(21, 24, 29)", "dark")
        page.label("colours").send_keys("light")
        page.wait(lambda: background(page) == "rgb(255, 255, 255)", "light by hand")
        page.open(CPU)
        assert background(page) == "rgb(255, 255, 255)"
        ink = page.js("return getComputedStyle(document.querySelector('.dygraph-axis-label')).color")
        assert ink == "rgb(34, 34, 34)", ink
    finally:
        page.js("localStorage.removeItem('halite.theme')")
        scheme("light")


def test_phone(page):
    page.d.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True})
    try:
        page.open(CPU)
        x, y, w, h = page.box()
        assert w <= 390 and y < 844 * 0.25, ("the graph begins too low", y)
        rows = page.js("return [...document.querySelectorAll('.legend tbody tr')].filter(r => r.getBoundingClientRect().bottom < innerHeight).length")
        assert rows >= 3, "the legend is on the first screen"
        assert page.js("return document.documentElement.scrollWidth") <= 390
        assert not page.label("metric").is_displayed()
        page.button("☰ query").click()
        page.wait(lambda: page.label("metric").is_displayed(), "the controls")
        assert page.js("return document.documentElement.scrollWidth") <= 390
        page.button("share ▾").click()
        left, right = page.js("const r = document.querySelector('.menu [role=menu]').getBoundingClientRect(); return [r.left, r.right]")
        assert left >= 0 and right <= 390, (left, right)
        page.open(CPU + "&m=sum:no.such.metric&o=")
        page.wait(lambda: "no.such.metric" in page.text(".err"), "the error of a query")
    finally:
        page.d.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_below_a_path_of_a_proxy(page):
    port = page.halite.port

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if not self.path.startswith("/deep/halite/"):
                self.send_error(404)
                return
            c = http.client.HTTPConnection("127.0.0.1", port)
            c.request("GET", self.path[len("/deep/halite"):])
            r = c.getresponse()
            data = r.read()
            self.send_response(r.status)
            for k, v in r.getheaders():
                if k in ("Content-Type", "Content-Encoding", "Content-Security-Policy"):
                    self.send_header(k, v)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *a):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        other = rig.Page(page.d, page.halite)
        other.base = "http://127.0.0.1:%d/deep/halite/" % server.server_port
        other.open(CPU)
        assert len(other.names()) == 10
    finally:
        server.shutdown()


def test_login_where_the_server_wants_one(page):
    folder = tempfile.mkdtemp()
    auth = os.path.join(folder, "auth")
    import subprocess
    line = subprocess.run([page.program, "secret", "user", "ann", "read,write"], input=b"secret\n",
                          capture_output=True, timeout=20).stdout.decode()
    with open(auth, "w") as f:
        f.write(line)
    os.chmod(auth, 0o600)
    halite = rig.Halite(page.program, ["halite.auth.file=" + auth])
    try:
        import base64
        halite.put([("m", rig.NOW - 60, 1, {"h": "a"}), ("m", rig.NOW - 30, 2, {"h": "a"})],
                   {"Authorization": "Basic " + base64.b64encode(b"ann:secret").decode()})
        assert halite.ask("GET", "api/version")[0].getheader("WWW-Authenticate")
        r, _ = halite.ask("GET", "api/version", None, {"X-Requested-With": "halite"})
        assert r.status == 401 and r.getheader("WWW-Authenticate") is None, "the browser would ask, too"
        other = rig.Page(page.d, halite)
        other.d.get("about:blank")
        other.d.get(other.base + "#start=10m-ago&m=sum:m&o=")
        other.label("name").send_keys("ann")
        other.label("password").send_keys("wrong", Keys.ENTER)
        other.wait(lambda: "not good" in other.text(".login [role=alert]"), "the form again, and why")
        other.label("name").send_keys("ann")
        other.label("password").send_keys("secret", Keys.ENTER)
        other.drawn()
        assert other.names() == ["m{h=a}"]
        other.d.refresh()
        other.drawn()
        assert other.names() == ["m{h=a}"]
    finally:
        halite.close()
        page.js("sessionStorage.clear()")


def test_works_without_login_or_cloud(page):
    page.open(CPU)
    assert not page.all(".login")
    asked = page.js("return performance.getEntriesByType('resource').map(r => r.name)")
    assert asked and all(url.startswith((page.base, "data:")) for url in asked), asked
    assert page.js("return document.cookie") == "" and page.d.get_cookies() == []

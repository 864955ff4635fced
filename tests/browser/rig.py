"""A halite with points, and a browser that looks at it.

A group is a file with functions test_*(page); run.py calls each on a page of its own
history and prints its name.
"""
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

WAIT_S = 20
NOW = int(time.time())


class Halite:
    """The program in memory on a port of its own, fed by HTTP."""

    def __init__(self, program, settings=()):
        self.folder, self.program = tempfile.mkdtemp(prefix="halite-browser-"), program
        log = os.path.join(self.folder, "log")
        self.process = subprocess.Popen(
            [program, "tsd", "--memory", "--port", "0", "tsd.network.bind=127.0.0.1",
             "tsd.core.auto_create_metrics=true",
             'tsd.core.histograms.config={"net.opentsdb.core.SimpleHistogramDecoder": 0}',
             *settings],
            stdout=subprocess.DEVNULL, stderr=open(log, "w"))
        until = time.time() + WAIT_S
        while True:
            m = re.search(r"listening on \S+:(\d+)", open(log).read())
            if m:
                break
            if time.time() > until or self.process.poll() is not None:
                raise RuntimeError("halite does not start:\n" + open(log).read())
            time.sleep(0.02)
        self.port = int(m.group(1))

    def url(self, path=""):
        return "http://127.0.0.1:%d/%s" % (self.port, path)

    def ask(self, method, path, body=None, headers=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        c.request(method, "/" + path, body, headers or {})
        r = c.getresponse()
        data = r.read()
        c.close()
        return r, data

    def json(self, method, path, body=None, headers=None):
        r, data = self.ask(method, path, body, headers)
        assert r.status < 300, (path, r.status, data[:300])
        return json.loads(data) if data else None

    def put(self, points, headers=None):
        """points: (metric, seconds, value, tags)"""
        for i in range(0, len(points), 5000):
            self.json("POST", "api/put", [
                {"metric": m, "timestamp": t, "value": v, "tags": tags}
                for m, t, v, tags in points[i:i + 5000]], headers)

    def telnet(self, text):
        """Lines of points, and the answer that says they are stored."""
        s = socket.create_connection(("127.0.0.1", self.port), 60)
        s.sendall(text.encode() + b"version\n")
        answer = s.recv(4096)
        assert answer.startswith(b"halite") or b"net.opentsdb" in answer, answer
        s.close()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder)


def browser(width=1280, height=900):
    folder = tempfile.mkdtemp(prefix="halite-chromium-")
    o = Options()
    o.binary_location = shutil.which("chromium")
    for flag in ("--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run "
                 "--disable-background-networking --disable-component-update "
                 "--disable-sync --disable-dev-shm-usage --hide-scrollbars "
                 "--lang=en-US").split():
        o.add_argument(flag)
    o.add_argument("--user-data-dir=" + folder)
    o.add_argument("--window-size=%d,%d" % (width, height))
    o.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    d = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=o)
    d.set_page_load_timeout(60)
    d.set_script_timeout(60)
    d.halite_folder = folder
    return d


def close(driver):
    driver.quit()
    shutil.rmtree(driver.halite_folder, ignore_errors=True)


class Page:
    """What a test does with the browser."""

    def __init__(self, driver, halite):
        self.d, self.halite, self.base = driver, halite, halite.url()
        self.program = halite.program

    def open(self, fragment="", query=""):
        """Loads the page anew, and waits for the picture where one is asked for."""
        self.d.get("about:blank")
        self.d.get(self.base + query + ("#" + fragment if fragment else ""))
        self.wait(lambda: self.all("#page, .login"), "the page")
        if "m=" in fragment and "view=" not in fragment:
            self.drawn()
        return self

    def js(self, script, *args):
        return self.d.execute_script(script, *args)

    def wait(self, what, name="a condition", seconds=WAIT_S):
        until = time.time() + seconds
        while True:
            try:
                v = what()
                if v:
                    return v
            except Exception as e:
                if time.time() > until:
                    raise AssertionError("no " + name) from e
            if time.time() > until:
                raise AssertionError("waited in vain for " + name + "; log: " + str(self.log))
            time.sleep(0.03)

    def drawn(self):
        """Waits until nothing is asked any more and all lines are drawn."""
        self.wait(lambda: self.js(
            "const p = document.querySelector('.plot'), s = document.querySelector('.bar .status');"
            "return p && p.dataset.drawn > 0 && s && /series|^$/.test(s.textContent)"), "a picture")
        n = -1
        while n != (n := int(self.js("return +document.querySelector('.plot').dataset.drawn"))):
            time.sleep(0.1)

    log = ""

    def all(self, css):
        return self.d.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        return self.wait(lambda: self.all(css), css)[0]

    def label(self, text):
        return self.one('[aria-label="%s"]' % text)

    def button(self, text):
        return self.wait(lambda: [b for b in self.all("button, a") if b.text.strip() == text],
                         "the button " + text)[0]

    def text(self, css):
        return self.one(css).text

    def hash(self):
        return self.js("return decodeURIComponent(location.hash)")

    def set(self, label, value):
        e = self.label(label)
        e.click()
        e.send_keys(Keys.CONTROL, "a")
        e.send_keys(value or Keys.DELETE)
        e.send_keys(Keys.ENTER)

    def keys(self, *keys):
        """Pressed with no field in focus."""
        self.js("document.activeElement && document.activeElement.blur()")
        ActionChains(self.d).send_keys(*keys).perform()

    def keys_here(self, *keys):
        """Pressed where the focus is."""
        ActionChains(self.d).send_keys(*keys).perform()

    def box(self):
        return self.js("const r = document.querySelector('.plot').getBoundingClientRect();"
                       "return [r.left, r.top, r.width, r.height]")

    def at(self, fx, fy):
        """A place in the graph, by fractions of its width and height."""
        x, y, w, h = self.box()
        return int(x + w * fx), int(y + h * fy)

    def drag(self, a, b, *modifiers):
        (x0, y0), (x1, y1) = self.at(*a), self.at(*b)
        c = ActionChains(self.d, duration=20)
        for m in modifiers:
            c.key_down(m)
        w = c.w3c_actions.pointer_action
        w.move_to_location(x0, y0).pointer_down()
        for i in range(1, 6):
            w.move_to_location(x0 + (x1 - x0) * i // 5, y0 + (y1 - y0) * i // 5)
        w.pointer_up()
        c.perform()
        if modifiers:
            c = ActionChains(self.d)
            for m in modifiers:
                c.key_up(m)
            c.perform()

    def hover(self, fx, fy):
        c = ActionChains(self.d, duration=20)
        c.w3c_actions.pointer_action.move_to_location(*self.at(fx, fy))
        c.perform()

    def click_at(self, fx, fy):
        c = ActionChains(self.d, duration=20)
        c.w3c_actions.pointer_action.move_to_location(*self.at(fx, fy)).pointer_down().pointer_up()
        c.perform()

    def range(self):
        """Start and end of the fragment, in seconds."""
        m = re.search(r"start=(\d+)&end=(\d+)", self.hash())
        assert m, self.hash()
        return int(m.group(1)) / 1000, int(m.group(2)) / 1000

    def pixels(self, colour, near=40):
        """How many pixels of the lines' canvas have about this colour (r, g, b)."""
        return self.js("""
            const [r, g, b, near] = arguments; let n = 0;
            for (const c of document.querySelectorAll('.plot .inner canvas')) {
                const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
                for (let i = 0; i < d.length; i += 4)
                    if (d[i + 3] > 90 && Math.abs(d[i] - r) + Math.abs(d[i + 1] - g) + Math.abs(d[i + 2] - b) < near) n++;
            }
            return n;""", *colour, near)

    def names(self):
        return [r.get_attribute("data-name") for r in self.all(".legend tbody tr")]

    def requests(self):
        """Paths that were asked since requests_clear()."""
        return self.js("return performance.getEntriesByType('resource').map(r => r.name)"
                       ".filter(n => n.includes('/api/'))")

    def requests_clear(self):
        self.js("performance.clearResourceTimings()")

    def errors(self):
        """Of the script, since the last call."""
        return [x["message"] for x in self.d.get_log("browser")
                if x["level"] == "SEVERE" and "api/" not in x["message"] and "/q?" not in x["message"]
                and "favicon" not in x["message"]]


BLUE, ORANGE, GREEN = (0, 114, 178), (230, 159, 0), (0, 158, 115)
HOSTS = 10


def feed(halite):
    """Ten hosts in two data centers, two hours of a point each ten seconds; one has a hole."""
    points = []
    for i in range(HOSTS):
        tags = {"host": "web%02d" % i, "dc": "lga" if i % 2 else "ams"}
        for t in range(NOW - 7200, NOW, 10):
            if i == 2 and NOW - 3000 < t < NOW - 2000:
                continue
            points.append(("sys.cpu.user", t, 20 + i * 5 + (t // 60) % 7, tags))
        for t in range(NOW - 7200, NOW, 60):
            points.append(("net.bytes", t, (t - NOW + 7200) * (i + 1) * 100, tags))
    halite.put(points)

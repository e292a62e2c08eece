"""A headless Chromium that tests control through its DevTools protocol, over a pipe, with the standard library only."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tests.cli.support import PATIENCE_S

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = ["--headless=new", "--no-first-run", "--no-default-browser-check", "--disable-gpu", "--disable-extensions",
         "--disable-gpu-watchdog", "--disable-hang-monitor",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
         "--hide-scrollbars", "--mute-audio", "--remote-debugging-pipe"]
KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35, "Enter": 13, "Tab": 9,
        "PageUp": 33, "PageDown": 34}


def program():
    found = next((shutil.which(name) for name in NAMES if shutil.which(name)), None)
    if not found:
        raise AssertionError("there is no Chromium: make deps")
    return found


class Browser:
    """The browser ends with its `with` block. Each page is a tab with its own log."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="ncclprof-browser-")
        to_it, self.commands = os.pipe()
        self.answers, from_it = os.pipe()
        # Not 3 and 4, which become the ends of the pipe.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_it, from_it)]
        os.close(to_it)
        os.close(from_it)

        def place():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        own = ["--no-sandbox"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [program(), *QUIET, *own, f"--user-data-dir={self.home}", "about:blank"], preexec_fn=place, pass_fds=(3, 4),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8"})
        for end in ends:
            os.close(end)
        self.number = 0
        self.bytes = b""
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close", {})
            self.process.wait(PATIENCE_S)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.home, ignore_errors=True)

    def send(self, method, params, session=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        return self.number

    def receive(self):
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self.bytes:
            if not select.select([self.answers], [], [], max(0, until - time.monotonic()))[0]:
                raise AssertionError("Chromium does not answer")
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise AssertionError("Chromium has ended")
            self.bytes += more
        message, _, self.bytes = self.bytes.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **params):
        number = self.send(method, params, session)
        while True:
            message = self.receive()
            if message.get("id") == number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            page = self.pages.get(message.get("sessionId"))
            if page:
                page.note(message)

    def open(self, path, **how):
        return Page(self, path, **how)


class Page:
    """A file in a tab: the errors and network requests that it makes, and methods to use it."""

    def __init__(self, browser, path, width=1100, height=900, scheme="light", script=True):
        self.browser = browser
        self.complaints = []
        self.requests = []
        self.loaded = set()
        self.url = Path(path).resolve().as_uri()
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        if not script:
            self.call("Emulation.setScriptExecutionDisabled", value=True)
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        # The load event of the blank page before it may come late, too.
        page = self.call("Page.navigate", url=self.url)["loaderId"]
        until = time.monotonic() + PATIENCE_S
        while page not in self.loaded:
            if time.monotonic() > until:
                raise AssertionError(f"{self.url} is not loaded")
            self.call("Page.getLayoutMetrics")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def note(self, message):
        method, params = message["method"], message["params"]
        if method == "Page.lifecycleEvent" and params["name"] == "load":
            self.loaded.add(params["loaderId"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("exception", {}).get("description") or str(params))
        elif method == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str([argument.get("value") for argument in params["args"]]))
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append("a dialog: " + params["message"])
            self.browser.send("Page.handleJavaScriptDialog", {"accept": True}, self.session)
        elif method == "Network.requestWillBeSent" and params["request"]["url"] != self.url:
            self.requests.append(params["request"]["url"])

    def run(self, expression):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def all(self, selector):
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.textContent)")

    def click(self, selector, x=None, y=None):
        """At the center of the element that the selector finds, or at an offset in pixels from its corner."""
        box = self.run(f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.scrollIntoView("
                       "{block: 'center'}); const box = one.getBoundingClientRect(); return [box.x, box.y, box.width, "
                       "box.height]; })()")
        at = {"x": box[0] + (box[2] / 2 if x is None else x), "y": box[1] + (box[3] / 2 if y is None else y)}
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def focus(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")

    def press(self, *keys, shift=False):
        for key in keys:
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=8 if shift else 0,
                          windowsVirtualKeyCode=KEYS.get(key, ord(key[0].upper())), text=key if len(key) == 1 and kind == "keyDown" else "")

    def pixels(self, path=None):
        """A screenshot of the whole page, as PNG."""
        picture = base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])
        if path:
            Path(path).write_bytes(picture)
        return picture

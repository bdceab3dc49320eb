"""A headless Chromium, spoken to over two pipes in the DevTools protocol: nothing but Python is needed."""
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

DEADLINE_S = 60


def chromium():
    """The program's path; None where there is none."""
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    return next((path for path in map(shutil.which, filter(None, names)) if path), None)


def above_ten(descriptor):
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class Browser:
    """One page. `requests` and `complaints` grow with what it asked for and what went wrong in it."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self.ours_out = map(above_ten, os.pipe())
        self.ours_in, theirs_out = map(above_ten, os.pipe())

        def connect():
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder.name}"],
            preexec_fn=connect, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer, self.number, self.session = b"", 0, None
        self.requests, self.complaints, self.is_loaded = [], [], False
        self.open_page()

    def open_page(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def message(self):
        end = time.monotonic() + DEADLINE_S
        while b"\0" not in self.buffer:
            if not select.select([self.ours_in], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            block = os.read(self.ours_in, 1 << 16)
            if not block:
                raise ConnectionError("the browser has ended")
            self.buffer += block
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, event):
        method, what = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif method == "Page.loadEventFired":
            self.is_loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(what["exceptionDetails"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] == "error":
            self.complaints.append(f"{what['entry']['text']} {what['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and what["type"] == "error":
            self.complaints.append(json.dumps(what["args"]))

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.ours_out, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") != self.number:
                self.note(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def visit(self, url):
        self.is_loaded = False
        self.call("Page.navigate", url=url)
        while not self.is_loaded:
            self.note(self.message())

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, condition):
        """Until the expression is true in the page, which looks again whenever it has time."""
        looked = f"""new Promise((resolve) => {{
            const end = performance.now() + {1000 * (DEADLINE_S - 10)};
            const look = () => {{
              if ({condition}) resolve(true);
              else if (performance.now() > end) resolve(false);
              else setTimeout(look, 20);
            }};
            look();
        }})"""
        if not self.value(looked):
            text = self.value("document.body.innerText")
            raise AssertionError(f"never true: {condition}\nthe page shows:\n{text}")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

"""Open every page of a built book in headless Chromium, cut off from the network, and list what is wrong.

Chromium is driven over its DevTools websocket. A page has a problem when it asks for anything that is
not a file, when an image, script, style or linked file is missing, when the console shows an error,
or when a formula was left as source or typeset as an error.
"""

import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import websocket

LOCAL_SCHEMES = ("file", "data", "blob", "about", "chrome-error")
LINK_SCHEMES = ("http", "https", "mailto", "javascript")

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--mute-audio",
    # Frames stay in the page's own process, so that their requests are reported with the page's.
    "--disable-site-isolation-trials",
    "--disable-features=IsolateOrigins,site-per-process",
    # No name resolves, and whatever tries an address meets a closed door.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--remote-debugging-port=0",
    "--window-size=1280,900",
)

# Waits for the mathematics and the pictures, then reports on the document.
_INSPECT = r"""
(async () => {
  if (window.MathJax && MathJax.startup && MathJax.startup.promise) await MathJax.startup.promise;
  const images = [...document.images];
  for (const image of images) image.loading = "eager";
  await Promise.all(images.map((image) => image.decode().catch(() => null)));
  const maths = [...document.querySelectorAll(".math")];
  const label = (node) => (node.dataset.mjxError || node.textContent).trim().slice(0, 80);
  const broken = maths.filter((node) => !node.querySelector("mjx-container svg, math"));
  const wrong = [...document.querySelectorAll("mjx-merror, [data-mjx-error], merror")];
  const skipped = "script, style, code, pre, textarea, .math, mjx-container";
  const left = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (/\\\(|\\\[|\$\$|\\begin\{|\\(frac|mathbb|mathcal|lambda|min)\b/.test(node.data)
        && !node.parentElement.closest(skipped)) left.push(node.data.trim().slice(0, 80));
  }
  return {
    images: images.filter((image) => !image.naturalWidth).map((image) => image.src.slice(0, 200)),
    formulas: [...broken.map(label), ...wrong.map(label), ...left],
    formula_count: maths.length,
    links: [...document.querySelectorAll("a[href]")].map((node) => node.href),
    ids: [...document.querySelectorAll("[id]")].map((node) => node.id),
  };
})()
"""


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong with one page."""

    page: str
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.page}: {self.kind}: {self.detail}"


def find_chromium() -> str | None:
    """Return the path of an installed Chromium or Chrome, or ``None``."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Browser:
    """A running Chromium with one tab, and the events it sent."""

    def __init__(self, address: str, seconds: float):
        self.seconds = seconds
        # No Origin header: Chromium refuses foreign origins on its DevTools socket.
        self._socket = websocket.create_connection(address, timeout=seconds, suppress_origin=True)
        self._next_id = 0
        self._events: list[dict[str, Any]] = []
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a DevTools command and return its answer, keeping the events that come before it."""
        self._next_id += 1
        message = {"id": self._next_id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._next_id:
                if "error" in answer:
                    raise RuntimeError(f"Chromium refused {method}: {answer['error']['message']}")
                return answer["result"]
            self._events.append(answer)

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, awaited, in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(f"the page could not be inspected: {_exception_text(details)}")
        return answer["result"].get("value")

    def open(self, url: str) -> None:
        """Go to ``url`` and return when it and everything in it has loaded or failed to."""
        self._events.clear()
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(json.loads(self._socket.recv()))

    def take_events(self) -> list[dict[str, Any]]:
        """Return and forget the events since the last `open`."""
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        """Ask Chromium to end."""
        self._session = None
        with contextlib.suppress(websocket.WebSocketException, OSError):
            self.call("Browser.close")
        self._socket.close()


@contextlib.contextmanager
def running_browser(seconds: float = 120) -> Iterator[Browser]:
    """Start Chromium in a profile of its own; ``seconds`` is how long to wait for any one answer."""
    program = find_chromium()
    if program is None:
        raise RuntimeError("no Chromium found: install the package `chromium`")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            browser = Browser(_devtools_address(process, Path(profile), seconds), seconds)
            try:
                yield browser
            finally:
                browser.close()
        finally:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _devtools_address(process: subprocess.Popen, profile: Path, seconds: float) -> str:
    """Wait until Chromium has written the port it listens on, and return its websocket's address."""
    deadline = time.monotonic() + seconds
    port_file = profile / "DevToolsActivePort"
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"Chromium ended at once with exit code {process.returncode}")
        lines = port_file.read_text().splitlines() if port_file.exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.05)
    raise RuntimeError(f"Chromium did not open its DevTools port in {seconds} seconds")


def check_book(html_folder: str | Path) -> list[Problem]:
    """Return every problem of every page of the book in ``html_folder``; an empty list is a good book."""
    folder = Path(html_folder).resolve()
    pages = sorted(folder.rglob("*.html"))
    if not pages:
        raise ValueError(f"{folder} holds no .html page: build the book first")
    problems: set[Problem] = set()
    documents: dict[Path, dict[str, Any]] = {}
    with running_browser() as browser:
        for page in pages:
            name = page.relative_to(folder).as_posix()
            # A search does its work only when it is asked something.
            browser.open(page.as_uri() + ("?q=risk" if name == "search.html" else ""))
            documents[page] = browser.evaluate(_INSPECT)
            problems |= {Problem(name, *found) for found in _event_problems(browser.take_events())}
            problems |= {Problem(name, *found) for found in _document_problems(documents[page])}
    for page, document in documents.items():
        name = page.relative_to(folder).as_posix()
        problems |= {Problem(name, *found) for found in _link_problems(document["links"], documents)}
    return sorted(problems)


def _event_problems(events: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield what the network, the console and the log say is wrong."""
    requested = {}
    for event in events:
        params = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                url = params["request"]["url"]
                requested[params["requestId"]] = url
                if urlsplit(url).scheme not in LOCAL_SCHEMES:
                    yield "external request", url
            case "Network.webSocketCreated":
                yield "external request", params["url"]
            case "Network.loadingFailed":
                url = requested.get(params["requestId"], "an unnamed request")
                if urlsplit(url).scheme in LOCAL_SCHEMES:
                    yield "missing file", f"{url[:200]} ({params['errorText']})"
            case "Runtime.exceptionThrown":
                yield "console error", _exception_text(params["exceptionDetails"])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "assert"):
                words = [str(a.get("value", a.get("description", ""))) for a in params["args"]]
                yield "console error", " ".join(words)
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                entry = params["entry"]
                yield "console error", f"{entry['text']} {entry.get('url', '')[:200]}".strip()


def _exception_text(details: dict[str, Any]) -> str:
    return details.get("exception", {}).get("description", details.get("text", "unknown"))


def _document_problems(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for source in document["images"]:
        yield "missing image", source
    for formula in document["formulas"]:
        yield "unrendered formula", formula


def _link_problems(links: list[str], documents: dict[Path, dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield links to files that are not there, and to places that no page has."""
    for link in links:
        parts = urlsplit(link)
        if parts.scheme in LINK_SCHEMES:
            continue
        if parts.scheme != "file":
            yield "dead link", link
            continue
        target = Path(unquote(parts.path))
        if not target.is_file():
            yield "dead link", link
        elif parts.fragment and target in documents:
            place = unquote(parts.fragment)
            if place not in documents[target]["ids"]:
                yield "dead link", f"{link} (no such place on that page)"

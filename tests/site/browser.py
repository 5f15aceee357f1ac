"""A headless Chromium, driven over a pipe with the DevTools protocol: no server, no driver, no package."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--allow-file-access-from-files",
    "--remote-debugging-pipe",
]


class Page:
    """One tab. `requests` and `errors` hold what happened since the last `open`."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive, self._buffer, self._ids = send, receive, b"", 0
        self.requests: list[str] = []
        self.errors: list[str] = []
        target = self.call("Target.createTarget", session=None, url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", session=None, targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(
        self, method: str, *, session: str | None = "", timeout: float = 20, **params: Any
    ) -> dict[str, Any]:
        self._ids += 1
        number, message = self._ids, {"id": self._ids, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            answer = self._next(deadline)
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._receive], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium did not answer in time")
            read = os.read(self._receive, 1 << 20)
            if not read:
                raise EOFError("Chromium has ended")
            self._buffer += read
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(raw)
        self._note(message)
        return dict(message)

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(
                    params["exceptionDetails"].get("exception", {}).get("description", "exception")
                )
            case "Runtime.consoleAPICalled" if params["type"] == "error":
                self.errors.append(
                    " ".join(str(a.get("value", a.get("description"))) for a in params["args"])
                )
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def open(
        self, path: Path, anchor: str = "", *, width: int = 1300, height: int = 900, dark: bool = False
    ) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.requests, self.errors = [], []
        self.call("Page.navigate", url=f"{path.resolve().as_uri()}{anchor}")
        self.wait("document.readyState === 'complete' && document.fonts.status === 'loaded'")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str, seconds: float = 10) -> None:
        deadline = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"the page never came to: {condition}"
            time.sleep(0.03)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextmanager
def chromium_page(executable: str, profile: Path) -> Iterator[Page]:
    """A fresh Chromium with one tab, closed at the end."""
    ends = (*os.pipe(), *os.pipe())
    to_browser, send, receive, from_browser = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    # Chromium reads commands from descriptor 3 and answers on 4. A shell puts them there, from above 10,
    # so that neither hides the other.
    command = [executable, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    shell = ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", *command]
    process = subprocess.Popen(
        shell, pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Page(send, receive)
    finally:
        process.terminate()
        process.wait(timeout=10)
        os.close(send)
        os.close(receive)

"""A browser without a window that is driven over a pipe (Chrome DevTools Protocol): real keys, colour schemes, scripts.

A script that comes this way is not subject to the page's Content-Security-Policy, so that axe-core can look at the page
as it is.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import pytest

from browser import browser

AXE = Path(__file__).parents[2] / ".axe-core" / "4.14.1" / "axe.min.js"
# Key -> code of the key, and the text that it types.
_KEYS = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    " ": (32, " "),
    "End": (35, ""),
    "Home": (36, ""),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
}


def axe() -> str:
    """The script of axe-core; without it the test is skipped, or fails where WORDORDER_REQUIRE_BROWSER is set."""
    if not AXE.is_file():
        if os.environ.get("WORDORDER_REQUIRE_BROWSER"):
            pytest.fail(f"WORDORDER_REQUIRE_BROWSER is set, but {AXE} does not exist: run tests/install_axe.")
        pytest.skip("axe-core is not installed; tests/install_axe fetches it.")
    return AXE.read_text(encoding="utf-8")


class Session:
    """A page in a browser, at a width and in a colour scheme.

    Args:
        page: The HTML file.
        folder: A folder for the browser's profile.
        width: The width of the window in pixels.
        scheme: The colour scheme that the reader prefers.
    """

    def __init__(self, page: Path, folder: Path, *, width: int, scheme: Literal["light", "dark"] = "light") -> None:
        self._page, self._width, self._scheme = page, width, scheme
        (read, self._to), (self._from, write) = os.pipe(), os.pipe()

        def numbered() -> None:
            # The browser reads from 3 and writes to 4; the copies do not overwrite each other.
            high_read, high_write = os.dup(read), os.dup(write)
            os.dup2(high_read, 3)
            os.dup2(high_write, 4)

        command = [
            browser(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--remote-debugging-pipe",
        ]
        command += ["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"]
        command += [f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=numbered
        )
        os.close(read)
        os.close(write)
        self._read = b""
        self._number = 0
        self._session: str | None = None
        # What the page's own scripts threw, which the page would not show.
        self._thrown: list[str] = []

    def __enter__(self) -> Self:
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")
        self._call("Runtime.enable")
        size = {"width": self._width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": self._scheme}])
        self._call("Page.navigate", url=self._page.resolve().as_uri())
        self.run("while (document.readyState !== 'complete') await new Promise((done) => setTimeout(done, 50));")
        self._call("Page.bringToFront")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)
        os.close(self._to)
        os.close(self._from)
        assert not self._thrown, f"The page's scripts threw: {self._thrown}"

    def run(self, script: str) -> Any:
        """Run the body of an asynchronous function, and return what it returns."""
        found = self._call(
            "Runtime.evaluate", expression=f"(async () => {{ {script} }})()", awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def load(self, script: str) -> None:
        """Run a whole script, whose definitions stay."""
        found = self._call("Runtime.evaluate", expression=script)
        assert "exceptionDetails" not in found, found["exceptionDetails"]

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key, by its name or the letter that it types."""
        code, text = _KEYS.get(key, (ord(key[0].upper()), key))
        event = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self._call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **event)
        self._call("Input.dispatchKeyEvent", type="keyUp", **event)

    def point(self, x: float, y: float) -> None:
        """Move the mouse to a point of the window, in pixels."""
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        content = json.dumps(message).encode() + b"\0"
        while content:
            content = content[os.write(self._to, content) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            more = os.read(self._from, 1 << 16)
            assert more, "The browser ended."
            self._read += more
        message, _, self._read = self._read.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        if found.get("method") == "Runtime.exceptionThrown":
            details = found["params"]["exceptionDetails"]
            self._thrown.append(details.get("exception", {}).get("description", details["text"]))
        return found

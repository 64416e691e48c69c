"""A real browser without a window: it opens a page at a width, runs a script in it, and returns the findings."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

# The unchanged page is shown in a frame of the requested width, because a browser without a window has a minimum width.
# The script is the body of a function of the frame's window and document; what it returns is found.
_WRAPPER = """<!DOCTYPE html><meta charset="utf-8"><style>body {{ margin: 0 }} iframe {{ border: 0 }}</style>
<iframe width="{width}" height="900" src="{address}"></iframe><pre></pre>
<script>
const frame = document.querySelector("iframe");
frame.addEventListener("load", async () => {{
  let found;
  try {{
    found = await (async (window, document) => {{ {script} }})(frame.contentWindow, frame.contentDocument);
  }} catch (error) {{
    found = {{ error: String(error) + error.stack }};
  }}
  document.querySelector("pre").textContent = JSON.stringify(found);
}});
</script>
"""


@dataclass(frozen=True)
class Visit:
    """The result of the script (``found``), and the messages on the browser's console (``console``)."""

    found: dict[str, Any]
    console: list[str]


def browser() -> str:
    """Find the browser; without one, skip the test, or fail if WORDORDER_REQUIRE_BROWSER is set."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        if os.environ.get("WORDORDER_REQUIRE_BROWSER"):
            pytest.fail("WORDORDER_REQUIRE_BROWSER is set, but there is no browser: run tests/install_chromium.")
        pytest.skip("no chromium; tests/install_chromium installs it")
    return found


def visit(page: Path, script: str, *, width: int, folder: Path) -> Visit:
    """Open ``page`` in a frame of ``width`` pixels, without any network, and run ``script`` on it."""
    folder.mkdir(parents=True, exist_ok=True)
    wrapper = folder / "wrapper.html"
    wrapper.write_text(_WRAPPER.format(width=width, address=page.resolve().as_uri(), script=script), encoding="utf-8")
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr"]
    command += ["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += [f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000", "--allow-file-access-from-files"]
    command += ["--virtual-time-budget=20000", "--dump-dom", wrapper.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    shown = re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    assert shown and shown[1], f"The script returned nothing. {done.stderr}"
    found = json.loads(unescape(shown[1]))
    assert "error" not in found, found["error"]
    return Visit(found, [line for line in done.stderr.splitlines() if "CONSOLE" in line])

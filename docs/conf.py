"""The documentation site, which 'make docs' builds in build/site. Every warning, such as a dead link, is an error.

The generator is Sphinx, because its search works from files, without a server or a network. MyST reads the Markdown,
which a repository browser shows, too. The module generate writes the pages in generated/.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import generate  # noqa: E402

import wordorder  # noqa: E402

project = "wordorder"
author = copyright = "the wordorder contributors"
version = release = wordorder.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["examples/*"]

html_theme = "furo"
html_title = f"wordorder {version}"
html_copy_source = False
html_show_sourcelink = False

myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline", "deflist"]
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "exclude-members": "model_config, model_post_init"}
napoleon_numpy_docstring = False


def outside(match: re.Match[str]) -> str:
    """Keep the text of a link to a file that the site does not have, and no link."""
    text, target = match["text"], match["target"]
    file, mark, anchor = target.removeprefix("../").partition("#")
    page = generate.COPIED.get(file)
    return f"[{text}](generated/{page}{mark}{anchor})" if page else text


def read(_: Sphinx, name: str, source: list[str]) -> None:
    """Lead links out of docs/ to the site's copy of a file, if there is one."""
    if not name.startswith("generated/"):
        source[0] = re.sub(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>\.\./[^)]+)\)", outside, source[0])


def tables_as_text(app: Sphinx, what: str, name: str, object: Any, options: Any, lines: list[str]) -> None:
    """Show the tables of a module's docstring as they are written, because Sphinx cannot read them."""
    found, table = [], False
    for line in lines:
        starts = line.startswith(("| ", "|-", "====="))
        if starts and not table:
            found += ["::", ""]
        table = starts or (table and line != "")
        found.append(f"    {line}" if table else line)
    if what == "module":
        lines[:] = found


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the generated pages before any page is read."""
    generate.write()
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", tables_as_text)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

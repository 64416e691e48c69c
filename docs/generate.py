"""Writes the pages of docs/generated: gallery, commands, configuration, Python interface, results and changelog."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import typer

from wordorder.api.inspection import Inspection, inspect, write_figure
from wordorder.cli.main import app, main
from wordorder.config.load import encoding_names, load_encodings
from wordorder.encodings.registry import encoding_types
from wordorder.registry import KINDS

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "generated"
# Files of the repository that are pages of the site, too.
COPIED = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "results/README.md": "results.md",
    "benchmarks/README.md": "benchmarks-folder.md",
}
_API = ("encodings", "models", "results", "comparisons", "inspection")
_PANELS = ("Study", "Model", "Encoding", "Data", "Other")
_EXIT = """
| exit status | meaning |
|---|---|
| 0 | The command succeeded. |
| 1 | An error, which stderr explains in full sentences. |
| 2 | A mistake in the command line; the sentence names the option. |
| 75 | A signal stopped the command, which saved its state. Rerun it to resume. |
| 130 | Ctrl-C |
| 143 | SIGTERM; nothing half-written is left. |

`wordorder run` ends with the exit status of Snakemake.

With `WORDORDER_ERRORS=json`, each mistake is one JSON object per line on stderr. Commands with `--json` print JSON on
stdout. The commands print no colours; `wordorder run` tells Snakemake to print none if `NO_COLOR` is set.

Your shell completes commands, options and the names of studies, datasets and sizes. For bash:

    eval "$(_WORDORDER_COMPLETE=source_bash wordorder)"

Use `source_zsh` or `source_fish` for these shells.
"""

_FIGURE = """The encoding is untrained, with model size 64, 4 heads and 32 positions. All tokens are equal: without
positions, all attention weights of a row would be the same. `wordorder inspect` draws other sizes.
"""
_RESULTS = """## Results so far

The [reference runs](../results.md) differ in data and model size: compare within a study only.

| study | dataset | test set | entry | BLEU | seeds |
|---|---|---|---|---|---|"""


def write() -> None:
    """Write all pages."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "gallery").mkdir(parents=True)
    for source, page in COPIED.items():
        if (ROOT / source).is_file():
            _write(page, _copied((ROOT / source).read_text("utf-8"), Path(source).parent))
    _write("commands.md", "\n".join(_commands()))
    _write("configuration.md", "\n".join(_configuration()))
    _write("python.md", "\n".join(_python()))
    _gallery()


def _write(name: str, text: str) -> None:
    (FOLDER / name).write_text(text.rstrip() + "\n", encoding="utf-8")


def _copied(text: str, folder: Path) -> str:
    """Rewrite the links of a file for the site; those to files that the site lacks become text."""

    def link(match: re.Match[str]) -> str:
        mark, words, target = match["mark"], match["words"], match["target"]
        if re.match(r"(https?:|#|mailto:)", target):
            return match[0]
        file, _, anchor = target.partition("#")
        inside = (ROOT / folder / file).resolve().relative_to(ROOT).as_posix()
        if mark:
            return f"![{words}](../../{inside})"
        if inside.startswith("docs/") and inside.endswith(".md"):
            page = f"../{inside.removeprefix('docs/')}"
        elif inside in COPIED and (ROOT / inside).is_file():
            page = COPIED[inside]
        else:
            return words
        return f"[{words}]({page}{'#' if anchor else ''}{anchor})"

    return re.sub(r"(?P<mark>!?)\[(?P<words>[^\]]*)\]\((?P<target>[^)\s]+)\)", link, text)


# ------------------------------------------------------------------------------------------------- commands


def _commands() -> Iterator[str]:
    """Iterate over the lines of the page of commands: the help of each, and its exit statuses."""
    yield "# Commands\n\n`wordorder COMMAND --help` prints these texts.\n"
    group: Any = typer.main.get_command(app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        members = command.list_commands(context) if name != "stage" and hasattr(command, "list_commands") else [""]
        for member in members:
            words = [name, *filter(None, [member])]
            yield f"## `{' '.join(words)}`\n\n```text\n{_help(words)}\n```\n"
    yield f"## Exit status, JSON, colours and completion\n{_EXIT}"


def _help(words: list[str]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main([*words, "--help"])
    return printed.getvalue().strip()


# -------------------------------------------------------------------------------------------- configuration


def _configuration() -> Iterator[str]:
    """Iterate over the lines of the page of configuration files: a table of keys for each typed model."""
    yield "# Configuration files\n\nGenerated from the typed models that validate the files. Keys without a default are"
    yield "required. `wordorder schema` writes the same as JSON schemas, which editors use.\n"
    seen: set[str] = set()
    for path in sorted((ROOT / "config" / "schema").glob("*.json")):
        if path.stem.startswith("derived_"):
            continue
        schema = json.loads(path.read_text("utf-8"))
        yield f"## {path.stem}\n\n{_text(schema.get('description', ''))}\n"
        yield from _keys(schema)
        for name, model in schema.get("$defs", {}).items():
            if name not in seen and model.get("properties"):
                seen.add(name)
                yield f"### {name} ({path.stem})\n\n{_text(model.get('description', ''))}\n"
                yield from _keys(model)


def _keys(schema: dict[str, Any]) -> Iterator[str]:
    if not schema.get("properties"):
        return
    yield "| key | type | default | meaning |\n|---|---|---|---|"
    for key, about in schema["properties"].items():
        default = "required" if key in schema.get("required", ()) else f"`{json.dumps(about.get('default'))}`"
        yield f"| `{key}` | {_type(about)} | {_cell(default)} | {_cell(_text(about.get('description', '')))} |"
    yield ""


def _type(about: dict[str, Any]) -> str:
    for word in ("anyOf", "oneOf"):
        if word in about:
            return " or ".join(dict.fromkeys(_type(each) for each in about[word]))
    if "$ref" in about:
        return str(about["$ref"]).rpartition("/")[2]
    if "const" in about or "enum" in about:
        return _cell(", ".join(f"`{value}`" for value in about.get("enum", [about.get("const")])))
    if about.get("type") == "array":
        return f"list of {_type(about.get('items', {}))}"
    return str(about.get("type", "any"))


def _text(text: str) -> str:
    return re.sub(r":\w+:`[~.]*([^`]+)`", r"`\1`", text.replace("``", "`")).replace("<", "&lt;")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


# ---------------------------------------------------------------------------------------------------- Python


def _python() -> Iterator[str]:
    """Iterate over the lines of the page of the Python interface."""
    yield "# Python reference\n\n## The API\n\n[Python API](../python.md) shows how to use it.\n"
    modules = [f"wordorder.api.{name}" for name in _API]
    yield from (f"```{{eval-rst}}\n.. automodule:: {module}\n```\n" for module in modules)
    yield "## Interfaces of extensions\n\n[Extend wordorder](../extending.md) has an example of each.\n"
    modules = [f"{package}.base" for package in KINDS.values()]
    yield from (f"```{{eval-rst}}\n.. automodule:: {module}\n```\n" for module in modules)


# --------------------------------------------------------------------------------------------------- gallery


def _gallery() -> None:
    """Write a page for each encoding, and their list."""
    presets, scores = _presets(), _scores()
    rows = ["# Gallery\n\nOne page per encoding: formula, figure, promises, source, cost and results so far.\n"]
    rows += ["| encoding | what it is | kind |\n|---|---|---|"]
    for name in encoding_types():
        found = inspect(name, root="")
        _write(f"gallery/{name}.md", _encoding(found, presets.get(name, []), scores))
        write_figure(found.encoding, FOLDER / "gallery" / name)
        kind = "absolute" if found.encoding.absolute else "relative" if found.encoding.relative else "other"
        rows.append(f"| [`{name}`](gallery/{name}.md) | {_cell(found.texts[name]['Title'])} | {kind} |")
    names = "\n".join(f"gallery/{name}" for name in encoding_types())
    _write("gallery.md", "\n".join(rows) + f"\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n")


def _encoding(found: Inspection, presets: list[str], scores: pd.DataFrame) -> str:
    texts = found.texts[found.name]
    lines = [f"# `{found.name}`\n\n{texts['Title']}.\n\n```text\n{texts['Formula']}\n```\n"]
    lines.append(f"![What {found.name} does]({found.name}.svg)\n")
    lines.append(_FIGURE)
    for heading in ("Promises", "Source", "Start", "Departures"):
        if heading in texts:
            lines.append(f"{'Start values' if heading == 'Start' else heading}\n: {_text(texts[heading])}\n")
    lines.append(f"Parameters\n: {found.parameters:,} in one layer of each stack, at this size\n")
    lines.append(f"Length\n: {'any' if found.longest is None else f'{found.longest:,} positions'}\n")
    lines.append(f"Entries of encodings.yaml\n: {', '.join(f'`{each}`' for each in presets) or 'none'}\n")
    lines.append(f"Fidelity\n: [compared with other implementations](../../fidelity.md#{found.name})\n")
    cost = _cost(found.name)
    if cost:
        lines.append(f"Cost\n: {cost}\n")
    own = scores[scores["encoding"].isin([found.name, *presets])]
    if len(own):
        lines.append(_RESULTS)
        for row in own.to_dict("records"):
            spread = "" if pd.isna(row["sd"]) else f" ± {row['sd']:.2f}"
            place = f"| {row['study']} | {row['dataset']}, {row['size']} | {row['test']} | `{row['encoding']}` "
            lines.append(f"{place}| {row['mean']:.2f}{spread} | {row['n']} |")
    return "\n".join(lines) + "\n"


def _presets() -> dict[str, list[str]]:
    """Return the entries of encodings.yaml by type; a composition belongs to each of its parts."""
    found: dict[str, list[str]] = {}
    root = ROOT / "config"
    for name, config in load_encodings(root, encoding_names(root)).items():
        for part in getattr(config, "compose", [config]):
            found.setdefault(part.type, []).append(name)
    return found


def _scores() -> pd.DataFrame:
    """Return the BLEU of every reference run."""
    frames = [
        pd.read_csv(path, keep_default_na=False, na_values=[""]).assign(study=path.parents[1].name)
        for path in sorted((ROOT / "results" / "reference").glob("*/tables/scores.csv"))
    ]
    scores = pd.concat(frames, ignore_index=True)
    return scores[(scores["metric"] == "bleu") & scores["mean"].notna()]


def _cost(name: str) -> str:
    """Return what a training step of an encoding takes, as a ratio to none at all."""
    costs = pd.read_csv(ROOT / "benchmarks" / "records" / "encoding_cost.csv", keep_default_na=False)
    own = costs[(costs["work"] == "training step") & (costs["encoding"] == name)]
    ratios = ", ".join(f"{row['ratio']:.2f} at {row['length']} tokens" for row in own.to_dict("records"))
    return ratios and f"a training step takes, relative to `none`: {ratios} ([benchmarks](../../benchmarks.md))"


if __name__ == "__main__":
    write()

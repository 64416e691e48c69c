"""Writes the pages of docs/generated: gallery, commands, configuration, Python interface, results and changelog."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import typer

from wordorder.api.inspection import Inspection, inspect, write_figure
from wordorder.cli.main import app, main
from wordorder.config.load import encoding_names, load_encodings
from wordorder.encodings.base import REGISTRY
from wordorder.encodings.registry import encoding_types
from wordorder.registry import KINDS, registry_of
from wordorder.workflow.configuration import Configuration

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "generated"
_RUNS = sorted(path.parent.name for path in ROOT.glob("results/reference/*/README.md"))
# Files of the repository that are pages of the site, too.
COPIED = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "results/README.md": "results.md",
    "benchmarks/README.md": "benchmarks-folder.md",
    **{f"results/reference/{run}/README.md": f"results/{run}.md" for run in _RUNS},
}


class ConfigurationFile(NamedTuple):
    """A configuration file and its page.

    Attributes:
        path: Its path below config/.
        contents: Its contents, in a few words.
        example: The file to show, below config/.
        lines: The number of lines to show.
        more: A sentence with a link to the page that explains the file.
        extensions: Kinds of extensions whose keys the file contains.
    """

    path: str
    contents: str
    example: str
    lines: int
    more: str = ""
    extensions: tuple[str, ...] = ()


_FILES = {
    "study": ConfigurationFile(
        "studies/NAME.yaml",
        "what a study compares",
        "studies/demo.yaml",
        60,
        "[Studies](../../studies.md) explains it. A study that is `based_on` another one names only its differences.",
        ("metrics", "analyses"),
    ),
    "dataset": ConfigurationFile(
        "datasets/NAME.yaml",
        "files with checksums, licence and preprocessing of a dataset",
        "datasets/mini_ende.yaml",
        80,
        "[Add a dataset](../../add-a-dataset.md) explains it.",
        ("dataset_formats",),
    ),
    "derived_dataset": ConfigurationFile(
        "datasets/DERIVED.yaml",
        "the differences of a dataset from another one",
        "datasets/wmt14_ende_40k.yaml",
        40,
        "[Add a dataset](../../add-a-dataset.md#derived-datasets) explains it.",
    ),
    "encodings": ConfigurationFile(
        "encodings.yaml",
        "names of encodings with their parameters",
        "encodings.yaml",
        38,
        "The [gallery](../gallery.md) has the keys of each type.",
    ),
    "sizes": ConfigurationFile(
        "sizes.yaml", "names of model sizes", "sizes.yaml", 24, "Each architecture has its keys.", ("architectures",)
    ),
    "recipes": ConfigurationFile("recipes.yaml", "recipes that several studies share", "recipes.yaml", 30),
    "aligners": ConfigurationFile(
        "aligners.yaml",
        "word aligners",
        "aligners.yaml",
        20,
        "[Reordering](../../reordering.md#aligners) explains them.",
    ),
    "reorderers": ConfigurationFile(
        "reorderers.yaml",
        "reorderers, which turn word alignments into source positions",
        "reorderers.yaml",
        20,
        "[Reordering](../../reordering.md#reorderers) explains them.",
    ),
    "gold_alignments": ConfigurationFile(
        "gold_alignments.yaml", "sets of manual word alignments", "gold_alignments.yaml", 40
    ),
    "published_scores": ConfigurationFile(
        "published/scores.yaml", "tables of scores that papers print", "published/scores.yaml", 40
    ),
    "published_parameters": ConfigurationFile(
        "published/parameters.yaml", "counts of parameters that papers print", "published/parameters.yaml", 40
    ),
    "claims": ConfigurationFile(
        "published/claims/NAME.yaml", "claims of a paper and how they are decided", "published/claims/opr.yaml", 40
    ),
}
_API = ("encodings", "models", "results", "comparisons", "inspection")
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
    for folder in ("gallery", "configuration", "results"):
        (FOLDER / folder).mkdir(parents=True)
    for source, page in COPIED.items():
        if (ROOT / source).is_file():
            hidden = _hidden(f"results/{run}" for run in _RUNS) if page == "results.md" else ""
            _write(page, _copied(source, page) + hidden)
    _write("commands.md", "\n".join(_commands()))
    _configuration()
    _write("datasets.md", "\n".join(_datasets()))
    _write("python.md", "\n".join(_python()))
    _gallery()


def _write(name: str, text: str) -> None:
    (FOLDER / name).write_text(text.rstrip() + "\n", encoding="utf-8")


def _hidden(pages: Iterable[str]) -> str:
    """Return a table of contents that only the navigation shows."""
    return "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"


def _copied(source: str, page: str) -> str:
    """Return the text of a file with the links of its page; those to files that the site lacks become text."""

    def relative(path: Path) -> str:
        return os.path.relpath(path, (FOLDER / page).parent)

    def link(match: re.Match[str]) -> str:
        mark, words, target = match["mark"], match["words"], match["target"]
        if re.match(r"(https?:|#|mailto:)", target):
            return match[0]
        file, _, anchor = target.partition("#")
        path = (ROOT / source).parent.joinpath(file).resolve()
        inside = path.relative_to(ROOT).as_posix()
        if mark:
            return f"![{words}]({relative(path)})"
        if inside in COPIED and path.is_file():
            path = FOLDER / COPIED[inside]
        elif not (inside.startswith("docs/") and inside.endswith(".md")):
            return words
        return f"[{words}]({relative(path)}{'#' if anchor else ''}{anchor})"

    text = (ROOT / source).read_text("utf-8")
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


def _configuration() -> None:
    """Write a page for each configuration file, with an example and tables of its keys, and their list."""
    rows = ["# Configuration files\n\nThese pages are generated from the typed models that validate the files. "]
    rows += ["`config/schema` has the same as JSON schemas, which editors use.\n\n| file | contents |\n|---|---|"]
    for name, file in _FILES.items():
        rows.append(f"| [`config/{file.path}`](configuration/{name}.md) | {file.contents} |")
        _write(f"configuration/{name}.md", "\n".join(_file(name, file)))
    _write("configuration.md", "\n".join(rows) + _hidden(f"configuration/{name}" for name in _FILES))


def _file(name: str, file: ConfigurationFile) -> Iterator[str]:
    """Iterate over the lines of the page of a configuration file."""
    text = (ROOT / "config" / file.example).read_text("utf-8").partition("\n")[2]  # without the editor's line
    example = "\n".join(text.splitlines()[: file.lines])
    shown = (
        f"`config/{file.example}`" if example == text.rstrip("\n") else f"The first lines of `config/{file.example}`"
    )
    yield f"# {file.path}\n\n`config/{file.path}`: {file.contents}. {file.more}\n"
    yield f"## Example\n\n{shown}:\n\n```yaml\n{example}\n```\n"
    schema = json.loads((ROOT / "config" / "schema" / f"{name}.json").read_text("utf-8"))
    if schema.get("properties"):
        yield f"## Keys\n\n{_text(schema.get('description', ''))}\n"
        yield from _keys(schema)
    for title, model in schema.get("$defs", {}).items():
        if model.get("properties") and title != "Analyses":
            yield f"## {title}\n\n{_text(model.get('description', ''))}\n"
            yield from _keys(model)
    for kind in file.extensions:
        yield from _members(kind)


def _members(kind: str) -> Iterator[str]:
    """Iterate over a table of keys for each member of a kind of extension that has any."""
    registry = registry_of(kind)
    for name in registry.names():
        member = registry.get(name)
        model = getattr(member, "configuration", None) or getattr(member, "Settings", member)
        schema = model.model_json_schema()
        schema["properties"] = {key: about for key, about in schema.get("properties", {}).items() if key != "file"}
        if schema["properties"] and name != "composed":
            yield f"## `{name}`\n\n{_text(schema.get('description', ''))}\n"
            yield from _keys(schema)


def _keys(schema: dict[str, Any]) -> Iterator[str]:
    if not schema.get("properties"):
        return
    yield "| key | type | default | meaning |\n|---|---|---|---|"
    for key, about in schema["properties"].items():
        default = "required" if key in schema.get("required", ()) else f"`{json.dumps(about.get('default'))}`"
        if isinstance(about.get("default"), dict) and about["default"]:
            default = "those of its keys"
        yield f"| `{key}` | {_type(about)} | {_cell(default)} | {_cell(_text(about.get('description', '')))} |"
    yield ""


def _type(about: dict[str, Any]) -> str:
    for word in ("anyOf", "oneOf"):
        if word in about:
            return " or ".join(dict.fromkeys(_type(each) for each in about[word]))
    if "$ref" in about:
        return str(about["$ref"]).rpartition("/")[2]
    if "allOf" in about:
        return _type(about["allOf"][0])
    if "const" in about or "enum" in about:
        return _cell(", ".join(f"`{value}`" for value in about.get("enum", [about.get("const")])))
    if about.get("type") == "array":
        return f"list of {_type(about.get('items', {}))}"
    return str(about.get("type", "any"))


def _text(text: str) -> str:
    return re.sub(r":\w+:`[~.]*([^`]+)`", r"`\1`", text.replace("``", "`")).replace("<", "&lt;")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


# -------------------------------------------------------------------------------------------------- datasets


def _datasets() -> Iterator[str]:
    """Iterate over the lines of the page of datasets: languages, sizes, licences and homepages."""
    yield "# Datasets\n\nThese datasets have a file in `config/datasets`. wordorder downloads them, verifies their"
    yield "checksums and never distributes them. Check that the licence permits your use. *MB* is the size of the files"
    yield "to download; + marks datasets with further files whose size is not known in advance, and *manual* those with"
    yield "files that you must obtain yourself. [Add a dataset](../add-a-dataset.md) explains how to add yours.\n"
    yield "| dataset | languages | MB | test sets | licence |\n|---|---|---|---|---|"
    configuration = Configuration(ROOT / "config")
    for path in sorted((ROOT / "config" / "datasets").glob("*.yaml")):
        dataset = configuration.dataset(path.stem)
        sizes = [file.bytes for file in dataset.downloads.values() if file.url]
        size = "generated" if dataset.generator else f"{sum(filter(None, sizes)) / 1e6:,.1f}{'+' * (None in sizes)}"
        if any(file.by_hand for file in dataset.downloads.values()):
            size = f"{size}, manual" if sizes else "manual"
        title = f"[{dataset.title}]({dataset.homepage})" if dataset.homepage else dataset.title
        tests = ", ".join(f"`{test}`" for test in dataset.test_names)
        languages = f"{dataset.source_language}-{dataset.target_language}"
        yield f"| `{path.stem}`: {title} | {languages} | {size} | {tests} | {_cell(dataset.licence)} |"


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
    rows = [
        "# Gallery\n\nEach encoding has a page with formula, figure, promises, source, keys, cost and results so far."
    ]
    rows += ["The pictures show position vectors and their cosine similarity, or the attention of equal tokens."]
    rows += ["[Encodings](../encodings.md) lists the encodings with their papers.\n"]
    rows += ["| encoding | | kind | picture |\n|---|---|---|---|"]
    for name in encoding_types():
        found = inspect(name, root="")
        _write(f"gallery/{name}.md", _encoding(found, presets.get(name, []), scores))
        write_figure(found.encoding, FOLDER / "gallery" / name)
        kind = "absolute" if found.encoding.absolute else "relative" if found.encoding.relative else "other"
        picture = f"![Figure of {name}](gallery/{name}.svg){{w=240px}}"
        rows.append(f"| [`{name}`](gallery/{name}.md) | {_cell(found.texts[name]['Title'])} | {kind} | {picture} |")
    _write("gallery.md", "\n".join(rows) + _hidden(f"gallery/{name}" for name in encoding_types()))


def _encoding(found: Inspection, presets: list[str], scores: pd.DataFrame) -> str:
    texts = found.texts[found.name]
    lines = [f"# `{found.name}`\n\n{texts['Title']}.\n", *_paragraphs(texts["Formula"])]
    lines.append(f"![Figure of {found.name}]({found.name}.svg)\n")
    lines.append(_FIGURE)
    for heading in ("Promises", "Source", "Start", "Departures"):
        if heading in texts:
            text = _text(texts[heading])
            lines.append(f"{'Start values' if heading == 'Start' else heading}\n: {text[:1].upper()}{text[1:]}\n")
    lines.append(f"Parameters\n: {found.parameters:,} in one layer of each stack, at this size\n")
    lines.append(f"Length\n: {'Any' if found.longest is None else f'{found.longest:,} positions'}\n")
    lines.append(f"Entries of encodings.yaml\n: {', '.join(f'`{each}`' for each in presets) or 'None'}\n")
    lines.append(f"Fidelity\n: [Comparison with other implementations](../../fidelity.md#{found.name})\n")
    cost = _cost(found.name)
    if cost:
        lines.append(f"Cost\n: {cost}\n")
    schema = REGISTRY.get(found.name).configuration.model_json_schema()
    schema["properties"].pop("type")
    lines += ["## Keys\n\nAn entry of `encodings.yaml` has these keys besides `type`:\n", *_keys(schema)]
    own = scores[scores["encoding"].isin([found.name, *presets])]
    if len(own):
        lines.append(_RESULTS)
        for row in own.to_dict("records"):
            spread = "" if pd.isna(row["sd"]) else f" ± {row['sd']:.2f}"
            study = f"[{row['study']}](../results/{row['study']}.md)" if row["study"] in _RUNS else row["study"]
            place = f"| {study} | {row['dataset']}, {row['size']} | {row['test']} | `{row['encoding']}` "
            lines.append(f"{place}| {row['mean']:.2f}{spread} | {row['n']} |")
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    """Iterate over the paragraphs of a docstring: formulas and tables as they are written, sentences as Markdown."""
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.splitlines()
        written = all(line.startswith(("    ", "|")) for line in lines)
        yield f"```text\n{textwrap.dedent(paragraph)}\n```\n" if written else f"{_text(' '.join(lines))}\n"


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
    return ratios and f"Time of a training step, as a ratio to `none`: {ratios} ([benchmarks](../../benchmarks.md))"


if __name__ == "__main__":
    write()

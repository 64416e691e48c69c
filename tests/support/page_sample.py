"""A small study with everything that its page can show, and with text that would harm an unescaped page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from evaluation_samples import METRICS, family, report, translations, write_study
from wordorder.comparison.significance import compare
from wordorder.config.pages import Page
from wordorder.data.text import read_lines
from wordorder.drawing import style
from wordorder.files import read_json, write_json, write_text
from wordorder.metrics.scores import score_files

ENCODINGS = ["sinusoidal", "opr+rpr", "learned", "untrained"]
RATES = {"sinusoidal": 0.3, "opr+rpr": 0.5, "learned": 0.2}
SEEDS = [1, 2]
# The first seed of 'learned' diverged, and 'untrained' has no files.
DIVERGED = ("learned", 1)
FIGURES = ["scores", "perplexity"]
ANALYSES = ["length"]
HOSTILE = '</p></style><script>parent.hacked = hacked = 1</script><img src=x onerror="hacked=2"> & "quoted"'
SEPARATED = "left\u2028right"
LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverleihungsurkundenmappe"
RECIPE = {"learning_rate": 1e-3, "batch_tokens": 512}


def asked() -> Page:
    study = report(ENCODINGS, SEEDS, tests=("test",))
    return Page(
        report=study.model_copy(update={"title": f"A small study of <b>order</b> & {LONG}"}),
        tables=["scores", "significance", "parameters"],
        figures=FIGURES,
        analyses=ANALYSES,
        source_languages={"pair": "en"},
        target_languages={"pair": "de"},
    )


def write_sample(folder: Path) -> tuple[Page, Path, Path]:
    """Write the study below ``folder``, and return the slice of the page and the folders of results and data."""
    page, results, data = asked(), folder / "results", folder / "data"
    references = write_study(results, page.report, RATES, DIVERGED)
    raw = data / "pair" / "raw"
    raw.mkdir(parents=True)
    target = list(read_lines(references / "test.target"))
    target[4] = f"{LONG} {target[4]}"
    _write(raw / "test.target", target)
    _write(raw / "test.source", [HOSTILE, SEPARATED, *(f"source of sentence {i}" for i in range(3, len(target) + 1))])
    shutil.rmtree(references)
    for path in sorted(results.glob("cells/*/*/*/*/test.hypotheses")):
        lines = list(read_lines(path))
        if lines:
            # The first two differ much between the encodings, so that they are shown.
            worse = "opr" in str(path)
            lines[0] = HOSTILE if worse else target[0]
            lines[1] = f"{SEPARATED} {lines[1]}" if worse else target[1]
        _write(path, lines)
        write_json(path.with_name("test.scores.json"), score_files(path, raw / "test.target", METRICS, "de"))
        record = path.with_name("record.json")
        more = {"data": {"train": "abc" * 20}, "vocabulary_size": 99, "cell": {"recipe": RECIPE}, "note": HOSTILE}
        write_json(record, read_json(record) | more)
    asked_family = family(ENCODINGS, SEEDS, samples=20)
    compared = compare(asked_family, translations(results, asked_family, "test"), "tiny", "test", raw / "test.target")
    write_json(results / "significance" / "pair.tiny.test.json", compared)
    for path in [
        *(results / "figures" / name for name in FIGURES),
        *(results / "analyses" / name for name in ANALYSES),
    ]:
        figure = Figure(figsize=(9, 2))
        figure.subplots().plot([1, 2], [3, 4], label=HOSTILE)
        style.save(figure, path, pd.DataFrame({"name": [path.name, "ä, ß"], "value": [1.5, 2]}))
    return page, results, data


def _write(path: Path, lines: list[str]) -> None:
    write_text(path, "".join(f"{line}\n" for line in lines))

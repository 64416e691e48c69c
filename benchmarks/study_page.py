"""Time the page of a study of realistic size: 20 systems with 3 seeds each (60 cells), 300 sentences.

    python benchmarks/study_page.py [--systems 20] [--seeds 3] [--sentences 300] [--folder FOLDER]

The text is generated as in significance.py. Scoring and testing the translations takes minutes and is not timed; a
FOLDER keeps the study, so that another run of the same size times only the page.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from significance import made_up, translated

from wordorder.comparison.significance import compare
from wordorder.config.models import Comparison, Family, Report, ReportedDataset, Significance
from wordorder.config.pages import Page
from wordorder.figures.catalogue import draw_figure
from wordorder.files import write_json, write_text
from wordorder.metrics.scores import score_files
from wordorder.report.page import build_page
from wordorder.results.index import write_index

METRICS = ["bleu", "chrf++"]
FIGURES = ["forest", "variance", "scores"]


def asked(systems: int, seeds: int) -> Page:
    names = [f"system_{number}" for number in range(1, systems + 1)]
    report = Report(
        study="pages",
        title="A generated study",
        datasets=[ReportedDataset(name="pair", title="Generated pair", tests=["test"])],
        encodings=names,
        sizes=["tiny"],
        seeds=list(range(1, seeds + 1)),
        metrics=METRICS,
        baseline=names[0],
    )
    tables = ["scores", "significance", "variance", "parameters", "credibility"]
    languages = {"source_languages": {"pair": "en"}, "target_languages": {"pair": "de"}}
    return Page.model_validate({"report": report, "tables": tables, "figures": FIGURES} | languages)


def write_study(folder: Path, page: Page, sentences: int) -> None:
    """Write translations, scores, records, tests and figures."""
    random = np.random.default_rng(1)
    text, report = made_up(sentences, random), page.report
    raw, results = folder / "data" / "pair" / "raw", folder / "results"
    for side in ("source", "target"):
        write_text(raw / f"test.{side}", "".join(" ".join(line) + "\n" for line in text))
    cells = {("pair", "tiny", name, seed): f"cells/{name}/{seed}" for name in report.encodings for seed in report.seeds}
    translations = {}
    for number, ((*_, name, seed), place) in enumerate(cells.items()):
        cell = results / place
        path = translations[name, seed] = cell / "test.hypotheses"
        lines = translated(text, 0.3 + 0.01 * (number % 7), random)
        write_text(path, "".join(f"{line}\n" for line in lines))
        write_json(cell / "test.scores.json", score_files(path, raw / "test.target", METRICS, "de"))
        known = {"data": {"train": "0" * 64}, "vocabulary_size": 8000, "cell": {"recipe": {"learning_rate": 0.001}}}
        write_json(cell / "record.json", {"status": "finished", "seed": seed, "seconds": 60.0} | known)
    baseline, *rest = report.encodings
    family = Family(
        encodings=report.encodings,
        seeds=report.seeds,
        baseline=baseline,
        comparisons=[Comparison(system=name, baseline=baseline) for name in rest],
        metrics=METRICS,
        target_language="de",
        significance=Significance(bootstrap_samples=20),
    )
    tested = compare(family, translations, "tiny", "test", raw / "test.target")
    write_json(results / "significance" / "pair.tiny.test.json", tested)
    write_index(results, cells, {"": "."}, {"pair": "."}, {})
    for figure in FIGURES:
        draw_figure(figure, config=report, results=results, output_prefix=f"{results}/figures/{figure}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    page = asked(options.systems, options.seeds)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / "results" / "models.json").is_file():
            write_study(folder, page, options.sentences)
        begin, busy = time.perf_counter(), time.process_time()
        text = build_page(page, folder / "results", folder / "data")
        seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    size = len(text.encode()) / 1e6
    cells = options.systems * options.seeds
    print(f"{cells} cells, {options.sentences} sentences: {seconds:.1f} s, {busy:.1f} CPU s, {size:.1f} MB")


if __name__ == "__main__":
    main()

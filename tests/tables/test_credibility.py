"""Tests of the credibility list: a sound study meets it, and each item fails if its part is removed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from evaluation_samples import report, write_finished_study
from raises import raises
from wordorder.cli.main import main
from wordorder.files import sha256, write_json
from wordorder.results.frames import systems_path
from wordorder.tables.credibility import Item, credibility_items, credibility_table, require

ASKED = report(["null", "learned"], [1, 2])
RATES = {"null": 0.4, "learned": 0.1}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_finished_study(folder, ASKED, RATES)
    return folder


@pytest.fixture
def results(written: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may change."""
    return shutil.copytree(written, tmp_path, dirs_exist_ok=True)


def test_a_sound_study_meets_every_item(results: Path) -> None:
    items = require(ASKED, results)
    assert [item.met for item in items] == [True] * 7
    assert "8 translated test sets, each scored by BLEU and chrF++." in items[0].evidence
    assert items[1].evidence.startswith("4 comparisons")
    assert make_table(results) == 0
    assert "| A metric besides BLEU" in (results / "tables" / "credibility.md").read_text(encoding="utf-8")


def test_translations_of_diverged_trainings_are_not_counted(tmp_path: Path) -> None:
    write_finished_study(tmp_path, ASKED, RATES, diverged=("learned", 2))
    assert "6 translated test sets" in require(ASKED, tmp_path)[0].evidence


def test_a_metric_that_scored_only_some_translations_says_how_many(results: Path) -> None:
    path = next(path for path in sorted(results.rglob("*.scores.json")) if "chrf++" in path.read_text(encoding="utf-8"))
    edit(path, lambda scored: scored["metrics"].pop("chrf++"))
    assert "each scored by BLEU; not all by chrF++ (7 of 8)." in credibility_items(ASKED, results)[0].evidence


def test_the_order_in_which_metrics_were_scored_does_not_matter(results: Path) -> None:
    before = credibility_items(ASKED, results)
    for path in results.rglob("*.scores.json"):
        edit(path, lambda scored: scored.update(metrics=dict(reversed(scored["metrics"].items()))))
    assert credibility_items(ASKED, results) == before


def test_comet_is_a_metric_besides_bleu(results: Path) -> None:
    asked = ASKED.model_copy(update={"metrics": ["bleu", "comet"]})
    for path in results.rglob("*.scores.json"):
        edit(path, lambda scored: scored["metrics"].pop("chrf++"))
    translated = [path for path in results.rglob("*.hypotheses") if path.read_bytes()]
    systems = {sha256(path): {"score": 0.8, "signature": None} for path in translated}
    for test in ("test_1", "test_2"):
        content = {"status": "scored", "signature": "x", "systems": systems}
        write_json(systems_path(results, "comet", "pair", "tiny", test), content)
    item = credibility_items(asked, results)[0]
    assert item.met and item.evidence.endswith("each scored by BLEU and COMET.")
    for test in ("test_1", "test_2"):
        content = {"status": "not scored", "signature": None, "systems": {}}
        write_json(systems_path(results, "comet", "pair", "tiny", test), content)
    assert "has no metric but BLEU" in " ".join(credibility_items(asked, results)[0].missing)


def make_table(results: Path) -> int:
    line = ["stage", "table", "credibility", "--config", ASKED.model_dump_json(), "--results", str(results)]
    return main([*line, "--output-prefix", str(results / "tables" / "credibility")])


def cell(results: Path, encoding: str = "null", seed: int = 1) -> Path:
    return results / "cells" / "pair" / encoding / "tiny" / str(seed)


def edit(path: Path, change: Callable[[dict], None]) -> None:  # type: ignore[type-arg]
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    write_json(path, content)


def only_bleu(results: Path) -> None:
    edit(cell(results) / "test_1.scores.json", lambda scored: scored["metrics"].pop("chrf++"))


def untested(results: Path) -> None:
    def forget(tested: dict) -> None:  # type: ignore[type-arg]
        entry = tested["metrics"]["bleu"]["comparisons"][0]
        for row in (entry["t_test"], *entry["seeds"]):
            row["p"] = None

    edit(results / "significance" / "pair.tiny.test_2.json", forget)


def other_translations(results: Path) -> None:
    with (cell(results) / "test_1.hypotheses").open("a") as file:
        file.write("one more\n")


def copied_score(results: Path) -> None:
    (cell(results, "learned") / "test_2.hypotheses").unlink()


def no_score(results: Path) -> None:
    (cell(results, "learned") / "test_2.scores.json").unlink()


def other_references(results: Path) -> None:
    edit(cell(results) / "test_1.scores.json", lambda scored: scored["references"].update(sha256="0" * 64))


def other_corpus(results: Path) -> None:
    edit(cell(results) / "record.json", lambda record: record["data"].update(train="def"))


def other_recipe(results: Path) -> None:
    edit(cell(results) / "record.json", lambda record: record["cell"]["recipe"].update(batch_tokens=1024))


def without_a_later_key(results: Path) -> None:
    """As a version wrote it that did not have the key yet, whose default is None."""
    edit(cell(results) / "record.json", lambda record: record["cell"]["recipe"].update(max_positions=None))


def without_a_later_number(results: Path) -> None:
    """As a version wrote it that did not have the key yet, whose default is a number."""
    edit(cell(results) / "record.json", lambda record: record["cell"]["recipe"].update(activation_dropout=0.0))


def stops_early(results: Path, **data: Any) -> None:
    """The validation set decides when the trainings end; that of one cell has ``data`` instead of the others'."""
    for path in results.glob("cells/*/*/*/*/record.json"):
        edit(path, lambda record: (record["cell"]["recipe"].update(patience=3), record["data"].update(valid="abc")))
    edit(cell(results) / "record.json", lambda record: record["data"].update(data))


def other_validation_set(results: Path) -> None:
    stops_early(results, valid="def")


def other_validation_positions(results: Path) -> None:
    stops_early(results, valid_positions={"kind": "identity", "sha256": "0" * 64})


def no_signature(results: Path) -> None:
    edit(cell(results) / "test_1.scores.json", lambda scored: scored["metrics"]["bleu"].update(signature=None))


def other_signature(results: Path) -> None:
    edit(cell(results) / "test_1.scores.json", lambda scored: scored["metrics"]["bleu"].update(signature="tok:zh"))


@pytest.mark.parametrize(
    ("damage", "place", "said"),
    [
        (only_bleu, 0, "has no metric but BLEU"),
        (untested, 1, "learned against null was not tested on pair/test_2"),
        (other_translations, 2, "does not belong to"),
        (copied_score, 2, "does not belong to"),
        (no_score, 2, "has no test_2.scores.json"),
        (other_references, 3, "the cells of pair were scored against 2 different references of test_1"),
        (other_corpus, 4, "the cells of pair have 2 different training corpora"),
        (other_recipe, 4, "the cells of pair have 2 different recipes"),
        (other_validation_set, 4, "the cells of pair have 2 different validation sets"),
        (other_validation_positions, 4, "the cells of pair have 2 different positions of the validation set for null"),
        (no_signature, 5, "has a BLEU score without a signature"),
        (other_signature, 5, "BLEU of 'de' was computed with 2 different signatures"),
    ],
)
def test_what_is_missing_is_said_and_fails_the_study(
    results: Path, damage: Callable[[Path], None], place: int, said: str
) -> None:
    damage(results)
    items = credibility_items(ASKED, results)
    assert not items[place].met and said in " ".join(items[place].missing)
    with raises("not-credible", says=said):
        require(ASKED, results)
    found = credibility_table(items, ASKED).data["Found"]
    assert said in found[place] and items[place].evidence not in found[place], "the page shows it all the same"
    assert make_table(results) == 1
    assert not (results / "tables").exists()


def test_models_that_a_requirement_does_not_cover_are_counted(results: Path) -> None:
    assert not any(item.uncovered for item in credibility_items(ASKED, results))
    no_score(results)
    for seed in (1, 2):
        (cell(results, seed=seed) / "record.json").unlink()
    items = credibility_items(ASKED, results)
    assert [item.met for item in items] == [True, True, False, True, True, True, True]
    uncovered = [item.uncovered.split(" models ")[0] for item in items]
    assert uncovered == ["1 of 4", "1 of 4", "", "1 of 4", "2 of 4", "1 of 4", "2 of 4"]
    for item, found in zip(items, credibility_table(items, ASKED).data["Found"], strict=True):
        assert item.uncovered in found and found.endswith(".") and not found.endswith("..")


@pytest.mark.parametrize("older", [without_a_later_key, without_a_later_number, stops_early])
def test_records_of_versions_without_a_key_are_of_the_same_recipe(older: Callable[[Path], None], results: Path) -> None:
    older(results)
    assert all(item.met for item in credibility_items(ASKED, results))


INTEL, AMD = ({"processor": name, "instructions": "AVX512", "gpus": []} for name in ("Xeon", "EPYC"))


def test_a_training_that_continued_on_other_hardware_is_a_warning(results: Path) -> None:
    for encoding, seed in product(["null", "learned"], [1, 2]):
        trained_on(results, encoding, seed, INTEL)
    assert not credibility_items(ASKED, results)[6].warnings
    both = ["EPYC, AVX512, torch 2.13.0", "Xeon, AVX512, torch 2.13.0"]
    edit(cell(results, "null", 1) / "record.json", lambda record: record.update(trained_on=both))
    (warning,) = credibility_items(ASKED, results)[6].warnings
    assert "on EPYC, AVX512, torch 2.13.0 and then Xeon, AVX512, torch 2.13.0" in warning


def trained_on(results: Path, encoding: str, seed: int, hardware: object, torch: str = "2.13.0") -> None:
    change = {"hardware": hardware, "packages": {"torch": torch}}
    edit(cell(results, encoding, seed) / "record.json", lambda record: record.update(change))


def hardware_of(results: Path) -> Item:
    return credibility_items(ASKED, results)[6]


def test_encodings_on_different_hardware_give_a_warning_and_the_study_ends(results: Path) -> None:
    for seed in (1, 2):
        trained_on(results, "null", seed, INTEL)
        trained_on(results, "learned", seed, AMD)
    (said,) = hardware_of(results).warnings
    assert said.startswith("pair (tiny): null on Xeon, AVX512, torch 2.13.0; learned on EPYC, AVX512, torch 2.13.0;")
    assert not hardware_of(results).met
    items = require(ASKED, results)
    assert said in credibility_table(items, ASKED).data["Found"][6]
    assert make_table(results) == 0


def test_a_seed_may_have_hardware_of_its_own_if_all_encodings_have_it(results: Path) -> None:
    for encoding in ("null", "learned"):
        trained_on(results, encoding, 1, INTEL)
        trained_on(results, encoding, 2, AMD)
    assert hardware_of(results).met
    trained_on(results, "learned", 2, INTEL)
    (said,) = hardware_of(results).warnings
    assert "null (seed 1) and learned on Xeon" in said and "null (seed 2) on EPYC" in said


def test_versions_of_pytorch_and_gpus_count_as_hardware(results: Path) -> None:
    gpu = {**INTEL, "gpus": ["H100", "H100"]}
    for encoding, seed in product(("null", "learned"), (1, 2)):
        trained_on(results, encoding, seed, gpu)
    assert hardware_of(results).met
    trained_on(results, "learned", 1, gpu, torch="2.12.0")
    assert "learned (seed 1) on H100, torch 2.12.0" in hardware_of(results).warnings[0]


def test_systems_without_a_common_seed_cannot_be_tested_and_the_study_ends(results: Path) -> None:
    untested(results)

    def lose(tested: dict) -> None:  # type: ignore[type-arg]
        for listed in tested["cells"]:
            listed["status"] = "translated" if (listed["encoding"] == "null") == (listed["seed"] == 1) else "diverged"

    edit(results / "significance" / "pair.tiny.test_2.json", lose)
    assert credibility_items(ASKED, results)[1].met


def test_a_study_in_which_nothing_could_be_tested_gets_a_warning(results: Path) -> None:
    """All trainings of the baseline diverged."""

    def lose(tested: dict[str, Any]) -> None:
        for listed in tested["cells"]:
            listed["status"] = "no hypotheses" if listed["encoding"] == "null" else "translated"
        for metric in tested["metrics"].values():
            for entry in metric["comparisons"]:
                for of in (entry["t_test"], *entry["seeds"]):
                    of["p"] = None

    for test in ("test_1", "test_2"):
        edit(results / "significance" / f"pair.tiny.{test}.json", lose)
    found = credibility_items(ASKED, results)[1]
    assert found.verdict == "warning"
    assert found.problems == ("none of the 4 comparisons that the study declares could be tested",)

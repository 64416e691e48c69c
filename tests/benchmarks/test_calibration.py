"""Test the calibration of the verdicts in a short form, on real translations of a study of the generated pair."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from wordorder.config.datasets import Generator
from wordorder.data.generate import write_split
from wordorder.errors import WordorderError
from wordorder.files import write_text

ROOT = Path(__file__).parents[2]
STUDY = "crosslingual"


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    data = tmp_path_factory.mktemp("data")
    dataset = yaml.safe_load((ROOT / "config" / "datasets" / "grammar.yaml").read_text(encoding="utf-8"))
    raw = data / "grammar" / "raw"
    raw.mkdir(parents=True)
    write_split(
        Generator.model_validate(dataset["generator"]),
        split="test",
        source=raw / "test.source",
        target=raw / "test.target",
        alignments=raw / "links",
        trees=raw / "trees",
    )
    return ["--studies", STUDY, "--reference", str(ROOT / "results" / "reference"), "--data", str(data)]


def test_every_procedure_is_measured(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    from calibration import measure, parse_options, show

    options = [*arguments, "--pools", "2", "--trials", "2", "--samples", "19", "--sentences", "200"]
    *_, result = measure(parse_options(options))
    assert len(set(result["pools"])) == 2
    rates = result["rates"]
    assert set(rates) == {"families", "two equal systems", "coverage"}
    for table in rates.values():
        for row in table.values():
            assert all(len(each) == 2 and 0 <= min(each) <= max(each) <= 1 for each in row.values())
    show(result)
    printed = capsys.readouterr().out
    assert all(row in printed for table in rates.values() for row in table)


def test_verdicts_err_as_rarely_as_they_say_and_tests_of_one_seed_do_not(arguments: list[str]) -> None:
    from calibration import EFFECTS, Family, find_pools, of_families, of_intervals, of_two_systems, parse_options

    (pool,) = find_pools(parse_options([*arguments, "--pools", "1", "--sentences", "500"]))
    spread, random = pool.seed_spread(EFFECTS["strong"]), np.random.default_rng(1)
    rates = of_families(Family(pool, spread, 3, 5), 60, random)
    shares = {name: np.mean(each) for name, each in rates.items()}
    # Of 60 trials at 5 %, more than 9 are false with a probability below 0.1 %.
    false = {name: share for name, share in shares.items() if name.startswith("false: ")}
    assert max(false.values()) <= 9 / 60, false
    # A true difference is one that Dunnett's test finds with a probability of 80 %.
    assert 0.6 <= shares["found: Dunnett"] <= 0.95
    wide = pool.seed_spread(2.0)
    two = of_two_systems(Family(pool, wide, 2, 2), 40, 99, random)
    assert np.mean(two["one seed, bootstrap (sacreBLEU)"]) >= 0.2
    covered = of_intervals(Family(pool, wide, 3, 3), 60, random)
    assert np.mean(covered["seeds and sentences"]) >= 0.87
    assert np.mean(covered["sentences only"]) <= 0.87


def test_made_up_runs_are_what_they_are_taken_for(arguments: list[str]) -> None:
    from calibration import find_pools, parse_options

    (pool,) = find_pools(parse_options([*arguments, "--pools", "1", "--sentences", "300"]))
    assert pool.expected(0.5 + pool.shift(1.0)) - pool.expected(0.5 - pool.shift(1.0)) == pytest.approx(1.0)
    assert pool.seed_spread(1.0) == pytest.approx(2 * pool.seed_spread(0.5))
    random = np.random.default_rng(2)
    everything = np.arange(pool.statistics.shape[2])
    for q in (0.0, 0.3, 1.0):
        scores = pool.scores(pool.runs(np.full((80, 1), q), everything, random))
        assert scores.mean() == pytest.approx(pool.expected(q), abs=0.25)
    run = pool.runs(np.full((1, 1), 0.5), pool.test_set(random), random)[0]
    assert pool.sacrebleu_p(run, run, "bootstrap", 19, 1) == 1.0


def test_other_references_are_refused(arguments: list[str], tmp_path: Path) -> None:
    from calibration import find_pools, parse_options

    folder = tmp_path / "grammar" / "raw"
    shutil.copytree(Path(arguments[-1]) / "grammar" / "raw", folder)
    write_text(folder / "test.target", "other\n")  # with its checksum
    with pytest.raises(WordorderError) as caught:
        find_pools(parse_options([*arguments[:-1], str(tmp_path)]))
    assert (caught.value.code, caught.value.path) == ("other-references", folder / "test.target")


def test_a_warning_of_a_small_spread_singles_out_false_findings(arguments: list[str]) -> None:
    from calibration import Family, find_pools, parse_options
    from small_spread import outcome

    (pool,) = find_pools(parse_options([*arguments, "--pools", "1", "--sentences", "300"]))
    random = np.random.default_rng(4)
    small, found, further = np.array([outcome(Family(pool, 0.0, 3, 2), random) for _ in range(200)], dtype=bool).T
    # Of 200 studies, 10 are expected to have a warning, and more than 21 with a probability below 0.1 %.
    assert 2 <= small.sum() <= 21
    assert found[small].mean() >= 3 * found[~small].mean()
    assert further.sum() <= found.sum() and not (further & ~found).any()

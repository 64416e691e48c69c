"""Tests of ``wordorder plan``: the estimated cost of a study."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from snakemake_runs import ROOT
from wordorder.cli.main import main
from wordorder.config.load import load_dataset, load_study
from wordorder.config.models import Recipe
from wordorder.files import write_json
from wordorder.results.bundle import ORIGIN
from wordorder.status.data_size import data_size, prepared_bytes
from wordorder.status.estimate import PAIR_TOKENS, Speed, estimate, planned_tokens, speeds
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import cell_files
from wordorder.workflow.resources import TrainingTable

CONFIG = ROOT / "config"


def finished(results: Path, seed: int, encoding: str, size: str, speed: float, **others: object) -> None:
    """Write the record of a model of the demo's recipe."""
    record = {"target_tokens_per_second": speed, "precision": "fp32", "device": "cpu", **others}
    configuration = Configuration(CONFIG)
    wanted = {"encodings": [encoding], "sizes": [size], "seeds": [seed]}
    study = configuration.study("demo").model_copy(update=wanted)
    (files,) = cell_files(study, configuration, results).values()
    write_json(files.record, record)


@pytest.mark.parametrize(
    ("recipe", "corpus", "tokens"),
    [
        ({"max_epochs": 5}, 1000, 5000),
        ({"max_epochs": 5}, None, None),
        ({"max_updates": 10, "batch_tokens": 64, "accumulate": 2}, None, 1280),
        ({"max_updates": 10, "batch_tokens": 64, "max_epochs": 2}, 300, 600),
        ({"max_updates": 10, "batch_tokens": 64, "max_epochs": 2}, 400, 640),
    ],
)
def test_a_training_ends_at_the_first_of_its_limits(recipe: dict[str, int], corpus: int | None, tokens: int) -> None:
    assert planned_tokens(Recipe.model_validate(recipe), corpus) == tokens


def test_speeds_are_medians_of_finished_trainings_of_the_same_precision(tmp_path: Path) -> None:
    for encoding, speed in (("none", 100.0), ("opr", 300.0), ("rope", 200.0)):
        finished(tmp_path, 1, encoding, "micro", speed)
    finished(tmp_path, 2, "none", "micro", 9000.0, precision="bf16")
    finished(tmp_path, 2, "opr", "base", 50.0)
    finished(tmp_path, 2, "none", "base", 5000.0, device="cuda")
    assert {size: str(speed) for size, speed in speeds(tmp_path, "fp32").items()} == {
        "micro": "200 tokens/s (cpu, 3 measured)",
        "base": "5,000 tokens/s (cuda, 1 measured)",
    }


def test_imported_trainings_are_no_measurement_of_this_hardware(tmp_path: Path) -> None:
    gpu = {"hardware": {"gpus": ["NVIDIA H100"], "processor": ""}}
    finished(tmp_path, 1, "opr", "micro", 60_000.0, device="cuda", **{ORIGIN: "captions_gpu"}, **gpu)
    assert not speeds(tmp_path, "fp32")
    finished(tmp_path, 1, "none", "micro", 900.0)
    assert str(speeds(tmp_path, "fp32")["micro"]) == "900 tokens/s (cpu, 1 measured)"
    assert str(speeds(tmp_path, "fp32", "h100")["micro"]) == "60,000 tokens/s (cuda, 1 measured)"


def test_the_speed_of_a_run_on_several_gpus_is_that_of_one(tmp_path: Path) -> None:
    """Hours are those of one device, which a plan then divides by the number of GPUs of a run."""
    finished(tmp_path, 1, "none", "micro", 4000.0, device="cuda", processes=4)
    assert speeds(tmp_path, "fp32")["micro"].tokens_per_second == 1000.0
    finished(tmp_path, 1, "none", "tiny", 4000.0, device="cpu", processes=2)
    assert speeds(tmp_path, "fp32")["tiny"].tokens_per_second == 4000.0, "a machine has no more cores for it"


def test_speeds_of_bundles_are_estimates_for_the_same_data_size_precision_and_device(tmp_path: Path) -> None:
    configuration = Configuration(CONFIG)
    record = {"device": "cpu", "precision": "fp32", "hardware": {"processor": "Some CPU", "gpus": []}}
    cell = {"dataset": "grammar", "size": "micro", "seed": 1}
    rows = [
        cell | {"encoding": "none", "record": record | {"target_tokens_per_second": 100.0}},
        cell | {"encoding": "none", "seed": 2, "record": record | {"target_tokens_per_second": 300.0}},
        cell | {"encoding": "opr", "record": record | {"target_tokens_per_second": 400.0}},
        cell | {"encoding": "inxl", "record": record | {"target_tokens_per_second": 9.0, "precision": "bf16"}},
        cell | {"encoding": "inxl", "size": "tiny", "record": record | {"target_tokens_per_second": 9.0}},
        cell | {"encoding": "inxl", "dataset": "other", "record": record | {"target_tokens_per_second": 9.0}},
    ]
    bundle = tmp_path / "reference" / "earlier" / "records.jsonl.xz"
    bundle.parent.mkdir(parents=True)
    bundle.write_bytes(
        lzma.compress("".join(json.dumps({"lines": {}, "measures": {}} | row) + "\n" for row in rows).encode())
    )

    def speed(hardware: str | None = None, *, gpus: int = 0) -> Speed:
        (tmp_path / "training.tsv").write_text(f"* * 1 1 1 1 {gpus}\n")
        table = TrainingTable(tmp_path / "training.tsv")
        (part,) = estimate(configuration.study("demo"), configuration, tmp_path, hardware=hardware, table=table)
        return part.speed

    found = speed()
    assert (found.encodings, found.estimated) == ({"none": 200.0, "opr": 400.0}, True)
    assert (found.of("inxl"), str(found)) == (300.0, "300 tokens/s (cpu, from bundles, on Some CPU)")
    assert speed("some").basis == found.basis
    assert "bundles" not in speed("A100").basis
    assert "bundles" not in speed(gpus=1).basis
    finished(tmp_path, 1, "opr", "micro", 1000.0)
    assert not speed().estimated


@pytest.mark.parametrize(
    ("gpu", "hardware", "speed"), [(False, None, "cpu"), (True, None, "A100"), (False, "H100", "H100")]
)
def test_without_rows_the_device_is_the_one_of_this_machine(
    gpu: bool, hardware: str | None, speed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    (part,) = estimate(Configuration(CONFIG).study("demo"), Configuration(CONFIG), tmp_path, hardware=hardware)
    assert speed in str(part.speed) and part.speed.device == ("cpu" if speed == "cpu" else "cuda")


def test_the_hours_are_those_of_the_cells_that_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configuration = Configuration(CONFIG)
    (part,) = estimate(configuration.study("demo"), configuration, tmp_path)
    assert (part.cells, part.done, part.tokens, part.prepared) == (12, 0, 4 * 8000 * PAIR_TOKENS, False)
    assert part.estimated and part.hours is not None
    meta = {"target_tokens": 712_000, "pairs": 8_000, "vocabulary_size": 1000}
    write_json(tmp_path / "data/grammar/binary/train/meta.json", meta)
    finished(tmp_path, 1, "opr", "micro", 1000.0)
    (part,) = estimate(configuration.study("demo"), configuration, tmp_path)
    assert part.done == 1 and part.tokens == 4 * 720_000, "trainings count the end of each sentence, too"
    assert part.hours == pytest.approx(11 * 2_880_000 / 1000 / 3600)
    # 791,040 parameters as OPR's record of the demo says, and the encoding's own of the largest.
    assert 791_040 <= part.parameters < 900_000 and part.model_bytes == 12 * part.parameters * 4
    assert main(["plan", "demo", "--root", str(CONFIG), "--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "12 cells, 1 done, 11 to train; 8.8 hours of training" in said and "stimated" not in said
    assert "Wall time: 48 min if all training runs run at once" in said


def test_a_study_is_planned_with_its_companions(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told() -> str:
        assert main(["plan", "demo", "--root", str(config), "--results", str(tmp_path)]) == 0
        return capsys.readouterr().out

    write_json(tmp_path / "data/grammar/binary/train/meta.json", {"target_tokens": 720_000, "vocabulary_size": 1000})
    finished(tmp_path, 1, "opr", "micro", 1000.0)
    alone, demo = told(), config / "studies/demo.yaml"
    demo.write_text(f"{demo.read_text()}companions: [crosslingual]\n")
    said = told().splitlines()
    underlined = [said[i - 1] for i, line in enumerate(said) if set(line) == {"="}]
    title = "Cross-lingual positions on a generated language pair"
    assert underlined[1:] == [f"crosslingual: {title}", "demo and its companions"]
    # The text about the study only, without its data and the notes at the end.
    own, notes = alone.splitlines()[:7], alone.splitlines()[7:]
    assert own[-3].startswith("demo: 12 cells, 1 done, 11 to train; 8.8 hours") and own[-1].startswith("Disk: ")
    assert said[:10] == [underlined[0], "=" * len(underlined[0]), "", *own]
    assert any(line.startswith("crosslingual: 30 cells, 0 done, 30 to train; 30.0 hours") for line in said)
    assert said[-len(notes) :] == notes, "they have the same data, which counts once"
    assert said[-len(notes) - 3].startswith("All 2 studies: 42 cells, 1 done, 41 to train; 38.8 hours of training")


def test_data_count_once_and_what_is_not_known_is_named() -> None:
    one, other = load_study("posnet", CONFIG), load_study("posnet_dp", CONFIG)
    size = data_size([one], CONFIG)
    # Seven archives, of which German and French share five; the newest test set's size is nowhere published.
    archives = [657632379, 918311367, 80418416, 2365634246, 2595102720, 38654961]
    assert size.downloads == sum(archives) and size.unknown_downloads == ["wmt14-test-full.tgz"]
    assert size.prepared == (4508785 + 40836715) * 800 and size.unknown_prepared == []
    assert data_size([one, other], CONFIG) == size
    assert str(size).startswith(
        "Data: 6.7 GB of downloads; downloads of unknown size (wmt14-test-full.tgz); about 36.3 GB of prepared text"
    )


def test_downloads_are_those_of_the_splits_that_a_study_uses() -> None:
    study = load_study("multi30k", CONFIG)
    files = load_dataset("multi30k", CONFIG).downloads
    unused = sum(entry.bytes or 0 for name, entry in files.items() if "2018" in name or "newstest" in name)
    assert data_size([study], CONFIG).downloads == sum(entry.bytes or 0 for entry in files.values()) - unused


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("grammar", 8000 * 800),  # generated
        ("mini_ende", 4012023 * 8),  # one archive, the pairs are published nowhere
        ("wmt14_ende", 4508785 * 800),  # the archives hold other languages too
        ("iwslt17_enfr", 232825 * 800),
        ("wat17_jaen", 2000000 * 800),  # got by hand
        ("iwslt16_deen", None),
    ],
)
def test_prepared_text_is_guessed_from_pairs_or_from_archives(name: str, guess: int | None) -> None:
    assert prepared_bytes(load_dataset(name, CONFIG)) == guess


def test_an_unknown_study_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "dmeo", "--root", str(CONFIG), "--results", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "'dmeo'" in error and "'demo'" in error  # the suggestion


def test_finished_trainings_count_before_a_faster_probe(tmp_path: Path) -> None:
    finished(tmp_path, 1, "opr", "micro", 1000.0)
    probe = {"device": "cpu", "hardware": "A CPU", "encodings": {"none": {"target_tokens_per_second": 9000.0}}}
    write_json(tmp_path / "hardware/A-CPU/grammar.micro.fp32.json", probe)
    (part,) = estimate(Configuration(CONFIG).study("demo"), Configuration(CONFIG), tmp_path)
    assert str(part.speed) == "1,000 tokens/s (cpu, 1 measured)"


def test_the_tokens_of_a_number_of_updates_are_no_guess(tmp_path: Path) -> None:
    demo = Configuration(CONFIG).study("demo")
    recipe = demo.recipe.model_copy(update={"max_epochs": None, "max_updates": 100})
    (part,) = estimate(demo.model_copy(update={"recipe": recipe}), Configuration(CONFIG), tmp_path)
    assert part.prepared and part.tokens == 100 * recipe.batch_tokens * recipe.accumulate

"""A study that runs in half a minute: two encodings, a generated pair, a tiny model."""

from __future__ import annotations

from pathlib import Path

from snakemake_runs import dry_run, job_counts, outputs
from wordorder.workflow.addresses import decoding_label, evaluation_label
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import ModelRules, cell_files
from wordorder.workflow.store import SliceStore

STUDY = """
name: little
title: A little study
datasets: [pair]
encodings: [opr, sinusoidal]
sizes: [mini]
seeds: [1]
tests: [test]
recipe: {learning_rate: 1e-3, warmup_updates: 10, batch_tokens: 512, max_updates: 20, validate_every: 10}
decoding: {beam: 2, max_length_a: 0, max_length_b: 10}
significance: {bootstrap_samples: 50}
baseline: sinusoidal
"""
DATASET = """
name: pair
title: A little generated pair
source_language: en
target_language: xx
licence: free
generator: {train: 300, valid: 20, tests: {test: 20, other: 15}}
preprocessing: {normalise_punctuation: false, tokenise: false, vocabulary: 150}
shards: 2
"""
SIZES = "mini: {encoder_layers: 1, decoder_layers: 1, dim: 32, ffn_dim: 32, heads: 2, dropout: 0.1}"
ENCODINGS = "opr: {type: opr, k: 8}\nsinusoidal: {type: sinusoidal}"


class Workspace:
    """A configuration and the results of running it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.config = folder / "run", folder / "config"

    def write(self) -> None:
        for name, text in {
            "studies/little": STUDY,
            "datasets/pair": DATASET,
            "sizes": SIZES,
            "encodings": ENCODINGS,
        }.items():
            path = self.config / f"{name}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def change(self, file: str, old: str, new: str) -> None:
        path = self.config / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def arguments(self) -> list[str]:
        return ["little", "--cores", "1", "--rerun-incomplete", "--config", f"config_dir={self.config}"]

    def would_run(self, *arguments: str, profile: str | None = None) -> dict[str, list[str]]:
        """Return the first outputs of the jobs of each rule that a dry-run finds, except the target."""
        text = dry_run(self.folder, *self.arguments(), *arguments, profile=profile)
        found = outputs(text)
        counts = job_counts(text)
        counts.pop("little", None)
        assert counts == {rule: len(files) for rule, files in found.items()}
        return found

    # Addresses depend on the configuration, so they are those of the study as it is written at this moment.

    def model_folder(self, encoding: str, seed: int = 1, study: str = "little") -> str:
        """Return the folder of a cell's model, relative to the folder of the run."""
        configuration = Configuration(self.config)
        files = cell_files(configuration.study(study), configuration, Path("results"))
        (found,) = {str(own.folder) for cell, own in files.items() if (cell.encoding, cell.seed) == (encoding, seed)}
        return found

    def cell(self, encoding: str, file: str, seed: int = 1, study: str = "little") -> str:
        """Return a file in the folder of a cell's model, such as 'model.pt'."""
        return f"{self.model_folder(encoding, seed, study)}/{file}"

    def decoded(self, encoding: str, file: str, seed: int = 1, study: str = "little", decoding: str = "") -> str:
        """Return a file in the folder of a decoding, such as 'test.hypotheses'."""
        own = Configuration(self.config).study(study).decodings[decoding]
        return self.cell(encoding, f"{decoding_label(own)}/{file}", seed, study)

    def evaluation(self, encoding: str, seed: int = 1, study: str = "little", decoding: str = "") -> str:
        """Return the file of a cell's evaluation."""
        configuration = Configuration(self.config)
        evaluation = ModelRules(configuration, SliceStore(is_main=True)).evaluation_of(
            configuration.study(study), "pair"
        )
        return self.decoded(encoding, f"{evaluation_label(evaluation)}.json", seed, study, decoding)

    def scores(self, encoding: str, test: str = "test", study: str = "little", decoding: str = "") -> str:
        """Return the file of the scores of a test set."""
        return f"{self.evaluation(encoding, 1, study, decoding).removesuffix('.json')}/{test}.scores.json"

    def measures(self, encoding: str, analysis: str, study: str = "little") -> str:
        """Return the file of what an analysis measures on a cell's model."""
        configuration = Configuration(self.config)
        rules = ModelRules(configuration, SliceStore(is_main=True))
        return self.cell(encoding, rules.measure_file(configuration.study(study), "pair", analysis), study=study)

    def log(self, encoding: str, seed: int = 1) -> Path:
        """Return the log of a cell's training."""
        return (
            self.folder / "logs/train_model" / Path(*self.model_folder(encoding, seed).split("/")[2:-1], f"{seed}.log")
        )

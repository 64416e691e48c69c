"""Execute the blocks of docs/extending.md as they are, all of them in one small study."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import unescape
from itertools import islice
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml
from torch import Tensor
from torch.testing import assert_close

from forked import with_forked_jobs
from guide import blocks, write_plugins
from little_study import STUDY, Workspace
from snakemake_runs import ROOT, job_counts
from tiny_models import sentences, tiny_model
from wordorder.config.datasets import Generator
from wordorder.data.generate import generate
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.registry import build, parse
from wordorder.model.attention.base import REGISTRY, Attention, attend
from wordorder.model.masks import causal_mask
from wordorder.registry import KINDS

EXAMPLES = blocks("extending.md")
STUDY_FILE = "config/studies/my_study.yaml"
# What an example adds to the configuration, besides its line in the study.
SECTIONS = {
    "Encoding": {"config/encodings.yaml"},
    "Architecture": {"config/sizes.yaml"},
    "Attention backend": set(),
    "Metric": set(),
    "Analysis": set(),
    "Dataset format": {"config/datasets/chats.yaml"},
}


@pytest.mark.parametrize("section", SECTIONS)
def test_an_example_is_one_file_and_one_line_of_a_study(section: str) -> None:
    own = [each for each in EXAMPLES if each.section == section]
    (code,) = (each.file for each in own if each.language == "python")
    assert code is not None and code.startswith("my_plugins/")
    lines = [line for each in own if each.file == STUDY_FILE for line in each.text.splitlines()[1:]]
    # A backend is a property of the machine, which no study names.
    assert len(lines) == (section != "Attention backend")
    assert {each.file for each in own if each.file} - {code, STUDY_FILE} == SECTIONS[section]


def test_there_is_an_example_of_every_kind(tmp_path: Path) -> None:
    assert set(write_plugins(tmp_path / "my_plugins")) == set(KINDS)


# ------------------------------------------------------------------------------------------------- the whole study


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Run the study of the page to its end."""
    workspace = Workspace(tmp_path_factory.mktemp("extending"))
    write_plugins(workspace.folder.parent / "my_plugins")
    write_configuration(workspace.config)
    write_chats(workspace.folder / "resources/downloads/chats/by_hand/chats.jsonl")
    done = shell(workspace)
    assert done.returncode == 0, done.stdout + done.stderr
    return workspace


def write_configuration(folder: Path) -> None:
    """Write the small study with the lines of the page, and the shipped entries followed by those of the page."""
    study = yaml.safe_load(STUDY) | {"name": "my_study"}
    study["recipe"] |= {"learning_rate": 0.004, "max_updates": 40}  # enough for models to differ
    for each in EXAMPLES:
        if each.file and each.file.startswith("config/"):
            path, shipped = folder.parent / each.file, ROOT / each.file
            path.parent.mkdir(parents=True, exist_ok=True)
            before = shipped.read_text(encoding="utf-8") if shipped.is_file() else ""
            path.write_text(before + each.text, encoding="utf-8")
            if each.file == STUDY_FILE:
                study |= yaml.safe_load(each.text)
    (folder.parent / STUDY_FILE).write_text(yaml.safe_dump(study), encoding="utf-8")


def chats() -> list[tuple[str, str]]:
    pairs = islice(generate(Generator(), "train"), 400)
    return [(" ".join(pair.source), " ".join(pair.target)) for pair in pairs]


def write_chats(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps({"en": en, "de": de}) + "\n" for en, de in chats()), encoding="utf-8")


def shell(workspace: Workspace, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the shell commands of the page: its variables, and then Snakemake."""
    lines = [line for each in EXAMPLES if each.language == "sh" for line in each.text.splitlines()]
    exports = [line for line in lines if line.startswith("export ")]
    (command,) = (line for line in lines if line not in exports)
    assert len(exports) == 2 and command.startswith("snakemake my_study ")
    where = f"--snakefile '{ROOT}/Snakefile' --directory '{workspace.folder}' --config config_dir='{workspace.config}'"
    script = "\n".join([*exports, " ".join([command, where, *arguments])])
    return subprocess.run(
        ["bash", "-ec", script],  # another shell would not hand on the function of bash that forks jobs
        cwd=workspace.folder.parent,
        env=with_forked_jobs(os.environ | {"PATH": with_scripts(), "OMP_NUM_THREADS": "1"}),
        capture_output=True,
        text=True,
        check=False,
    )


def with_scripts() -> str:
    """Return the variable PATH with the folder of the commands of this environment."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


def would_run(workspace: Workspace) -> dict[str, int]:
    """Return the number of jobs of each rule that a dry-run finds."""
    done = shell(workspace, "--dry-run")
    assert done.returncode == 0, done.stdout + done.stderr
    return job_counts(done.stdout + done.stderr)


@contextmanager
def changed(workspace: Workspace, kinds: Iterable[str], more: str) -> Iterator[None]:
    """Add text to the files of extensions for a while."""
    files = [file for kind in kinds for file in (workspace.folder.parent / "my_plugins" / kind).glob("*.py")]
    before = {file: file.read_text(encoding="utf-8") for file in files}
    try:
        for file, text in before.items():
            file.write_text(text + more, encoding="utf-8")
        yield
    finally:
        for file, text in before.items():
            file.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def page(run: Workspace) -> str:
    return unescape((run.folder / "results/my_study/index.html").read_text(encoding="utf-8"))


def table(run: Workspace, name: str) -> pd.DataFrame:
    return pd.read_csv(run.folder / f"results/my_study/tables/{name}.csv")


@pytest.mark.slow
@pytest.mark.xdist_group("extending")
class TestStudy:
    """Tests of what the page and the tables of the study show for each example."""

    def test_the_encoding_is_a_row(self, run: Workspace, page: str) -> None:
        scores = table(run, "scores")
        assert set(scores["encoding"]) == {"sinusoidal", "slope"} and scores["mean"].notna().all()
        assert re.search(r"<t[hd][^>]*>slope<", page)

    def test_the_architecture_is_a_size_with_fewer_parameters(self, run: Workspace, page: str) -> None:
        parameters = table(run, "parameters").set_index(["size", "encoding"])["parameters"]
        assert set(table(run, "scores")["size"]) == {"micro", "micro_shared"}
        saved = parameters["micro", "slope"] - parameters["micro_shared", "slope"]
        dim, ffn_dim = 128, 256
        assert saved == 4 * (dim + 1) * dim + (dim + 1) * ffn_dim + (ffn_dim + 1) * dim + 4 * dim  # of one layer
        assert re.search(r"<t[hd][^>]*>micro_shared<", page)

    def test_the_backend_computed_all_attention(self, run: Workspace, page: str) -> None:
        records = list((run.folder / "results/models").glob("*/*/*/*/1/record.json"))
        assert len(records) == 4
        for record in records:
            assert json.loads(record.read_text(encoding="utf-8"))["attention_backends"] == ["chunked"]
        assert re.search(r'"attention_backends": \[\s*"chunked"\s*\]', page)

    def test_the_metric_is_a_column_and_tested(self, run: Workspace, page: str) -> None:
        assert "length_error" in set(table(run, "scores")["metric"])
        assert "length_error" in set(table(run, "significance")["metric"])
        assert re.search(r"<th[^>]*>test Length error ↓</th>", page)
        assert "Length error: length_error|unit:characters|version:1" in page

    def test_the_analysis_is_a_figure_with_a_caption(self, run: Workspace, page: str) -> None:
        (figure,) = re.findall(r'<figure id="[^"]*repetition[^"]*".*?</figure>', page, re.DOTALL)
        assert "words <em>before them</em> in the same translation" in figure and 'src="data:image/' in figure
        data = pd.read_csv(run.folder / "results/my_study/analyses/repetition.csv")
        assert len(data) == 4 and data["repeated"].between(0, 1).all()
        (svg,) = (run.folder / "results/my_study/analyses").glob("repetition.svg")
        assert "repeated words" in svg.read_text(encoding="utf-8")

    def test_the_format_s_sentences_are_shown(self, page: str) -> None:
        shown = chats()[::20]
        assert len(shown) == 20
        for source, reference in shown:
            assert source in page and reference in page

    def test_nothing_is_left_to_do(self, run: Workspace) -> None:
        assert would_run(run) == {}

    def test_comments_leave_nothing_to_do(self, run: Workspace) -> None:
        with changed(run, KINDS, "# A comment\n"):
            assert would_run(run) == {}

    @pytest.mark.parametrize(
        ("kind", "models", "first", "not_again"),
        [
            ("encodings", 2, "train_model", "import_split"),
            ("architectures", 2, "train_model", "import_split"),
            ("attention_backends", 0, None, None),
            ("metrics", 0, "evaluate_model", "train_model"),
            ("analyses", 0, "analyse", "evaluate_model"),
            ("dataset_formats", 4, "import_split", None),
        ],
    )
    def test_changed_code_is_used(
        self, kind: str, models: int, first: str | None, not_again: str | None, run: Workspace
    ) -> None:
        """The page says what is made again after a change of the code."""
        with changed(run, [kind], "\nCHANGED = True\n"):
            counts = would_run(run)
        assert counts.get("train_model", 0) == models
        assert (first in counts if first else counts == {}) and not_again not in counts

    def test_a_bundle_holds_the_code(self, run: Workspace, tmp_path: Path) -> None:
        plugins = run.folder.parent / "my_plugins"
        subprocess.run(
            [
                "wordorder",
                "stage",
                "write-reference",
                "my_study",
                "--root",
                run.config,
                "--output",
                tmp_path / "bundle",
            ],
            cwd=run.folder,
            env=os.environ | {"WORDORDER_PLUGINS": str(plugins), "PATH": with_scripts()},
            check=True,
        )
        held = {path.relative_to(tmp_path / "bundle/extensions") for path in tmp_path.glob("bundle/extensions/*/*")}
        assert held == {path.relative_to(plugins) for path in plugins.glob("*/*.py") if "backends" not in str(path)}


# ------------------------------------------------------------------------------------------ the backend, by numbers


@pytest.fixture
def examples(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the extensions of the page in this process."""
    write_plugins(plugins.with_name("my_plugins"))
    monkeypatch.setenv("WORDORDER_PLUGINS", str(plugins.with_name("my_plugins")))


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("encoding", ["slope", "cope", "relative", "none"])
def test_the_backend_gives_what_eager_gives(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = build(parse({"type": encoding}), Shape(16, 4, 1, 1)).attention("decoder", 0)
    queries, keys, values = torch.randn(3, 2, 4, 150, 4, generator=torch.Generator().manual_seed(1)).unbind()
    positions = Positions.range(150)
    found = {}
    for name in ("eager", "chunked"):
        monkeypatch.setenv("WORDORDER_ATTENTION", name)
        found[name] = attend(
            queries, keys, values,
            mask=causal_mask(150, on="cpu"), dropout_probability=0.0, training=False, encoding=own,
            query=positions, key=positions,
        )  # fmt: skip
    assert_close(found["chunked"], found["eager"], rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("examples")
def test_a_model_gives_the_same_with_the_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = sentences([6, 4]), sentences([5, 5], seed=1)
    model = tiny_model(parse({"type": "slope"})).eval()
    expected = model(source, target)
    chunked, lengths = REGISTRY.get("chunked"), []
    attend_in_parts = chunked.attend

    def watched(asked: Attention) -> Tensor:
        lengths.append(asked.queries.size(2))
        found: Tensor = attend_in_parts(asked)
        return found

    monkeypatch.setattr(REGISTRY.module("chunked"), "QUERIES", 2)
    monkeypatch.setattr(chunked, "attend", watched)
    monkeypatch.setenv("WORDORDER_ATTENTION", "chunked")
    assert_close(model(source, target), expected, rtol=1e-5, atol=1e-6)
    assert len(lengths) == 6  # two layers of self-attention in each stack, and two of attention to the source
    assert min(lengths) > 4

"""Tests of wordorder.workflow.checks and ``wordorder check``: mistakes are found before anything runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from raises import raises
from snakemake_runs import ROOT
from wordorder.cli.main import main
from wordorder.config.load import load_sizes
from wordorder.config.models import Recipe
from wordorder.encodings.none import NoEncoding, NoneConfig
from wordorder.encodings.registry import parse, register
from wordorder.errors import WordorderError
from wordorder.model.counts import counted
from wordorder.workflow import checks
from wordorder.workflow.configuration import Configuration

SHIPPED = ROOT / "config"


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def check(name: str, root: Path) -> str:
    configuration = Configuration(root)
    return checks.check(configuration.study(name), configuration)


def check_models(root: Path) -> None:
    configuration = Configuration(root)
    configuration.catalogue.check_models(configuration.study("demo"))


def run_check(*arguments: str) -> int:
    return main(["check", *arguments])


def test_an_error_that_is_mended_elsewhere_is_forgotten(root: Path, own_encodings: Path) -> None:
    """An encoding may be missing because its file fails where a package is not installed; no file changes later."""
    with (root / "encodings.yaml").open("a") as file:
        file.write("\nmine: {type: later}\n")
    with raises("invalid-configuration", key="mine", says="'later'"):
        Configuration(root).catalogue.encoding("mine")

    class LaterConfig(NoneConfig):
        type: Literal["later"] = "later"  # type: ignore[assignment]

    register(LaterConfig)(type("Later", (NoEncoding,), {}))
    assert Configuration(root).catalogue.encoding("mine").folder == "mine"


def test_positions_that_a_dataset_cannot_give_are_told(root: Path) -> None:
    with (root / "encodings.yaml").open("a") as file:
        file.write("\nneeding: {compose: [{type: inxl}, {type: relative}]}\n")
    for study in ("demo", "multi30k"):
        replace(root / f"studies/{study}.yaml", "encodings: [", "encodings: [needing, ")
    assert check("demo", root).startswith("demo: 15 cells")
    with pytest.raises(WordorderError) as caught:
        check("multi30k", root)
    lines = str(caught.value).splitlines()
    assert caught.value.code == "study-cannot-run" and len(lines) == 2
    assert "'reordering.train'" in lines[0] and "'reordering.test'" in lines[1]
    replace(root / "studies/multi30k.yaml", "baseline:", "reordering: {train: identity, test: identity}\nbaseline:")
    assert check("multi30k", root).startswith("multi30k: 12 cells")


@pytest.mark.parametrize(
    ("name", "missing", "code", "dataset"),
    [
        ("xlpe_mini", "jieba", "missing-package", "mini_zhen"),
        ("crosslingual_ja", "MeCab", "missing-tokeniser", "mini_enja"),
    ],
)
def test_a_language_that_cannot_be_handled_here_is_told(
    name: str, missing: str, code: str, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = Configuration(SHIPPED)
    study = configuration.study(name)
    checks.check_languages(study, configuration)
    tokeniser = "sacrebleu.tokenizers.tokenizer_ja_mecab"  # remembers whether there is a MeCab
    monkeypatch.delitem(sys.modules, tokeniser, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with raises(code, key="datasets", found=dataset, says=f"'{name}'"):
        checks.check_languages(study, configuration)
    monkeypatch.delitem(sys.modules, tokeniser, raising=False)


def test_check_prints_a_line_a_study(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_check("demo", str(root / "studies/multi30k.yaml"), "--root", str(root)) == 0
    assert capsys.readouterr().out.splitlines() == [
        "demo: 12 cells (1 dataset × 4 encodings × 1 size × 3 seeds), 1 test set, 3 comparisons.",
        "multi30k: 10 cells (1 dataset × 5 encodings × 1 size × 2 seeds), 3 test sets, 4 comparisons.",
    ]


def test_check_tells_the_looks_of_a_study(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A study may take them from the one on which it is based, and they change its level."""
    based = "name: mine\nbased_on: arena_captions\ntitle: Mine\nencodings: [none, sinusoidal]\n"
    (root / "studies/mine.yaml").write_text(based)
    assert run_check("mine", "--root", str(root)) == 0
    (root / "studies/mine.yaml").write_text(f"{based}seeds: {{looks: [3, 5], until: 5}}\n")
    assert run_check("mine", "--root", str(root)) == 0
    (root / "studies/mine.yaml").write_text(f"{based}seeds: [1, 2, 3]\n")
    assert run_check("mine", "--root", str(root)) == 0
    first, second, listed = capsys.readouterr().out.splitlines()
    assert first.endswith(", look 1 of 2 (at 3, 5 seeds).") and second.endswith(", look 2 of 2 (at 3, 5 seeds).")
    assert "look" not in listed


def test_check_checks_companions_once(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replace(root / "studies/demo.yaml", "title:", "companions: [multi30k, arena_mini]\ntitle:")
    assert run_check("demo", "multi30k", "--root", str(root)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["demo", "multi30k", "arena_mini"]
    replace(root / "studies/multi30k.yaml", "title:", "titel:")
    assert run_check("demo", "--root", str(root)) == 1
    printed = capsys.readouterr()
    assert [line.partition(":")[0] for line in printed.out.splitlines()] == ["demo", "arena_mini"]
    assert "multi30k.yaml has 2 problems" in printed.err


def test_check_of_all_tells_every_problem_and_still_checks_the_others(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (root / "studies").iterdir():
        if path.stem not in ("demo", "multi30k"):
            path.unlink()
    replace(root / "encodings.yaml", "  table: 1024", "  tabel: 1024")
    replace(root / "encodings.yaml", "  clip: 16", "  clip: 0")
    replace(root / "studies/demo.yaml", "[none, sinusoidal, opr, relative]", "[sinusoidal, opr]")
    assert run_check("--root", str(root)) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("demo: 6 cells")
    lines = printed.err.splitlines()
    assert len(lines) == 2  # each once, though two studies have it
    assert f"{root}/encodings.yaml" in lines[0] and "'learned.tabel'" in lines[0]
    assert f"{root}/encodings.yaml" in lines[1] and "'relative.clip'" in lines[1]


def test_a_paper_that_does_not_exist_is_told(root: Path) -> None:
    replace(root / "studies/demo.yaml", "baseline:", "paper: sinusoids\nbaseline:")
    with raises("unknown-name", found="sinusoids", suggestion="sinusoid"):
        check("demo", root)


def test_a_study_with_bleu_only_is_told(root: Path) -> None:
    replace(root / "studies/demo.yaml", "baseline:", "metrics: [bleu, bleu_legacy]\nbaseline:")
    with raises("not-credible", key="metrics"):
        check("demo", root)


def test_models_that_cannot_be_built_are_told(root: Path) -> None:
    study = root / "studies/demo.yaml"
    replace(study, "[none, sinusoidal, opr, relative]", "[none, sinusoidal, opr, headxl_12, relative]")
    replace(study, "baseline:", "reordering: {train: identity, test: identity}\nbaseline:")
    replace(study, "sizes: [micro]", "sizes: [base, micro_lstm]")
    with pytest.raises(WordorderError) as caught:
        check("demo", root)
    parts = caught.value.parts
    assert {(part.code, part.key) for part in parts} == {("model-cannot-be-built", "encodings")}
    wrong = [("headxl_12", "base"), ("headxl_12", "micro_lstm"), ("relative", "micro_lstm")]
    assert [part.found for part in parts] == wrong
    assert all(f"'{name}'" in str(part) for part in parts for name in ("demo", *part.found))
    assert "tau = 12, more than the 8 heads" in str(parts[0]) and "attention" in str(parts[2])


OWN_ENCODING = """
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from wordorder.encodings.base import Encoding, EncodingConfig, Shape
from wordorder.encodings.registry import register


class LookingConfig(EncodingConfig):
    type: Literal["looking"] = "looking"
    more: Annotated[int, Field(ge=0)] = 0

    def parameter_count(self, shape: Shape) -> int:
        return 3 + 300 * 300 + {3: 1}.get(self.more, 0)


@register(LookingConfig)
class Looking(Encoding):
    def __init__(self, config: LookingConfig, shape: Shape) -> None:
        super().__init__(config, shape)
        self.numbers = nn.Parameter(torch.empty(3).normal_() + torch.zeros(3 + config.more % 2))
        {}["a mistake"] if config.more == 2 else None
        self.seen = self.numbers.tolist(), self.numbers.detach().numpy(), self.numbers.sum().item()
        self.layer = nn.Linear(300, 300, bias=False)  # whose start values are between -300^-0.5 and 300^-0.5
        largest = self.layer.weight.abs().max().item()
        if not 0.05 < largest < 0.06:
            raise RuntimeError(f"no start values: {largest}")

    def _add_to_embeddings(self, x, positions, stack):
        return x
"""


def test_own_encodings_are_built_and_may_look_at_their_numbers(root: Path, own_encodings: Path) -> None:
    (own_encodings / "looking.py").write_text(OWN_ENCODING)
    with (root / "encodings.yaml").open("a") as entries:
        entries.write("looking:\n  type: looking\nfailing:\n  type: looking\n  more: 1\n")
        entries.write("mistaken:\n  type: looking\n  more: 2\n")
    study = root / "studies/demo.yaml"
    replace(study, "[none, sinusoidal, opr, relative]", "[none, sinusoidal, opr, relative, looking]")
    check_models(root)
    replace(study, "looking]", "looking, failing, mistaken]")
    with pytest.raises(WordorderError) as caught:
        check_models(root)
    failing, mistaken = caught.value.parts
    assert (failing.found, mistaken.found) == (("failing", "micro"), ("mistaken", "micro"))
    assert re.search(r"RuntimeError: .*3", str(failing)) and "KeyError: 'a mistake'" in str(mistaken)
    line = next(number for number, text in enumerate(OWN_ENCODING.splitlines(), 1) if "a mistake" in text)
    assert f"line {line}" in str(mistaken) and str(own_encodings / "looking.py") in str(mistaken)


def test_the_formula_of_an_own_encoding_gives_the_parameters_of_its_module(root: Path, own_encodings: Path) -> None:
    file = own_encodings / "looking.py"
    file.write_text(OWN_ENCODING.replace("zeros(3 + config.more % 2)", "zeros(3)"))
    with (root / "encodings.yaml").open("a") as entries:
        entries.write("right:\n  type: looking\nwrong:\n  type: looking\n  more: 3\n")
        entries.write("together:\n  compose: [{type: looking, more: 3}, {type: rope}]\n")
    study = root / "studies/demo.yaml"
    replace(study, "[none, sinusoidal, opr, relative]", "[none, sinusoidal, opr, relative, right]")
    check_models(root)
    replace(study, "right]", "right, wrong, together]")
    for _ in range(2):  # The second time, the reason comes from the cache.
        with pytest.raises(WordorderError) as caught:
            check_models(root)
        assert [part.found for part in caught.value.parts] == [("wrong", "micro"), ("together", "micro")]
        assert all(fact in str(part) for part in caught.value.parts for fact in (str(file), "90,004", "90,003"))
    with raises("wrong-parameter-count", path=file, key="looking", found=90_003, expected=90_004):
        counted(parse({"type": "looking", "more": 3}), load_sizes(root)["micro"], Recipe(norm="pre", max_updates=1), 8)


def test_an_own_encoding_without_a_formula_may_have_parameters(root: Path, own_encodings: Path) -> None:
    start, _, rest = OWN_ENCODING.partition("    def parameter_count")
    (own_encodings / "looking.py").write_text(start + rest.partition("\n\n")[2], encoding="utf-8")
    counts = counted(parse({"type": "looking"}), load_sizes(root)["micro"], Recipe(norm="pre", max_updates=1), 8)
    assert counts["encoding"] > 90_000


def test_models_are_built_without_pytorch_s_compiler(root: Path) -> None:
    """Whose import takes longer than all else that is done before a workflow begins."""
    code = f"import sys; from wordorder.cli.main import main; main(['check', 'demo', '--root', {str(root)!r}]); "
    done = subprocess.run(
        [sys.executable, "-c", code + "print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    assert "torch" in done.stdout.split() and "torch._dynamo" not in done.stdout.split()


def test_what_was_found_out_is_remembered_without_pytorch(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry-run starts faster than PyTorch is imported; a change of encodings.yaml is looked at again."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(root.parent / "cache"))
    code = f"import sys; from wordorder.cli.main import main; main(['check', 'demo', '--root', {str(root)!r}]); "

    def imports_torch() -> bool:
        command = [sys.executable, "-c", f"{code}print('torch' in sys.modules)"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1] == "True"

    assert [imports_torch(), imports_torch()] == [True, False]
    replace(root / "encodings.yaml", "  k: 8", "  k: 4")
    assert imports_torch()


def test_what_concerns_no_encoding_is_told_once(
    root: Path, own_encodings: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORDORDER_PLUGINS", str(own_encodings / "nowhere"))
    assert run_check("demo", "multi30k", "--root", str(root)) == 1
    assert capsys.readouterr().err.count("nowhere") == 1


def test_check_without_studies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORDORDER_ERRORS", "json")
    assert run_check("--root", str(tmp_path)) == 1
    error = json.loads(capsys.readouterr().err)
    assert (error["code"], error["path"]) == ("no-studies", str(tmp_path / "studies"))

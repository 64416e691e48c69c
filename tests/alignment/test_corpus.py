from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from wordorder.alignment.corpus import align, train_aligner
from wordorder.alignment.hmm import HMMAligner
from wordorder.alignment.links import Links
from wordorder.config.reordering import HMM, Alignment, Oracle
from wordorder.data import units
from wordorder.data.ragged import Ragged
from wordorder.data.units import in_blocks
from wordorder.errors import WordorderError
from wordorder.reordering.corpus import find_oracle

PAIRS = 50


@pytest.fixture
def text(tmp_path: Path) -> dict[str, Path]:
    """A text of words that are translated one by one, in reverse, and an aligner that was trained on it."""
    random = np.random.default_rng(1)
    sentences = [random.integers(20, size=random.integers(1, 9)) for _ in range(PAIRS)]
    sentences[3] = np.array([], dtype=int)
    files = {name: tmp_path / name for name in ("source", "target", "model.npz")}
    files["source"].write_text("".join(" ".join(f"a{word}" for word in each) + "\n" for each in sentences))
    files["target"].write_text("".join(" ".join(f"b{word}" for word in each[::-1]) + "\n" for each in sentences))
    train_aligner(HMM(), files["source"], files["target"], model=files["model.npz"])
    return files


def aligned(text: dict[str, Path], output: Path, shard: str = "1/1") -> bytes:
    align(Alignment(), text["source"], text["target"], output=output, model=text["model.npz"], shard=shard)
    return output.read_bytes()


def test_a_text_is_aligned_in_blocks_with_the_links_of_the_whole(
    text: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = aligned(text, tmp_path / "whole")
    seen = []

    def record(self: HMMAligner, blocks: Iterable[tuple[Ragged, Ragged]], **options: object) -> Iterable[Links]:
        return original(self, (seen.append(len(block[0])) or block for block in blocks), **options)  # type: ignore

    original = HMMAligner.align_blocks
    monkeypatch.setattr(HMMAligner, "align_blocks", record)
    monkeypatch.setattr(units, "BLOCK", 8)
    assert aligned(text, tmp_path / "blocks") == whole
    assert seen == [8] * 6 + [2]
    assert b"".join(aligned(text, tmp_path / "shard", f"{n}/3") for n in (1, 2, 3)) == whole


def test_oracle_trees_are_found_in_blocks(
    text: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aligned(text, tmp_path / "links")
    found = []
    for block in (units.BLOCK, 8):
        monkeypatch.setattr(units, "BLOCK", block)
        files = {name: tmp_path / f"{name}{block}" for name in ("output", "trees", "record")}
        find_oracle(config=Oracle(), source=text["source"], links=tmp_path / "links", **files)
        found.append([file.read_bytes() for file in files.values()])
    assert found[0] == found[1]
    assert found[0][0].count(b"\n") == PAIRS


def test_links_of_another_number_of_sentences_are_refused_before_any_tree(
    text: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "links").write_text("0-0\n")
    files = {name: tmp_path / name for name in ("output", "trees", "record")}
    with pytest.raises(WordorderError, match=r"has 1 lines of links, but there are 50 sentence pairs"):
        find_oracle(config=Oracle(), source=text["source"], links=tmp_path / "links", **files)
    assert not any(file.exists() for file in files.values())


def test_blocks_hold_every_item_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "BLOCK", 3)
    assert list(in_blocks(iter(range(7)))) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(in_blocks(range(6))) == [[0, 1, 2], [3, 4, 5]]
    assert list(in_blocks([])) == []

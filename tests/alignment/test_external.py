"""Tests of external aligners: the real programs if installed, otherwise small scripts with the same command lines."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from raises import raises
from wordorder.alignment.corpus import align as align_files
from wordorder.alignment.external import align
from wordorder.alignment.links import Links
from wordorder.config.reordering import Alignment, ExternalAligner

SOURCE = [["a", "b"], [], ["c"], ["({})", "e", "|||"], ["f"]]  # tokens that look like the notation of the programs
TARGET = [["A", "B"], ["X"], [], ["D"], ["F", "G"]]

Rows = list[list[list[int]]]


def aligner(name: str) -> ExternalAligner:
    return ExternalAligner(type=name)  # type: ignore[arg-type]


def rows(links: Links) -> Rows:
    return [pair.tolist() for pair in links]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the whole PATH; temporary files are in its parent."""
    for name in ("bin", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "bin"


def stand_in(folder: Path, name: str, code: str) -> None:
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\na = sys.argv[1:]\n{code}\n")
    path.chmod(0o755)


def left_over(programs: Path) -> list[Path]:
    return list((programs.parent / "temporary").iterdir())


# Forward each target unit has the source unit of its number or the last; backward the other way round.
EFLOMAL = """
o = dict(zip(a[::2], a[1::2]))
s, t = ([l.split() for l in Path(o[k]).read_text().splitlines()] for k in ("-s", "-t"))
def write(k, rows): Path(o[k]).write_text("".join(" ".join(r) + "\\n" for r in rows))
write("-f", ([f"{min(j, len(x) - 1)}-{j}" for j in range(len(y))] for x, y in zip(s, t)))
write("-r", ([f"{i}-{min(i, len(y) - 1)}" for i in range(len(x))] for x, y in zip(s, t)))
"""
FAST_ALIGN = """
assert a[:5] == ["-i", "pairs", "-d", "-o", "-v"] and a[5:] in ([], ["-r"]), a
for line in Path("pairs").read_text().splitlines():
    x, y = (side.split() for side in line.split(" ||| "))
    if a[5:]: print(*[f"{i}-{min(i, len(y) - 1)}" for i in range(len(x))])
    else: print(*[f"{min(j, len(x) - 1)}-{j}" for j in range(len(y))])
"""
MGIZA = """
o = dict(zip(a[::2], a[1::2]))
for k in ("-S", "-T", "-C", "-CoocurrenceFile"): assert Path(o[k]).exists(), k
for k in ("-S", "-T"): assert Path(o[k] + ".classes").exists(), k
words = [dict(l.split()[:2] for l in Path(o[k]).read_text().splitlines()) for k in ("-S", "-T")]
lines = Path(o["-C"]).read_text().splitlines()
pairs = list(enumerate(zip(lines[::3], lines[1::3], lines[2::3]), start=1))
for part in (0, 1):
    with Path(f"{o['-o']}.A3.final.part00{part}").open("w") as f:
        for n, (count, x, y) in pairs[part::2]:
            assert count == "1"
            x, y = ([w[i] for i in side.split()] for w, side in zip(words, (x, y)))
            at = [[f'{j + 1} ' for j in range(len(y)) if min(j, len(x) - 1) == i] for i in range(len(x))]
            print(f"# Sentence pair ({n}) source length {len(x)} target length {len(y)} alignment score : 1", file=f)
            print(*y, file=f)
            print("NULL ({ })", *[f"{w} ({{ {''.join(p)}}})" for w, p in zip(x, at)], file=f)
"""
MKCLS = "o = {w[:2]: w[2:] for w in a}; Path(o['-V']).write_text(''); assert Path(o['-p']).exists()"
SNT2COOC = "assert all(Path(p).exists() for p in a[1:]) and len(a) == 4; Path(a[0]).write_text('')"
STAND_INS = {
    "eflomal": {"eflomal-align": EFLOMAL},
    "fast_align": {"fast_align": FAST_ALIGN},
    "mgiza": {"mgiza": MGIZA, "mkcls": MKCLS, "snt2cooc": SNT2COOC},
}


def install(folder: Path, name: str) -> None:
    for program, code in STAND_INS[name].items():
        stand_in(folder, program, code)


@pytest.mark.parametrize("name", STAND_INS)
def test_links_come_back_in_their_places(programs: Path, name: str) -> None:
    install(programs, name)
    forward, backward = align(SOURCE, TARGET, aligner(name))
    assert rows(forward) == [[[0, 0], [1, 1]], [], [], [[0, 0]], [[0, 0], [0, 1]]]
    assert rows(backward) == [[[0, 0], [1, 1]], [], [], [[0, 0], [1, 0], [2, 0]], [[0, 0]]]
    assert not left_over(programs)


@pytest.mark.parametrize("name", STAND_INS)
def test_a_missing_program_is_an_error_that_says_how_to_get_it(programs: Path, name: str) -> None:
    for program in STAND_INS[name]:
        with raises("missing-program", key="aligner", found=program):
            install(programs, name)
            (programs / program).unlink()
            align(SOURCE, TARGET, aligner(name))
    assert not left_over(programs)


def test_a_program_may_be_in_a_folder_relative_to_the_current_one(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(programs, "fast_align")
    monkeypatch.chdir(programs.parent)
    monkeypatch.setenv("PATH", "./bin")
    forward, _ = align(SOURCE, TARGET, aligner("fast_align"))
    assert len(rows(forward)) == len(SOURCE)


@pytest.mark.parametrize("name", STAND_INS)
def test_nothing_to_align(programs: Path, name: str) -> None:
    install(programs, name)
    for source, target in (([], []), ([[], ["a"]], [["A"], []])):
        assert [rows(links) for links in align(source, target, aligner(name))] == [[[] for _ in source]] * 2


def test_the_output_of_a_failed_program_is_reported(programs: Path) -> None:
    stand_in(programs, "fast_align", "print('line 3 is odd', file=sys.stderr); sys.exit(4)")
    with raises("program-failed", says="fast_align ended with status 4 and said: line 3 is odd."):
        align(SOURCE, TARGET, aligner("fast_align"))
    stand_in(programs, "fast_align", "sys.exit(1)")
    with raises("program-failed", says="status 1 and said nothing."):
        align(SOURCE, TARGET, aligner("fast_align"))
    assert not left_over(programs)


@pytest.mark.parametrize("printed", ["0-0", "0-0\n0-0\n0-9", "0-0\n0-0\nx"])
def test_links_of_another_text_are_refused(programs: Path, printed: str) -> None:
    stand_in(programs, "fast_align", f"print({printed!r})")
    with raises("program-failed", says="'fast_align' gave no links of this text"):
        align(SOURCE, TARGET, aligner("fast_align"))


def test_mgiza_that_skips_a_pair_is_refused(programs: Path) -> None:
    install(programs, "mgiza")
    stand_in(programs, "mgiza", MGIZA.replace("pairs[part::2]", "pairs[part:1:2]"))
    with raises("program-failed", says="aligned 1 of 3 pairs"):
        align(SOURCE, TARGET, aligner("mgiza"))


def test_texts_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\b1 source .*\b2 target"):
        align([["a"]], [["A"], ["B"]], aligner("eflomal"))


# Links words with the same place, if both sentences have another occurrence of their word in the text.
FREQUENT = """
from collections import Counter
o = dict(zip(a[::2], a[1::2]))
s, t = ([l.split() for l in Path(o[k]).read_text().splitlines()] for k in ("-s", "-t"))
seen = [Counter(w for x in side for w in x) for side in (s, t)]
rows = [[f"{i}-{i}" for i, (v, w) in enumerate(zip(x, y)) if seen[0][v] > 1 < seen[1][w]] for x, y in zip(s, t)]
for k in ("-f", "-r"): Path(o[k]).write_text("".join(" ".join(r) + "\\n" for r in rows))
"""


def test_a_small_text_is_aligned_together_with_the_training_set(programs: Path, tmp_path: Path) -> None:
    stand_in(programs, "eflomal-align", FREQUENT)
    texts = {
        "source": "c\na b\n\n",
        "target": "C\nA B\nX\n",
        "train.source": "b a\n\nd\n",
        "train.target": "A B\nX\nD\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    def links(*training: str) -> str:
        options = {name.replace(".", "_"): tmp_path / name for name in training}
        align_files(Alignment(aligner=aligner("eflomal")), *files, output=tmp_path / "links", **options)
        return (tmp_path / "links").read_text()

    files = tmp_path / "source", tmp_path / "target"
    assert links() == "\n\n\n"
    assert links("train.source", "train.target") == "\n0-0 1-1\n\n"
    with raises("missing-option", key="--train-target"):
        links("train.source")
    with raises("missing-option", key="--train-source"):
        links("train.target")
    (tmp_path / "train.target").write_text("A B\n")
    with raises("unequal-lines", tmp_path / "train.target", found=1, expected=3):
        links("train.source", "train.target")


def repeated(sentences: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    return [*sentences] * 30


REAL = {"eflomal": "eflomal-align", "fast_align": "fast_align", "mgiza": "mgiza"}


@pytest.mark.parametrize("name", REAL)
def test_the_real_program(name: str) -> None:
    if shutil.which(REAL[name]) is None:
        pytest.skip(f"{REAL[name]} is not on PATH")
    words = [["ein", "haus"], ["ein", "baum"], [], ["das", "haus"], ["der", "baum", "da"], ["haus"], ["baum"]]
    others = [["a", "house"], ["a", "tree"], ["no"], ["the", "house"], ["the", "tree", "there"], ["house"], ["tree"]]
    for links in align(repeated(words), repeated(others), aligner(name)):
        assert len(links) == 210
        assert [1, 1] in links[0].tolist() and [1, 1] in links[1].tolist()
        assert links[2].tolist() == []

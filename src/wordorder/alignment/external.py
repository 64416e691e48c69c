"""External aligners: the programs eflomal, fast_align and mgiza, found on PATH.

None of them gives the same links in every run; only the embedded aligner does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from wordorder.alignment.links import Links, Pair, read_links
from wordorder.config.reordering import ExternalAligner
from wordorder.data.text import read_lines, write_lines
from wordorder.errors import WordorderError

Sentences = Sequence[Sequence[str]]
Directions = tuple[Links, Links]

_FROM = {
    "eflomal": "build it with 'pip install eflomal', which needs a C compiler,",
    "fast_align": "build it from https://github.com/clab/fast_align",
    "mgiza": "build it from https://github.com/moses-smt/mgiza",
}


def align(source: Sentences, target: Sentences, aligner: ExternalAligner) -> Directions:
    """Align two texts in both directions with an external program.

    Pairs with an empty side have no links and are not passed on, because the programs treat them differently.

    Args:
        source: Source sentences.
        target: Target sentences.
        aligner: The program.

    Returns:
        The links of both directions, source token first.

    Raises:
        WordorderError: The program is missing, fails or gives links of another text.
    """
    if len(source) != len(target):
        raise ValueError(f"{len(source)} source sentences but {len(target)} target sentences")
    for program in _PROGRAMS[aligner.type]:
        _find(aligner.type, program)
    full = [index for index, pair in enumerate(zip(source, target, strict=True)) if all(map(len, pair))]
    if not full:
        return (Links.of([()] * len(source)),) * 2
    with tempfile.TemporaryDirectory(prefix="wordorder-align-") as folder:
        sides = [[text[index] for index in full] for text in (source, target)]
        found = _RUN[aligner.type](Path(folder), *sides)
    forward, backward = (_put_back(links, full, len(source)) for links in found)
    return forward, backward


def _put_back(links: Links, full: list[int], sentences: int) -> Links:
    rows: list[list[Pair]] = [[] for _ in range(sentences)]
    for index, pair in zip(full, links, strict=True):
        rows[index] = [(i, j) for i, j in pair.tolist()]
    return Links.of(rows)


def _find(aligner: str, program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise WordorderError(
            f"The aligner '{aligner}' needs the program '{program}', which is not on PATH: {_FROM[aligner]} "
            "and put it on PATH; or choose the aligner 'hmm', which needs no program.",
            code="missing-program",
            key="aligner",
            found=program,
        )
    return os.path.abspath(path)  # Programs run in another folder.


def _run(aligner: str, folder: Path, program: str, *arguments: str, output: str | None = None) -> None:
    """Run a program in ``folder``; its standard output goes to the file ``output`` there."""
    command = [_find(aligner, program), *arguments]
    with (folder / (output or "ignored")).open("wb") as stdout:
        done = subprocess.run(command, cwd=folder, stdout=stdout, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise WordorderError(
            f"The aligner '{aligner}' failed: {program} ended with status {done.returncode}"
            f"{' and said: ' + ' / '.join(said[-3:]) if said else ' and said nothing'}. Nothing was written.",
            code="program-failed",
            found=done.returncode,
        )


def _read(aligner: str, path: Path, source: Sentences, target: Sentences) -> Links:
    try:
        return read_links(path, source_lengths=[*map(len, source)], target_lengths=[*map(len, target)])
    except WordorderError as error:
        raise WordorderError(
            f"The aligner '{aligner}' gave no links of this text. {error}", code="program-failed"
        ) from error


def _eflomal(folder: Path, source: Sentences, target: Sentences) -> Directions:
    write_lines(folder / "source", map(" ".join, source))
    write_lines(folder / "target", map(" ".join, target))
    files = ("-s", "source", "-t", "target", "-f", "forward", "-r", "backward")
    _run("eflomal", folder, "eflomal-align", *files)
    forward, backward = (_read("eflomal", folder / name, source, target) for name in ("forward", "backward"))
    return forward, backward


def _fast_align(folder: Path, source: Sentences, target: Sentences) -> Directions:
    # The separator may not be a token.
    sides = [
        (" ".join("|" if unit == "|||" else unit for unit in units) for units in text) for text in (source, target)
    ]
    write_lines(folder / "pairs", (f"{s} ||| {t}" for s, t in zip(*sides, strict=True)))
    for name, options in (("forward", ()), ("backward", ("-r",))):
        # the settings that its authors recommend
        _run("fast_align", folder, "fast_align", "-i", "pairs", "-d", "-o", "-v", *options, output=name)
    forward, backward = (_read("fast_align", folder / name, source, target) for name in ("forward", "backward"))
    return forward, backward


def _mgiza(folder: Path, source: Sentences, target: Sentences) -> Directions:
    numbered = {}
    for side, text in (("source", source), ("target", target)):
        counts = Counter(unit for units in text for unit in units)
        numbers = {unit: number for number, unit in enumerate(counts, start=2)}  # 0 and 1 are reserved
        numbered[side] = [" ".join(str(numbers[unit]) for unit in units) for units in text]
        write_lines(folder / f"{side}.vcb", (f"{number} {unit} {counts[unit]}" for unit, number in numbers.items()))
        write_lines(folder / side, map(" ".join, text))
        _run("mgiza", folder, "mkcls", "-c50", "-n2", f"-p{side}", f"-V{side}.vcb.classes", "opt")

    def links(given: str, observed: str) -> Iterator[list[Pair]]:
        name = f"{given}-{observed}"
        pairs = zip(numbered[given], numbered[observed], strict=True)
        write_lines(folder / f"{name}.snt", (line for pair in pairs for line in ("1", *pair)))
        _run("mgiza", folder, "snt2cooc", f"{name}.cooc", f"{given}.vcb", f"{observed}.vcb", f"{name}.snt")
        files = ("-S", f"{given}.vcb", "-T", f"{observed}.vcb", "-C", f"{name}.snt", "-CoocurrenceFile", f"{name}.cooc")
        models = ("-m1", "5", "-m2", "0", "-mh", "5", "-m3", "3", "-m4", "3", "-nodumps", "0", "-onlyaldumps", "1")
        _run("mgiza", folder, "mgiza", *files, "-o", name, "-ncpus", "1", *models, "-nsmooth", "4", "-p0", "0.999")
        return _viterbi(sorted(folder.glob(f"{name}.A3.final*")), len(source))

    # Each observed token has one given token.
    forward = Links.of(links("source", "target"))
    backward = Links.of([(i, j) for j, i in pair] for pair in links("target", "source"))
    return forward, backward


_PLACES = re.compile(r"\(\{ ((?:\d+ )*)\}\)")
_HEADER = re.compile(r"# Sentence pair \((\d+)\)")


def _viterbi(files: Sequence[Path], sentences: int) -> Iterator[list[Pair]]:
    """Read the links of GIZA's A3 files: three lines per pair, the last "NULL ({ 2 }) given ({ 1 3 }) …", from 1."""
    found: dict[int, list[Pair]] = {}
    for path in files:
        lines = read_lines(path)
        for header, _, line in zip(lines, lines, lines, strict=True):
            match = _HEADER.match(header)
            if match is None:
                raise WordorderError(
                    f"The aligner 'mgiza' wrote a file of another format: {header!r} begins no pair.",
                    code="program-failed",
                )
            places = _PLACES.findall(line)[1:]  # without those of NULL
            found[int(match[1]) - 1] = [(i, int(j) - 1) for i, own in enumerate(places) for j in own.split()]
    if sorted(found) != list(range(sentences)):
        raise WordorderError(
            f"The aligner 'mgiza' aligned {len(found)} of {sentences} pairs. Are some very long?",
            code="program-failed",
            found=len(found),
            expected=sentences,
        )
    return (found[index] for index in range(sentences))


_PROGRAMS = {"eflomal": ["eflomal-align"], "fast_align": ["fast_align"], "mgiza": ["mkcls", "snt2cooc", "mgiza"]}
_RUN: dict[str, Callable[[Path, Sentences, Sentences], Directions]] = {
    "eflomal": _eflomal,
    "fast_align": _fast_align,
    "mgiza": _mgiza,
}

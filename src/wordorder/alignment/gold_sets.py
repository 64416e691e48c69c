"""Gold alignments as a split of a dataset: the linked words, the links, and the text as a model reads it.

Gold links number the words between the spaces of their text. No other white space separates words: KFTT has words that
are an ideographic space. Therefore the preprocessing of the dataset treats every word separately, so that its subwords
are known.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from wordorder.alignment.links import GoldLinks, Links, parse_gold
from wordorder.config.alignments import GoldImport, GoldText
from wordorder.config.datasets import Preparation
from wordorder.data.archive import open_member
from wordorder.data.clean import preprocessor
from wordorder.data.subword import Subword
from wordorder.data.text import decode_lines, strict_pairs, write_lines
from wordorder.data.units import words
from wordorder.errors import WordorderError, at_line
from wordorder.files import reading, write_json

Text = list[list[str]]
Numbered = list[tuple[int, str]]  # lines with their numbers, from 1

_UNREADABLE = "\ufffd"  # replaces control characters: a space would divide the word that contains one


def import_gold(
    config: GoldImport,
    downloads: str | Path,
    *,
    source: str | Path,
    target: str | Path,
    alignments: str | Path,
    clean_source: str | Path,
    clean_target: str | Path,
    report: str | Path,
) -> None:
    r"""Import a set of gold alignments.

    Write the set as a split of a dataset, in its direction: the words that were linked, the links, counted from 0, and
    the text after the dataset's preprocessing, word by word.

    Example:
        wordorder stage import-gold --config SLICE --downloads DIR --source s --target t --alignments a \
            --clean-source c --clean-target d --report report.json

    Args:
        config: The set and the preprocessing of the dataset.
        downloads: The folder of the downloaded files.
        source: The source words to write.
        target: The target words to write.
        alignments: The links to write.
        clean_source: The cleaned source text to write.
        clean_target: The cleaned target text to write.
        report: The report to write, JSON.
    """
    sides, gold = read_gold_set(config.text, downloads, config.members)
    if config.reverse:
        sides, gold = (sides[1], sides[0]), reverse(gold)
    for side, output in zip(sides, (source, target), strict=True):
        write_lines(output, map(" ".join, side))
    write_gold(alignments, gold)
    languages = config.preparation.source_language, config.preparation.target_language
    for side, language, output in zip(sides, languages, (clean_source, clean_target), strict=True):
        prepare = preprocessor(language, config.preparation.preprocessing)
        write_lines(output, (" ".join(filter(None, map(prepare, line))) for line in side))
    counts = {"sure": len(gold.sure.source), "possible": len(gold.possible.source), "dropped": gold.dropped}
    write_json(report, {"pairs": len(gold.sure), "links": counts})


def read_gold_set(
    text: GoldText, downloads: str | Path, members: Mapping[str, str] | None = None
) -> tuple[tuple[Text, Text], GoldLinks]:
    """Read the words of both sides and the links between them. Links beyond their sentence are dropped and counted.

    Args:
        text: The files of the set.
        downloads: The folder of the downloaded files.
        members: The member to read from each file that is an archive.

    Returns:
        The two texts, and the links.
    """

    def lines(name: str) -> list[str]:
        path = Path(downloads, text.archive or name)
        member = name if text.archive else _member(path, (members or {}).get(name))
        shown = f"'{name}' of {path}" if text.archive else path
        with open_member(path, member) as file:
            read = decode_lines(file, shown, keep_tabs=True, encoding=text.encoding, control_as=_UNREADABLE)
            return [line.replace("\t", " ") for line in read]

    names = [name for name in (text.source, text.target, text.joint, text.links) if name is not None]
    read = [list(enumerate(lines(name), start=1)) for name in names]
    if text.skip_blank:
        read = _without_blank(read, names)
    *sides, links = read
    if text.joint is not None:
        pairs = [_parted(Path(downloads, text.joint), number, line) for number, line in sides[0]]
    else:
        left, right = ([line for _, line in side] for side in sides)
        pairs = list(strict_pairs(left, right, text.source, text.target))
    files = " and ".join(str(Path(downloads, file)) for file in text.files)
    if not pairs:
        raise WordorderError(
            f"{files} should hold a set of gold alignments, but there is no sentence pair.",
            code="empty-file",
            path=Path(downloads, text.links),
        )
    if text.pairs not in (None, len(pairs)):
        raise WordorderError(
            f"{files} should hold {text.pairs} sentence pairs, but there are {len(pairs)}. Is it the file that "
            "gold_alignments.yaml describes?",
            code="wrong-count",
            path=Path(downloads, text.links),
            key="pairs",
            found=len(pairs),
            expected=text.pairs,
        )
    source, target = (list(map(words, side)) for side in zip(*pairs, strict=True))
    lengths = [*map(len, source)], [*map(len, target)]
    gold = parse_gold(Path(downloads, text.links), links, text.first, *lengths, drop_outside=True)
    return (source, target), gold


def _without_blank(files: list[Numbered], names: Sequence[str]) -> list[Numbered]:
    """Remove from all files each line that is blank in any of them. Blank lines at the end of a file do not count."""
    lengths = [max((number for number, line in file if line.strip()), default=0) for file in files]
    if len(set(lengths)) > 1:
        counts = ", ".join(f"'{name}' {length}" for name, length in zip(names, lengths, strict=True))
        raise WordorderError(
            "The files of a set of gold alignments must have one line per sentence pair. Without blank lines at the "
            f"end, their numbers of lines differ: {counts}. Which lines belong together cannot be guessed.",
            code="unequal-lines",
            found=min(lengths),
            expected=max(lengths),
        )
    rows = zip(*(file[: lengths[0]] for file in files), strict=True)
    kept = [row for row in rows if all(line.strip() for _, line in row)]
    return [list(column) for column in zip(*kept, strict=True)] or [[] for _ in files]


def _member(path: Path, name: str | None) -> str | None:
    """Return the shortest path inside an archive of a member with this name, in any folder."""
    if name is None:
        return None
    try:
        with reading(path), zipfile.ZipFile(path) as archive:
            found = [member for member in archive.namelist() if f"/{member}".endswith(f"/{name}")]
    except zipfile.BadZipFile:
        found = []  # the reader of the member reports it
    return min(found, key=len, default=name)


def _parted(path: Path, number: int, line: str) -> tuple[str, str]:
    sides = line.split("|||")
    if len(sides) != 2:
        raise at_line(path, number, f"'source ||| target' was expected, not '{line}'.")
    return sides[0], sides[1]


def reverse(gold: GoldLinks) -> GoldLinks:
    """Exchange the sides of links."""
    return GoldLinks(_reversed(gold.sure), _reversed(gold.possible), gold.dropped)


def _reversed(links: Links) -> Links:
    return Links.of([(j, i) for i, j in pair.tolist()] for pair in links)


def write_gold(path: str | Path, gold: GoldLinks) -> None:
    """Write sure links as 'i-j' and others as 'ipj', counted from 0, in the format of ``read_gold``."""

    def lines() -> Iterator[str]:
        for sure, possible in zip(gold.sure, gold.possible, strict=True):
            known = {(i, j) for i, j in sure.tolist()}
            yield " ".join(f"{i}{'-' if (i, j) in known else 'p'}{j}" for i, j in possible.tolist())

    write_lines(path, lines())


def word_pieces(
    sentences: Sequence[Sequence[str]], language: str, preparation: Preparation, subword: Subword
) -> list[list[int]]:
    """Count the subwords of each word after separate cleaning; 0 if nothing remains of it."""
    prepare = preprocessor(language, preparation.preprocessing)
    return [[len(subword.encode(prepare(word))) for word in line] for line in sentences]

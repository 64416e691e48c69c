"""Import of downloads: the parts of a split are concatenated to raw text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from wordorder.config.datasets import Choice, Import, Part, TextFile, Words
from wordorder.data.archive import open_member
from wordorder.data.clean import count_tokens
from wordorder.data.formats.base import Sentence, read_sentences
from wordorder.data.overlap import bucket, letters
from wordorder.data.text import strict_pairs, write_pairs
from wordorder.errors import WordorderError
from wordorder.wording import listed


def import_split(config: Import, downloads: Path, source: Path, target: Path) -> None:
    """Write the parts of one split as two text files, with one sentence per line.

    Example:
        wordorder stage import --config SLICE --downloads downloads --source train.en --target train.de

    Args:
        config: The parts of the split.
        downloads: The folder of the downloaded files.
        source: The source text to write.
        target: The target text to write.
    """
    import_parts(config.parts, downloads, source, target, by_hand=config.by_hand)


def import_parts(
    parts: Iterable[Part],
    downloads: str | Path,
    source: str | Path,
    target: str | Path,
    *,
    by_hand: str | None = None,
) -> int:
    """Write the pairs of ``parts`` as two text files.

    Each part must have equal numbers of source and target lines, so that a fault in one part cannot shift the next. At
    least one part must have a pair.

    Args:
        parts: The parts.
        downloads: The folder of the downloaded files.
        source: The source text to write.
        target: The target text to write.
        by_hand: A message if a file is missing.

    Returns:
        The number of pairs.
    """
    parts = list(parts)
    _check_files(parts, Path(downloads), by_hand)
    remedy = (
        "If these are files of your own, correct the original in the folder 'by_hand' or in the mirror, delete its "
        f"copy in {downloads}, run 'snakemake {source} --cores 1', and run this command again."
    )

    def pairs() -> Iterator[tuple[str, str]]:
        empty = True
        for part in parts:
            found = _pairs(part, Path(downloads), remedy)
            if part.choose:
                found = choose(found, part.choose)
            for pair in of_length(found, part.words) if part.words else found:
                empty = False
                yield pair
        if empty:
            names = dict.fromkeys(_name(text, Path(downloads)) for part in parts for text in part.sides)
            raise WordorderError(
                f"The split has no pairs for {source} and {target}: there are none in {', '.join(names)}, or 'choose' "
                "and 'words' take none of them. Nothing can be learned from it or scored; correct the split's parts in "
                "the dataset's file, or leave the test set out.",
                code="empty-file",
                path=source,
            )

    return write_pairs(source, target, pairs())


def choose(pairs: Iterable[tuple[str, str]], choice: Choice) -> Iterator[tuple[str, str]]:
    """Yield the pairs that fall into the chosen buckets.

    If each sentence is used only once, all used sentences are kept in memory.
    """
    taken: set[str] = set()
    for number, pair in enumerate(pairs, start=1):
        sentence = pair[choice.by == "target"]
        own = number % choice.of if choice.by == "line" else bucket(sentence, choice.of)
        if own in choice.drop if choice.drop else own not in choice.keep:
            continue
        if choice.unique:
            if letters(sentence) in taken:
                continue
            taken.add(letters(sentence))
        yield pair


def of_length(pairs: Iterable[tuple[str, str]], words: Words) -> Iterator[tuple[str, str]]:
    """Yield the pairs whose sides have as many words as asked."""
    limits = words.source, words.target
    for pair in pairs:
        sides = zip(pair, limits, strict=True)
        if all(limit is None or limit[0] <= count_tokens(side) <= limit[1] for side, limit in sides):
            yield pair


def _check_files(parts: Iterable[Part], downloads: Path, by_hand: str | None) -> None:
    """Check that all files of the parts exist.

    Raises:
        WordorderError: Files are missing; the error names all of them.
    """
    files = dict.fromkeys(downloads / text.file for part in parts for text in part.sides)
    missing = [file for file in files if not file.exists()]
    if missing:
        verb, remedy = ("do", "them") if len(missing) > 1 else ("does", "it")
        raise WordorderError(
            f"{listed(map(str, missing))} {verb} not exist. {by_hand or f'Download {remedy} first.'}",
            code="missing-file",
            path=missing[0],
            found=missing,
        )


def _pairs(part: Part, downloads: Path, remedy: str) -> Iterator[tuple[str, str]]:
    names = [_name(text, downloads) for text in part.sides]
    sides = [_sentences(text, downloads) for text in part.sides]
    for source, target in strict_pairs(*sides, *names, remedy=remedy):
        if source.place != target.place and None not in (source.place, target.place):
            raise WordorderError(
                f"{names[0]} has {source.place} where {names[1]} has {target.place}. One side lacks a sentence before "
                "it or numbers its sentences otherwise; which belong together cannot be guessed. " + remedy,
                code="shifted-sides",
                path=names[0],
                found=source.place,
                expected=target.place,
            )
        yield source.text, target.text


def _name(text: TextFile, downloads: Path) -> str:
    return f"'{text.member}' of {downloads / text.file}" if text.member else str(downloads / text.file)


def _sentences(text: TextFile, downloads: Path) -> Iterator[Sentence]:
    with open_member(downloads / text.file, text.member) as file:
        yield from read_sentences(file, text, _name(text, downloads))

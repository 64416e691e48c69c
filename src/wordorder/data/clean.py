"""Normalise, tokenise and clean: from raw sentence pairs to training pairs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordorder.config.datasets import Cleaning, Preparation, TextPreprocessing
from wordorder.data.normalise import normaliser
from wordorder.data.overlap import HeldOut
from wordorder.data.segment import segmenter
from wordorder.data.text import line_writer, read_pairs
from wordorder.data.tokenise import tokeniser
from wordorder.errors import WordorderError
from wordorder.files import write_json
from wordorder.progress import track
from wordorder.wording import listed

_SHOWN = 10  # lines without text
# In the order of application; a pair is counted under the first filter that drops it.
FILTERS = ("blank_source", "blank_target", "too_short", "too_long", "ratio")

# Han and kana, which are written without spaces.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")


@dataclass
class Report:
    """Counts of cleaning. Token counts are those of the kept pairs.

    'overlap' appears among the removed pairs if pairs were compared with held-out text.
    """

    read: int = 0
    kept: int = 0
    source_tokens: int = 0
    target_tokens: int = 0
    removed: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FILTERS, 0))

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dictionary for JSON."""
        return vars(self)


def count_tokens(line: str) -> int:
    """Count the tokens of a tokenised line, as the length filters and the report do.

    They are the words between spaces, and (n - 1) // 2 more for each run of n Han or kana characters: an estimate for
    text that is not segmented, where a word of n such characters counts as (n + 1) // 2 tokens. It also applies to
    segmented text, where a word of three or four such characters counts as two tokens. The Japanese training text of
    small_parallel_enja therefore has 5 % more tokens than words, and that of KFTT 9 %.
    """
    count = len(line.split())
    if not line.isascii():
        count += sum((len(run) - 1) // 2 for run in _UNSPACED.findall(line))
    return count


def fault(source_tokens: int, target_tokens: int, cleaning: Cleaning) -> str | None:
    """Return the first filter that drops a pair of these lengths, counted by :func:`count_tokens`, or ``None``."""
    shorter, longer = sorted((source_tokens, target_tokens))
    if source_tokens == 0:
        return "blank_source"
    if target_tokens == 0:
        return "blank_target"
    if shorter < cleaning.min_length:
        return "too_short"
    if longer > cleaning.max_length:
        return "too_long"
    if longer > cleaning.max_ratio * shorter and longer - shorter > cleaning.ratio_slack:
        return "ratio"
    return None


def preprocessor(language: str, preprocessing: TextPreprocessing) -> Callable[[str], str]:
    """Create the function that normalises and, if configured, tokenises the lines of one language."""
    normalise = normaliser(
        language,
        punctuation=preprocessing.normalise_punctuation,
        replace=preprocessing.replace.get(language, {}),
        join=language in preprocessing.join,
    )
    if not preprocessing.tokenise:
        return normalise
    tokenise = tokeniser(language, aggressive_dash_splits=preprocessing.aggressive_dash_splits)
    if name := preprocessing.segment.get(language):
        tokenise = segmenter(name, tokenise)
    return lambda line: tokenise(normalise(line))


def clean_pairs(
    pairs: Iterable[tuple[str, str]],
    preparation: Preparation,
    *,
    report: Report,
    keep_all: bool = False,
    held_out: HeldOut | None = None,
) -> Iterator[tuple[int, str, str]]:
    """Clean pairs and count them in ``report``.

    Args:
        pairs: The raw pairs.
        preparation: The preprocessing.
        report: Counts to update.
        keep_all: Drop nothing, as validation and test sets require.
        held_out: Held-out text. Pairs that share a side with it are dropped before any other filter applies.

    Yields:
        Index of the pair in ``pairs``, source and target of the kept pairs.
    """
    preprocessing = preparation.preprocessing
    prepare_source = preprocessor(preparation.source_language, preprocessing)
    prepare_target = preprocessor(preparation.target_language, preprocessing)
    if held_out is not None:
        report.removed.setdefault("overlap", 0)
    for number, (raw_source, raw_target) in enumerate(pairs):
        report.read += 1
        if held_out is not None and held_out.has(raw_source, raw_target):
            report.removed["overlap"] += 1
            continue
        source, target = prepare_source(raw_source), prepare_target(raw_target)
        source_tokens, target_tokens = count_tokens(source), count_tokens(target)
        name = None if keep_all else fault(source_tokens, target_tokens, preprocessing.cleaning)
        if name is not None:
            report.removed[name] += 1
            continue
        report.kept += 1
        report.source_tokens += source_tokens
        report.target_tokens += target_tokens
        yield number, source, target


def clean_files(
    config: Preparation,
    source: str | Path,
    target: str | Path,
    *,
    output_source: str | Path,
    output_target: str | Path,
    report: str | Path,
    kept: str | Path | None = None,
    keep_all: bool = False,
    held_out: Sequence[str | Path] | None = None,
) -> None:
    r"""Normalise, tokenise and clean a parallel text, and report what was dropped.

    Example:
        wordorder stage clean --config SLICE --source raw.s --target raw.t --output-source s --output-target t \
            --report report.json

    Args:
        config: The preprocessing and the two languages.
        source: The raw source text.
        target: The raw target text.
        output_source: The cleaned source text to write.
        output_target: The cleaned target text to write.
        report: The report to write, JSON.
        kept: The line numbers, from 0, of the kept pairs, to write.
        keep_all: Drop no pair, as validation and test sets need it. Pairs without text are named in a warning.
        held_out: The source and target texts, in turn, of held-out sets. Pairs are dropped that share a side with them,
            whatever its case, spaces and punctuation, after the characters of 'replace' are replaced on both sides.

    Raises:
        WordorderError: The files of held-out sets are not pairs.
    """
    if held_out and len(held_out) % 2:
        raise WordorderError(
            f"--held-out was given {len(held_out)} files. Give pairs of a source and a target text.",
            code="odd-number-of-files",
            key="--held-out",
        )
    languages = config.source_language, config.target_language
    source_replace, target_replace = (config.preprocessing.replace.get(language, {}) for language in languages)
    dropped = None
    if held_out:
        dropped = HeldOut.read(zip(held_out[::2], held_out[1::2], strict=True), (source_replace, target_replace))
    counts, blank = Report(), []
    pairs = track(read_pairs(source, target), "Cleaning", unit="pairs")
    with ExitStack() as stack:
        write_source, write_target = (stack.enter_context(line_writer(path)) for path in (output_source, output_target))
        write_kept = stack.enter_context(line_writer(kept)) if kept else None
        for number, source_line, target_line in clean_pairs(
            pairs, config, report=counts, keep_all=keep_all, held_out=dropped
        ):
            write_source(source_line)
            write_target(target_line)
            if write_kept:
                write_kept(str(number))
            if not (source_line and target_line):
                blank.append(number + 1)
    if blank:
        more = [f"{len(blank) - _SHOWN} more"] if len(blank) > _SHOWN else []
        shown = listed([*map(str, blank[:_SHOWN]), *more])
        print(
            f"wordorder: warning: {source} or {target} has no text in line{'s' if len(blank) > 1 else ''} {shown}. All "
            "pairs of validation and test sets are kept, so the model translates an empty sentence, or an empty "
            "reference is scored. If this is not meant, remove these pairs from the downloaded files or their "
            "description.",
            file=sys.stderr,
        )
    write_json(report, counts.as_json())

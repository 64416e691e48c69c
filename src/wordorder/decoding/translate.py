"""Translation of token indices of sources into lines of text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordorder.children import can_fork, shared
from wordorder.config.datasets import TextPreprocessing
from wordorder.config.decoding import Decoding
from wordorder.data.arrays import Integers
from wordorder.data.binary import ParallelCorpus
from wordorder.data.clean import preprocessor
from wordorder.data.subword import Subword
from wordorder.data.text import line_writer
from wordorder.data.tokenise import detokeniser
from wordorder.decoding.beam import Hypothesis, max_length, search
from wordorder.draws import repeatable
from wordorder.errors import WordorderError
from wordorder.model.architectures.base import Translator
from wordorder.model.packed import packed
from wordorder.precision import products, rounded
from wordorder.progress import Progress
from wordorder.training.batches import pad_positions, pad_sources
from wordorder.training.device import finished_model

# Tokens of a source, or pairs of a token and its position if the model needs reordered positions.
Sentence = tuple[Any, ...]


def plan(sources: Sequence[Sentence], config: Decoding) -> Iterator[list[Sentence]]:
    """Yield batches of distinct sentences, the longest first.

    The longest source with its end x sentences x beam is at most ``batch_tokens``, but a batch has at least one
    sentence. The batches depend only on the set of sentences, not on their order or number, and neither do the
    translations.
    """
    batch: list[Sentence] = []
    for source in sorted(set(sources), key=lambda sentence: (-len(sentence), sentence)):
        if batch and (len(batch[0]) + 1) * (len(batch) + 1) * config.beam > config.batch_tokens:
            yield batch
            batch = []
        batch.append(source)
    if batch:
        yield batch


def translate(
    model: Translator,
    sources: Sequence[Integers],
    config: Decoding,
    *,
    positions: Sequence[Integers] | None = None,
    lines: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Find the n-best hypotheses of every source.

    On a CPU, if there are at least as many batches as PyTorch has threads, each thread becomes a process that
    translates batches of its own; otherwise all threads share each product of a batch. The processes share the weights.
    Each needs additional memory for one batch: 0.3 to 0.4 GB for captions, the default ``batch_tokens``, model size 256
    and a vocabulary of 8,000.

    The same model, set of sentences and configuration give the same bits on the same machine with any number of such
    processes, and with one thread; where threads share products, with the same number of threads.

    Args:
        model: The model.
        sources: Token indices of each source without beginning and end.
        config: The search.
        positions: The positions of the tokens of each source in target order, for a model that needs them.
        lines: The line of each source, from 1, which errors name; all lines if missing.

    Returns:
        The hypotheses of each source, in the order of ``sources``.

    Raises:
        WordorderError: A source is longer than the encoder supports, or the model needs positions and gets none, or the
            reverse; raised before any work. Or a process was killed.
    """
    check_positions(model, given=positions is not None)
    tokens = [source.tolist() for source in sources]
    _check_lengths(model, tokens, config, lines or range(1, len(tokens) + 1))
    keys: list[Sentence] = [
        tuple(own) if positions is None else tuple(zip(own, positions[number].tolist(), strict=True))
        for number, own in enumerate(tokens)
    ]
    device = next(model.parameters()).device
    if config.precision == "bf16":
        model = rounded(model)
    model = packed(model)
    batches = list(plan(keys, config))

    def one(number: int) -> list[list[Hypothesis]]:
        padded, reordered = _tensors(batches[number], pairs=positions is not None)
        with repeatable(number):
            return search(
                model, padded.to(device), config, positions=None if reordered is None else reordered.to(device)
            )

    threads, numbers = torch.get_num_threads(), range(len(batches))
    several = device.type == "cpu" and len(batches) >= threads > 1 and can_fork()
    found: dict[Sentence, list[Hypothesis]] = {}
    progress = Progress("translate", total=len(set(keys)), unit="sentences")
    with progress, products(config.precision, device.type):
        for number, hypotheses in (
            shared(one, len(batches), threads) if several else ((number, one(number)) for number in numbers)
        ):
            found.update(zip(batches[number], hypotheses, strict=True))
            progress.advance(len(batches[number]))
    lost = sum(not hypotheses for hypotheses in found.values())
    if lost:
        _warn(
            f"the model's output is not a number for {lost} of {len(found)} different sentences, which have no "
            "translation. Did its training diverge?"
        )
    return [found[key] for key in keys]


def _tensors(batch: Sequence[Sentence], *, pairs: bool) -> tuple[Tensor, Tensor | None]:
    """Create token indices (B, S) and, from pairs, positions (B, S)."""
    if not pairs:
        return pad_sources([np.array(sentence, dtype=np.int64) for sentence in batch]), None
    columns = [np.array(sentence, dtype=np.int64).reshape(-1, 2) for sentence in batch]
    return pad_sources([column[:, 0] for column in columns]), pad_positions([column[:, 1] for column in columns])


def check_positions(model: Translator, *, given: bool) -> None:
    """Reject reordered positions that the model does not use, and their absence if it needs them."""
    encoding = model.encoding.config
    if encoding.needs_reordered and not given:
        raise WordorderError(
            f"The model's encoding '{encoding.type}' needs the position that each source token takes in target order. "
            "Translate a binary corpus, and give the output folder of 'wordorder stage positions' with --positions.",
            code="missing-positions",
        )
    if given and not encoding.needs_reordered:
        raise WordorderError(
            f"The model's encoding '{encoding.type}' uses no reordered positions. Remove --positions.",
            code="needless-positions",
        )


def _check_lengths(model: Translator, sources: Sequence[Sequence[int]], config: Decoding, lines: Sequence[int]) -> None:
    lengths = [len(source) + 1 for source in sources]
    longest = max(lengths, default=0)
    line = lines[lengths.index(longest)] if lengths else 0
    limit = model.encoding.limit("encoder")
    if limit is not None and longest > limit:
        raise WordorderError(
            f"Line {line} of the source has {longest} subwords with its end, but the model's "
            f"positional encoding has only {limit} positions. Shorten the sentence, or raise the size of the "
            "encoding's table in encodings.yaml and train again.",
            code="too-few-positions",
            line=line,
            found=longest,
            expected=limit,
        )
    room = model.room(longest)
    if room is not None and room < 1:
        raise WordorderError(
            f"Line {line} of the source has {longest} subwords with its end, which leaves the "
            "model's positional encoding no position for a translation. Shorten the sentence, or raise the size of the "
            "encoding's table in encodings.yaml and train again.",
            code="too-few-positions",
            line=line,
            found=longest,
        )
    if room is not None and longest and max_length(longest, config) >= room:
        _warn(
            f"translations are cut at {room - 1} subwords, fewer than max_length_a and max_length_b allow, because "
            f"the model's positional encoding has only {model.encoding.limit('decoder')} positions."
        )


def _warn(text: str) -> None:
    print(f"wordorder: warning: {text}", file=sys.stderr)


def check_vocabularies(model: Translator, subword: Subword, corpus: ParallelCorpus | None = None) -> None:
    """Reject a subword model or a corpus that cannot be the one of the model's training."""
    size = model.output.weight.size(0)
    if subword.size != size:
        raise WordorderError(
            f"The model was trained with a vocabulary of {size} subwords, but the subword model has {subword.size}. "
            "Give the subword model of the dataset that the model was trained on.",
            code="different-vocabularies",
        )
    if corpus is not None and corpus.vocabulary_size != size:
        raise WordorderError(
            f"The model was trained with a vocabulary of {size} subwords, but {corpus.directory} was made with "
            f"{corpus.vocabulary_size}. Binarise it with the subword model of the dataset of the model's training.",
            code="different-vocabularies",
        )


def texts(hypotheses: list[Hypothesis], subword: Subword, detokenise: Callable[[str], str]) -> list[str]:
    """Convert hypotheses to detokenised text."""
    return [detokenise(subword.decode(hypothesis.tokens)) for hypothesis in hypotheses]


def translate_files(
    *,
    config: Decoding,
    model: Path,
    subword: Path,
    corpus: Path,
    positions: Path | None = None,
    language: str,
    as_it_is: bool = False,
    output: Path,
    nbest: Path,
    threads: int | None = None,
) -> None:
    r"""Translate the source side of a binary corpus by beam search.

    Both outputs have one line per sentence, in the order of the corpus; see :func:`translate_corpus`.

    Example:
        wordorder stage translate --config SLICE --model model.pt --subword model.model --corpus binary/test \
            --language de --output test.hypotheses --nbest test.nbest.jsonl

    Args:
        config: The search.
        model: The trained model.
        subword: The sentencepiece model.
        corpus: The binary corpus.
        positions: The reordered source positions, for a model whose encoding needs them.
        language: The target language, for the detokenisation.
        as_it_is: Do not detokenise: the corpus was not tokenised.
        output: The detokenised translations to write.
        nbest: The n-best lists with scores to write, JSON lines.
        threads: The number of CPU threads; PyTorch's default if missing.
    """
    loaded = finished_model(model, threads)
    check_positions(loaded, given=positions is not None)
    translate_corpus(
        loaded,
        ParallelCorpus.open(corpus, positions=positions),
        Subword.load(subword),
        language=None if as_it_is else language,
        config=config,
        output=output,
        nbest=nbest,
    )


def translate_corpus(
    model: Translator,
    corpus: ParallelCorpus,
    subword: Subword,
    *,
    language: str | None,
    config: Decoding,
    output: str | Path,
    nbest: str | Path,
) -> None:
    """Translate the source side of a corpus and write two files with one line per sentence, in the corpus's order.

    If the model translates no sentence because its training diverged, both files have no lines, and there is no score.

    Args:
        model: The model.
        corpus: The corpus, with the reordered positions that some models need.
        subword: The subword model.
        language: The language whose Moses rules detokenise, or None if the text was not tokenised.
        config: The search.
        output: The file of the best hypotheses; an empty hypothesis gives an empty line.
        nbest: The file of JSON lines {"index": number from 0, "hypotheses": [{"text", "tokens", "score",
            "log_probability"}, best first]}.
    """
    check_vocabularies(model, subword, corpus)
    sources = [corpus.source(index) for index in range(len(corpus))]
    positions = None if corpus.positions is None else [corpus.positions[index] for index in range(len(corpus))]
    found = translate(model, sources, config, positions=positions)
    if not any(found):
        found = []
    detokenise = detokeniser(language) if language else str
    with line_writer(output) as write_best, line_writer(nbest) as write_all:
        for index, hypotheses in enumerate(found):
            lines = texts(hypotheses, subword, detokenise)
            write_best(lines[0] if lines else "")
            entries = [{"text": line, **asdict(hypothesis)} for line, hypothesis in zip(lines, hypotheses, strict=True)]
            write_all(json.dumps({"index": index, "hypotheses": entries}, ensure_ascii=False))


def translate_lines(
    model: Translator,
    lines: Iterable[str],
    subword: Subword,
    *,
    source_language: str,
    target_language: str,
    preprocessing: TextPreprocessing,
    config: Decoding,
    detokenise: bool,
) -> list[str]:
    """Translate raw text line by line, with the same preprocessing as a corpus.

    Args:
        model: The model.
        lines: The lines.
        subword: The subword model.
        source_language: The language of the lines.
        target_language: The language of the translations.
        preprocessing: The preprocessing of the model's dataset.
        config: The search.
        detokenise: Whether the translations must be detokenised.

    Returns:
        The translations; that of a line without text is empty.

    Raises:
        WordorderError: The model needs reordered positions. Raised before anything is read.
    """
    if model.encoding.config.needs_reordered:
        raise WordorderError(
            f"The model's encoding '{model.encoding.config.type}' needs the position that each source token takes in "
            "target order, and nothing finds it in raw text yet. Translate a binary corpus with 'wordorder stage "
            "translate'.",
            code="missing-positions",
        )
    check_vocabularies(model, subword)
    prepare = preprocessor(source_language, preprocessing)
    sources = [np.array(subword.encode(prepare(line)), dtype=np.int64) for line in lines]
    joined = detokeniser(target_language) if detokenise else str
    found = [""] * len(sources)
    full = [row for row, source in enumerate(sources) if len(source)]
    translated = translate(model, [sources[row] for row in full], config, lines=[row + 1 for row in full])
    for row, hypotheses in zip(full, translated, strict=True):
        found[row] = "".join(texts(hypotheses[:1], subword, joined))
    return found

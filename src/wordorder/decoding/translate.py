"""From token numbers of sources to lines of text."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from wordorder.config.models import Decoding, TextPreprocessing
from wordorder.data.binary import Integers, ParallelCorpus
from wordorder.data.clean import preprocessor
from wordorder.data.subword import Subword
from wordorder.data.text import line_writer
from wordorder.data.tokenise import detokeniser
from wordorder.decoding.beam import Hypothesis, max_length, search
from wordorder.errors import WordorderError
from wordorder.model.transformer import Transformer
from wordorder.progress import Progress
from wordorder.training.batches import pad_sources


def plan(sources: Sequence[tuple[int, ...]], config: Decoding) -> Iterator[list[tuple[int, ...]]]:
    """Batches of distinct sentences, the longest first: longest source with its end x sentences x beam is at most
    ``batch_tokens``, except that a batch has at least one sentence.

    The batches depend on which sentences there are, not on their order or number, so neither do the translations.
    """
    batch: list[tuple[int, ...]] = []
    for source in sorted(set(sources), key=lambda tokens: (-len(tokens), tokens)):
        if batch and (len(batch[0]) + 1) * (len(batch) + 1) * config.beam > config.batch_tokens:
            yield batch
            batch = []
        batch.append(source)
    if batch:
        yield batch


def translate(model: Transformer, sources: Sequence[Integers], config: Decoding) -> list[list[Hypothesis]]:
    """The n-best hypotheses of every source (token numbers without beginning and end), in the order of ``sources``.

    The same model, set of sentences and configuration give the same bits on the same machine with as many threads.
    Raises WordorderError, before any work, where a source is longer than the encoder can number.
    """
    keys = [tuple(source.tolist()) for source in sources]
    _check_lengths(model, keys, config)
    device = next(model.parameters()).device
    if config.precision == "bf16":
        model = copy.deepcopy(model).bfloat16()
    found: dict[tuple[int, ...], list[Hypothesis]] = {}
    with Progress("translate", total=len(set(keys)), unit="sentences") as progress:
        for batch in plan(keys, config):
            padded = pad_sources([np.array(source, dtype=np.int64) for source in batch])
            found.update(zip(batch, search(model, padded.to(device), config), strict=True))
            progress.advance(len(batch))
    lost = sum(not hypotheses for hypotheses in found.values())
    if lost:
        _warn(f"the model's output is not a number for {lost} sentences, which stay empty. Did its training diverge?")
    return [found[key] for key in keys]


def _check_lengths(model: Transformer, sources: Sequence[tuple[int, ...]], config: Decoding) -> None:
    lengths = [len(source) + 1 for source in sources]
    longest = max(lengths, default=0)
    limit = model.encoding.limit("encoder")
    if limit is not None and longest > limit:
        raise WordorderError(
            f"Source sentence {lengths.index(longest) + 1} has {longest} subwords with its end, but the model's "
            f"positional encoding has only {limit} positions. Shorten the sentence, or raise the size of the "
            "encoding's table in encodings.yaml and train again."
        )
    limit = model.encoding.limit("decoder")
    if limit is not None and longest and max_length(longest, config) >= limit:
        _warn(
            f"translations are cut at {limit - 1} subwords, fewer than max_length_a and max_length_b allow, because "
            f"the model's positional encoding has only {limit} positions."
        )


def _warn(text: str) -> None:
    print(f"wordorder: warning: {text}", file=sys.stderr)


def check_vocabularies(model: Transformer, subword: Subword, corpus: ParallelCorpus | None = None) -> None:
    """Refuse a subword model or a corpus that cannot be the one of the model's training."""
    size = model.output.weight.size(0)
    if subword.size != size:
        raise WordorderError(
            f"The model was trained with a vocabulary of {size} subwords, but the subword model has {subword.size}. "
            "Give the subword model of the dataset that the model was trained on."
        )
    if corpus is not None and corpus.vocabulary_size != size:
        raise WordorderError(
            f"The model was trained with a vocabulary of {size} subwords, but {corpus.directory} was made with "
            f"{corpus.vocabulary_size}. Binarise it with the subword model of the dataset of the model's training."
        )


def texts(hypotheses: list[Hypothesis], subword: Subword, detokenise: Callable[[str], str]) -> list[str]:
    """Hypotheses as people write them."""
    return [detokenise(subword.decode(hypothesis.tokens)) for hypothesis in hypotheses]


def translate_corpus(
    model: Transformer,
    corpus: ParallelCorpus,
    subword: Subword,
    *,
    language: str,
    config: Decoding,
    output: str | Path,
    nbest: str | Path,
) -> None:
    """Translate the source side of a corpus and write two files, of one line a sentence, in the corpus's order.

    output: the best hypothesis, detokenised by the Moses rules of ``language``; an empty line where it is empty.
    nbest: JSON, {"index": number from 0, "hypotheses": [{"text", "tokens", "score", "log_probability"}, best first]}.
    """
    check_vocabularies(model, subword, corpus)
    found = translate(model, [corpus.source(index) for index in range(len(corpus))], config)
    detokenise = detokeniser(language)
    with line_writer(output) as write_best, line_writer(nbest) as write_all:
        for index, hypotheses in enumerate(found):
            lines = texts(hypotheses, subword, detokenise)
            write_best(lines[0] if lines else "")
            entries = [{"text": line, **asdict(hypothesis)} for line, hypothesis in zip(lines, hypotheses, strict=True)]
            write_all(json.dumps({"index": index, "hypotheses": entries}, ensure_ascii=False))


def translate_lines(
    model: Transformer,
    lines: Iterable[str],
    subword: Subword,
    *,
    source_language: str,
    target_language: str,
    preprocessing: TextPreprocessing,
    config: Decoding,
) -> list[str]:
    """Translate raw text, which goes through the same steps as a corpus, line by line."""
    check_vocabularies(model, subword)
    prepare = preprocessor(source_language, preprocessing)
    sources = [np.array(subword.encode(prepare(line)), dtype=np.int64) for line in lines]
    detokenise = detokeniser(target_language)
    return ["".join(texts(hypotheses[:1], subword, detokenise)) for hypotheses in translate(model, sources, config)]

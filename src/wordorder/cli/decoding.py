"""``wordorder translate`` and ``wordorder stage translate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Option

from wordorder.cli import options
from wordorder.cli.app import MODEL, command, stage
from wordorder.cli.options import slice_of
from wordorder.cli.slices import datasets, models


@stage(
    "translate --config SLICE --model model.pt --subword model.model --corpus binary/test --language de \\\n"
    "      --output test.hypotheses --nbest test.nbest.jsonl",
    name="translate",
)
def translate_binary(
    *,
    config: Annotated[models.Decoding, slice_of("models.Decoding", "search")],
    model: options.Model,
    subword: options.Subword,
    corpus: options.Corpus,
    positions: options.Positions = None,
    language: Annotated[str, Option(help="target language, for the detokenisation")],
    as_it_is: options.AsItIs = False,
    output: Annotated[Path, Option(help="detokenised translations to write")],
    nbest: Annotated[Path, Option(help="n-best lists with scores to write, JSON lines")],
    threads: options.ModelThreads = None,
) -> None:
    """Translate a binary corpus.

    Translate the source side of a binary corpus by beam search. Both outputs have one line per sentence, in the order
    of the corpus.
    """
    from wordorder.data.binary import ParallelCorpus
    from wordorder.data.subword import Subword
    from wordorder.decoding.translate import check_positions, translate_corpus
    from wordorder.training.device import finished_model

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


@command(
    MODEL,
    "translate --model model.pt --subword model.model --source-language en --target-language de <text.en",
)
def translate(
    *,
    model: options.Model,
    subword: options.Subword,
    source_language: Annotated[str, Option(metavar="LANGUAGE", help="language of the text, such as 'en'")],
    target_language: Annotated[str, Option(metavar="LANGUAGE", help="language of the translation")],
    config: Annotated[models.Decoding, slice_of("models.Decoding", "search", optional=True)],
    preprocessing: Annotated[
        datasets.TextPreprocessing,
        slice_of("datasets.TextPreprocessing", "'preprocessing' of the dataset", optional=True),
    ],
    threads: options.ModelThreads = None,
) -> None:
    """Translate text from standard input to standard output.

    The lines are normalised, tokenised and split into subwords as in the training of the model. All lines are read
    before the first is translated. A model whose encoding needs reordered positions cannot be used, because nothing
    finds them in raw text.
    """
    from wordorder.data.subword import Subword
    from wordorder.data.text import decode_lines
    from wordorder.decoding.translate import translate_lines
    from wordorder.training.device import finished_model

    for line in translate_lines(
        finished_model(model, threads),
        decode_lines(sys.stdin.buffer, "standard input"),
        Subword.load(subword),
        source_language=source_language,
        target_language=target_language,
        preprocessing=preprocessing,
        config=config,
    ):
        sys.stdout.buffer.write(f"{line}\n".encode())
    sys.stdout.buffer.flush()

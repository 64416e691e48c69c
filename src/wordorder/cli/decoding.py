"""``wordorder translate`` and ``wordorder translate-text``"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordorder.cli.arguments import positive

if TYPE_CHECKING:
    from wordorder.data.subword import Subword
    from wordorder.model.architectures.base import Translator


def add_commands(subparsers: Any) -> None:
    corpus = subparsers.add_parser(
        "translate",
        help="Translate a binary corpus.",
        description="Translate the source side of a binary corpus by beam search. Both outputs have one line a "
        "sentence, in the order of the corpus.",
    )
    corpus.add_argument("--config", required=True, metavar="DECODING", help="the search, as JSON or @FILE.yaml")
    corpus.add_argument("--corpus", required=True, type=Path, metavar="DIR", help="binary corpus")
    corpus.add_argument(
        "--positions",
        type=Path,
        metavar="DIR",
        help="reordered source positions of the corpus, for a model whose encoding needs them",
    )
    corpus.add_argument("--language", required=True, help="target language, for the detokenisation")
    corpus.add_argument("--as-it-is", action="store_true", help="the corpus was not tokenised: detokenise nothing")
    corpus.add_argument("--output", required=True, type=Path, metavar="OUT", help="detokenised translations")
    corpus.add_argument("--nbest", required=True, type=Path, metavar="OUT", help="n-best lists with scores, JSON lines")
    corpus.set_defaults(run=_translate)

    text = subparsers.add_parser(
        "translate-text",
        help="Translate text by hand.",
        description="Translate the lines of standard input to standard output. They are normalised, tokenised and cut "
        "into subwords as the pipeline does it. All lines are read before the first is translated. A model whose "
        "encoding needs reordered positions cannot be used, because nothing finds them in raw text yet.",
    )
    text.add_argument("--config", default="{}", metavar="DECODING", help="the search, as JSON or @FILE.yaml")
    text.add_argument(
        "--preprocessing", default="{}", metavar="SLICE", help="what the dataset's 'preprocessing' says of text"
    )
    text.add_argument("--source-language", required=True)
    text.add_argument("--target-language", required=True)
    text.set_defaults(run=_translate_text)

    for parser in (corpus, text):
        parser.add_argument("--model", required=True, type=Path, metavar="MODEL", help="trained model")
        parser.add_argument("--subword", required=True, type=Path, metavar="MODEL", help="its sentencepiece model")
        parser.add_argument("--threads", type=positive, metavar="N", help="CPU threads (default: PyTorch's choice)")


def _translate(options: argparse.Namespace) -> None:
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Decoding
    from wordorder.data.binary import ParallelCorpus
    from wordorder.decoding.translate import check_positions, translate_corpus

    config = slice_argument(options.config, Decoding)
    model, subword = _load(options)
    check_positions(model, given=options.positions is not None)
    corpus = ParallelCorpus.open(options.corpus, positions=options.positions)
    translate_corpus(
        model,
        corpus,
        subword,
        language=None if options.as_it_is else options.language,
        config=config,
        output=options.output,
        nbest=options.nbest,
    )


def _translate_text(options: argparse.Namespace) -> None:
    from wordorder.config.datasets import TextPreprocessing
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Decoding
    from wordorder.data.text import decode_lines
    from wordorder.decoding.translate import translate_lines

    config = slice_argument(options.config, Decoding)
    preprocessing = slice_argument(options.preprocessing, TextPreprocessing)
    model, subword = _load(options)
    for line in translate_lines(
        model,
        decode_lines(sys.stdin.buffer, "standard input"),
        subword,
        source_language=options.source_language,
        target_language=options.target_language,
        preprocessing=preprocessing,
        config=config,
    ):
        sys.stdout.buffer.write(f"{line}\n".encode())
    sys.stdout.buffer.flush()


def _load(options: argparse.Namespace) -> tuple[Translator, Subword]:
    import torch

    from wordorder.data.subword import Subword
    from wordorder.model.checkpoint import load_model
    from wordorder.training import device

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    device.prepare()
    return load_model(options.model).to(device.of_finished_models()), Subword.load(options.subword)

"""The commands ``wordorder translate`` and ``wordorder export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from wordorder.cli import options
from wordorder.cli.app import MODEL, command
from wordorder.cli.options import slice_of
from wordorder.errors import WordorderError


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
    config: Annotated[Any, slice_of("decoding.Decoding", "settings of the search", optional=True)],
    preprocessing: Annotated[
        Any,
        slice_of("datasets.Preprocessing", "the dataset's 'preprocessing'", optional=True, name="--preprocessing"),
    ],
    tokenised: Annotated[
        bool, options.flag("tokenised", "the text has spaces between its tokens, as a dataset with 'tokenised: true'")
    ] = False,
    threads: options.ModelThreads = None,
) -> None:
    """Translate text from standard input to standard output.

    The lines are normalised, tokenised and split into subwords as in the training of the model; translations are
    detokenised if the preprocessing tokenises or the text is tokenised already. The command reads all lines before it
    translates the first one. Models whose encoding needs reordered positions cannot translate raw text, because these
    positions require a reorderer.
    """
    from wordorder.data.subword import Subword
    from wordorder.data.text import decode_lines
    from wordorder.decoding.translate import translate_lines
    from wordorder.training.device import finished_model

    if sys.stdin is None or sys.stdout is None:
        raise WordorderError(
            "Standard input or standard output is closed. Connect both: 'wordorder translate … <text.en >text.de'.",
            code="closed-stream",
        )
    for line in translate_lines(
        finished_model(model, threads),
        decode_lines(sys.stdin.buffer, "standard input"),
        Subword.load(subword),
        source_language=source_language,
        target_language=target_language,
        preprocessing=preprocessing.model_copy(update={"tokenise": False}) if tokenised else preprocessing,
        config=config,
        detokenise=tokenised or preprocessing.tokenise,
    ):
        sys.stdout.buffer.write(f"{line}\n".encode())
    sys.stdout.buffer.flush()


@command(MODEL, "export --ctranslate2 folder --model model.pt --subword model.model")
def export(
    *,
    ctranslate2: Annotated[Path, Option(metavar="DIR", help="folder to write for CTranslate2")],
    model: options.Model,
    subword: options.Subword,
) -> None:
    """Export a model to CTranslate2.

    Write a folder with the same weights in single precision and the vocabulary. CTranslate2 supports Transformers
    without a positional encoding, or with an encoding that only adds a vector to the embedding at each position, such
    as 'sinusoidal' and 'learned'. The command requires the extra 'export' of the package.
    """
    from wordorder.data.subword import Subword
    from wordorder.decoding.export import export_ctranslate2
    from wordorder.model.checkpoint import load_model

    export_ctranslate2(load_model(model), Subword.load(subword), ctranslate2)

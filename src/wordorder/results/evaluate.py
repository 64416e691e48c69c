"""Translate and score test sets with one model, in one process that loads the model once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordorder.config.canonical import minimal
from wordorder.config.decoding import Decoding
from wordorder.config.models import Evaluation
from wordorder.errors import WordorderError
from wordorder.files import read_json, sha256, write_json
from wordorder.locks import locked
from wordorder.metrics.scores import score_files

if TYPE_CHECKING:
    from wordorder.data.subword import Subword
    from wordorder.model.architectures.base import Translator


def evaluate(
    config: Evaluation,
    decoding: Decoding,
    *,
    model: Path,
    data: Path,
    positions: str | None = None,
    language: str,
    as_it_is: bool = False,
    threads: int | None = None,
    output: Path,
) -> None:
    r"""Translate and score test sets with one model.

    The translations are written next to ``output`` and shared with other evaluations of the same model and decoding.
    Existing translations by this model and decoding are not repeated. If several processes need them at the same time,
    one of them translates. Scores are written to the folder with the name of ``output`` without its suffix.

    Example:
        wordorder stage evaluate --config @evaluation.json --decoding '{}' --model model.pt --data results/data/demo \
            --language de --output results/models/…/test.json

    Args:
        config: The test sets and the metrics.
        decoding: The beam search.
        model: The trained model.
        data: The folder of the dataset, with ``binary/``, ``raw/``, ``positions/`` and ``subword/``.
        language: The target language, for detokenisation and for the tokenisers of metrics.
        output: The JSON file to write: for each test set the checksum of the translations and the scores.
        as_it_is: Do not detokenise: the corpus was not tokenised.
        positions: The kind of reordered positions of the test sets, such as 'predicted.btg'; None without them.
        threads: The CPU threads of the process; PyTorch's choice if missing.

    Raises:
        WordorderError: A file is missing or does not fit the model.
    """
    digest = sha256(model)

    @cache
    def load() -> tuple[Translator, Subword]:
        from wordorder.data.subword import Subword
        from wordorder.training.device import finished_model

        return finished_model(model, threads), Subword.load(data / "subword" / "model.model")

    for test in config.tests:
        hypotheses = output.parent / f"{test}.hypotheses"
        # Studies with other metrics or test sets share the translations, and their jobs may run at the same time.
        waiting = f"Waiting for {{holder}}, which translates '{test}' in {output.parent}."
        with locked(output.parent / f".{test}.lock", waiting=waiting):
            _translate(test, hypotheses, digest, load, decoding, data, None if as_it_is else language, positions)
    score_translations(config, model=digest, data=data, language=language, output=output)


def score_translations(config: Evaluation, *, model: str | None, data: Path, language: str, output: Path) -> None:
    """Score the translations next to an evaluation, and write the evaluation.

    Args:
        config: The test sets and the metrics.
        model: The SHA-256 of the model that translated; None if the model is not known.
        data: The folder of the dataset, with ``raw/``.
        language: The target language.
        output: The JSON file to write, as by :func:`evaluate`.

    Raises:
        WordorderError: A file is missing or damaged.
    """
    found = {}
    for test in config.tests:
        scores = score_files(
            output.parent / f"{test}.hypotheses", data / "raw" / f"{test}.target", config.metrics, language
        )
        write_json(output.with_suffix("") / f"{test}.scores.json", scores)
        found[test] = {
            "hypotheses": scores["hypotheses"]["sha256"],
            "metrics": {name: metric["score"] for name, metric in scores["metrics"].items()},
        }
    write_json(output, {"model": model, "tests": found})


def _translate(
    test: str,
    hypotheses: Path,
    model_digest: str,
    load: Callable[[], tuple[Translator, Subword]],
    decoding: Decoding,
    data: Path,
    language: str | None,
    positions: str | None,
) -> None:
    """Translate a test set unless the translations that are there came from the same model, corpus and decoding."""
    from wordorder.data.binary import ParallelCorpus
    from wordorder.decoding.translate import check_positions, translate_corpus

    folder = data / "positions" / positions / test if positions else None
    corpus = ParallelCorpus.open(data / "binary" / test, positions=folder)
    made_from = {
        "model": model_digest,
        "corpus": corpus.digest,
        "positions": None if corpus.positions is None else corpus.positions.sha256,
        "language": language,
        "decoding": minimal(decoding),
    }
    nbest, stamp = hypotheses.with_suffix(".nbest.jsonl"), hypotheses.with_suffix(".translation.json")
    if _is_intact(stamp, made_from, hypotheses, nbest):
        return
    model, subword = load()
    check_positions(model, given=positions is not None)
    stamp.unlink(missing_ok=True)
    translate_corpus(model, corpus, subword, language=language, config=decoding, output=hypotheses, nbest=nbest)
    write_json(stamp, {"made_from": made_from, "hypotheses": sha256(hypotheses), "nbest": sha256(nbest)})


def _is_intact(stamp: Path, made_from: dict[str, Any], hypotheses: Path, nbest: Path) -> bool:
    """Return whether the translations are what their stamp says; older stamps do not name the decoding."""
    if not (stamp.is_file() and hypotheses.is_file() and nbest.is_file()):
        return False
    try:
        known, digests = read_json(stamp), {"hypotheses": sha256(hypotheses), "nbest": sha256(nbest)}
        older = {name: value for name, value in made_from.items() if name != "decoding"}
        return any(known == {"made_from": each, **digests} for each in (made_from, older))
    except WordorderError:  # damaged: it is made again
        return False

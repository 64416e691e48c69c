"""Automatic metrics: sacreBLEU's own classes (Post 2018), with signatures, on detokenised text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sacrebleu.metrics.base import Metric, Score
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from wordorder.data.text import read_lines
from wordorder.errors import WordorderError
from wordorder.files import sha256
from wordorder.metrics.legacy import LegacyBLEU

# Languages written without spaces: without these options TER would count a sentence as one word.
_UNSPACED = ("zh", "ja")

LABELS = {
    "bleu": "BLEU",
    "bleu_legacy": "BLEU (tokenised, compounds split)",
    "chrf": "chrF",
    "chrf++": "chrF++",
    "ter": "TER",
    "comet": "COMET",
}
LOWER_IS_BETTER = ("ter",)
LEGACY = ("bleu_legacy",)


def digits(metric: str) -> int:
    """With how many decimals a metric is printed: COMET is about 0 to 1, as comet-score prints it."""
    return 4 if metric == "comet" else 2


def build_metric(name: str, target_language: str, *, sentence: bool = False) -> Metric:
    """The metric called ``name``, one of sacreBLEU's or "bleu_legacy", for text in ``target_language`` (e.g. "de").

    BLEU tokenises with 13a, or with what sacreBLEU prescribes for Chinese, Japanese and Korean. ``sentence`` is for
    scores of single sentences, where BLEU leaves out the n-gram orders that a short sentence does not have.
    """
    language = target_language.replace("_", "-").split("-")[0].lower()
    makers: dict[str, Callable[[], Metric]] = {
        "bleu": lambda: BLEU(trg_lang=language, effective_order=sentence),
        "bleu_legacy": lambda: LegacyBLEU(language, sentence=sentence),
        "chrf": lambda: CHRF(char_order=6, word_order=0),
        "chrf++": lambda: CHRF(char_order=6, word_order=2),
        "ter": lambda: TER(normalized=language in _UNSPACED, asian_support=language in _UNSPACED),
    }
    if name not in makers:
        raise WordorderError(f"'{name}' is not a metric; the metrics are {', '.join(makers)}.")
    try:
        return makers[name]()
    except (RuntimeError, ImportError) as error:
        raise WordorderError(
            f"The tokeniser that sacreBLEU prescribes for the target language '{language}' is not installed. "
            f"Install it with: pip install 'sacrebleu[{language}]'."
        ) from error


def score(
    hypotheses: Sequence[str], references: Sequence[str], metrics: Sequence[str], target_language: str
) -> dict[str, Any]:
    """Score a corpus: ``{metric: {score, signature, details, segment_signature, segment_scores}}``.

    ``hypotheses`` and ``references`` are detokenised and have the same length. Scores are between 0 and 100 (TER may
    exceed 100). No hypotheses at all for a test set that has references means that there was no model to translate
    with (its training diverged): the scores are then None.
    """
    if not references:
        raise WordorderError("There are no references, so there is nothing to score against.")
    if hypotheses and len(hypotheses) != len(references):
        raise WordorderError(
            f"There are {len(hypotheses)} hypotheses for {len(references)} references; "
            "each reference needs one hypothesis, on the same line."
        )
    return {name: _score_one(hypotheses, references, name, target_language) for name in metrics}


def _score_one(hypotheses: Sequence[str], references: Sequence[str], name: str, language: str) -> dict[str, Any]:
    corpus, sentence = build_metric(name, language), build_metric(name, language, sentence=True)
    if not hypotheses:
        return {
            "score": None,
            "signature": None,
            "details": {},
            "segment_signature": None,
            "segment_scores": [],
        }
    result = corpus.corpus_score(hypotheses, [references])
    segments = [sentence.sentence_score(*pair) for pair in zip(hypotheses, ([r] for r in references), strict=True)]
    return {
        "score": result.score,
        "signature": str(corpus.get_signature()),
        "details": _details(result),
        "segment_signature": str(sentence.get_signature()),
        "segment_scores": [segment.score for segment in segments],
    }


def _details(result: Score) -> dict[str, Any]:
    names = ("precisions", "bp", "sys_len", "ref_len", "counts", "totals", "num_edits", "ref_length")
    return {name: getattr(result, name) for name in names if hasattr(result, name)}


def read_pair(hypotheses: str | Path, references: str | Path) -> tuple[list[str], list[str]]:
    """Both files as lists of lines; refused when their numbers of lines differ, unless there are no hypotheses."""
    lines, wanted = list(read_lines(hypotheses)), list(read_lines(references))
    if not wanted:
        raise WordorderError(f"{references} has no lines, so there is nothing to score {hypotheses} against.")
    if lines and len(lines) != len(wanted):
        raise WordorderError(
            f"{hypotheses} has {len(lines)} lines but its references {references} have {len(wanted)}. "
            "Line i of one must be the translation of line i of the other: translate the test set again."
        )
    return lines, wanted


def score_files(
    hypotheses: str | Path, references: str | Path, metrics: Sequence[str], target_language: str
) -> dict[str, Any]:
    """Score one file against another and note what was scored, as :func:`score` does for lists."""
    lines, wanted = read_pair(hypotheses, references)
    return {
        "status": "scored" if lines else "no hypotheses",
        "target_language": target_language,
        "hypotheses": {"lines": len(lines), "sha256": sha256(hypotheses)},
        "references": {"lines": len(wanted), "sha256": sha256(references)},
        "metrics": score(lines, wanted, metrics, target_language),
    }

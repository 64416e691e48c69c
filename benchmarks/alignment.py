"""Measure alignment error rate and CPU time of the embedded aligner and of others, on gold alignments.

    WORDORDER_MIRROR=DIR python benchmarks/alignment.py [--sets NAME…] [--peers eflomal] [--runs 3] [--output JSON]

Every aligner gets the same lowercased text: the sentences that have gold alignments, followed by the training text of
the set, all in one run. A peer that draws at random runs several times; the script reports each run and the mean. CPU
time is that of the process and its children, from text to the links of both directions. Compilation, which happens once
per machine, is done before. The best symmetrisation of each aligner is marked.

The settings of the embedded aligner were chosen on 'ro-en' and 'zh-en', and the threshold of its links also with a look
at 'ja-en' and 'de-en'. Nothing was chosen on 'en-fr'.

  de-en  europarl100, trained on europarl20k
  ja-en  kftt, trained on kftt30k
  en-fr  hansards, trained on Tatoeba: short sentences of another domain
  ro-en  wpt03, trained on RO-STS and Tatoeba, without diacritics, like the gold text
  zh-en  tsinghua, trained on 3AM and Tatoeba, split by longest match into words of the gold text and single characters
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, get_args

import numpy as np
from tabulate import tabulate

from wordorder.alignment.error_rate import error_rate
from wordorder.alignment.external import align
from wordorder.alignment.hmm import train
from wordorder.alignment.links import GoldLinks, Links, read_gold
from wordorder.alignment.symmetrise import symmetrise
from wordorder.config.reordering import HMM, ExternalAligner, Symmetrisation
from wordorder.data.text import decode_lines, read_pairs
from wordorder.data.tokenise import tokeniser
from wordorder.data.units import Vocabulary
from wordorder.data.units import words as spaced
from wordorder.errors import WordorderError
from wordorder.files import open_bytes, write_json
from wordorder.training.record import environment

Text = list[list[str]]
Pairs = list[tuple[list[str], list[str]]]
OURS = "wordorder"
LONGEST = 100  # words of a training sentence


@dataclass
class GoldSet:
    """Sentence pairs, the first ``len(gold.sure)`` of which have gold links."""

    pairs: Pairs
    gold: GoldLinks

    @property
    def sides(self) -> tuple[Text, Text]:
        return [source for source, _ in self.pairs], [target for _, target in self.pairs]


# ------------------------------------------------------------------------------------------------------------ the text


def words(line: str) -> list[str]:
    return spaced(line.lower())


def tokenised(language: str) -> Callable[[str], list[str]]:
    tokenise = tokeniser(language)
    return lambda line: words(tokenise(line))


def without_diacritics(line: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", line) if not unicodedata.combining(c))


def longest_matches(line: str, known: set[str]) -> list[str]:
    """Split unspaced text into known words.

    From left to right, each piece is the longest known word, a run of ASCII letters or digits, or one character.
    """
    line, found = "".join(line.split()).lower(), []
    longest = max(map(len, known), default=1)
    while line:
        size = 1
        if line[0].isascii() and line[0].isalnum():
            size = next((k for k, c in enumerate(line) if not (c.isascii() and c.isalnum())), len(line))
        else:
            size = next((n for n in range(min(longest, len(line)), 1, -1) if line[:n] in known), 1)
        found.append(line[:size])
        line = line[size:]
    return found


def joint(path: Path) -> Pairs:
    """Read the pairs of a file whose lines are 'source ||| target', whose gold links count the words between spaces."""
    with open_bytes(path) as file:
        sides = [line.split("|||") for line in decode_lines(file, path, control_as="\ufffd")]
    return [(words(source), words(target)) for source, target in sides]


def columns(path: Path) -> list[tuple[str, str]]:
    """Read the first two columns of a table. (``read_lines`` would turn its tabs into spaces.)"""
    with open_bytes(path) as file:
        rows = [line.decode().rstrip("\n").split("\t") for line in file]
    return [(row[0], row[1]) for row in rows if len(row) > 1]


def raw(folder: Path, source: str, target: str) -> list[tuple[str, str]]:
    return [*read_pairs(folder / f"train.{source}.gz", folder / f"train.{target}.gz")]


def german(mirror: Path) -> tuple[Pairs, Pairs, Path, int]:
    folder = mirror / "gold-alignments/europarl100-de-en"
    test = [(words(s), words(t)) for s, t in read_pairs(folder / "test.de.gz", folder / "test.en.gz")]
    de, en = tokenised("de"), tokenised("en")
    return test, [(de(s), en(t)) for s, t in raw(mirror / "europarl20k-de-en", "de", "en")], folder / "de-en.wa.gz", 0


def japanese(mirror: Path) -> tuple[Pairs, Pairs, Path, int]:
    folder = mirror / "gold-alignments/kftt-ja-en"
    text = [(words(s), words(t)) for s, t in raw(mirror / "kftt30k-ja-en", "ja", "en")]
    return joint(folder / "test.src-tgt.gz"), text, folder / "test.gold.gz", 1


def french(mirror: Path) -> tuple[Pairs, Pairs, Path, int]:
    folder = mirror / "gold-alignments/hansards-en-fr"
    en, fr = tokenised("en"), tokenised("fr")
    text = [(en(s), fr(t)) for s, t in columns(mirror / "tatoeba/fra-eng.tsv.gz")]
    return joint(folder / "test.src-tgt.gz"), text, folder / "test.gold.gz", 1


def romanian(mirror: Path) -> tuple[Pairs, Pairs, Path, int]:
    folder = mirror / "gold-alignments/wpt03-ro-en"
    ro, en = tokenised("ro"), tokenised("en")
    lines = raw(mirror / "ro-sts-en-ro", "ro", "en") + [(s, t) for t, s in columns(mirror / "tatoeba/ron-eng.tsv.gz")]
    text = [(ro(without_diacritics(s)), en(t)) for s, t in lines]
    return joint(folder / "test.src-tgt.gz"), text, folder / "test.gold.gz", 1


def chinese(mirror: Path) -> tuple[Pairs, Pairs, Path, int]:
    folder = mirror / "gold-alignments/tsinghua-zh-en"
    test, en = joint(folder / "test.src-tgt.gz"), tokenised("en")
    known = {word for source, _ in test for word in source}
    lines = raw(mirror / "3am-zh-en", "zh", "en") + [(s, t) for t, s in columns(mirror / "tatoeba/cmn-eng.tsv.gz")]
    return test, [(longest_matches(s, known), en(t)) for s, t in lines], folder / "test.gold.gz", 1


SETS = {"de-en": german, "ja-en": japanese, "en-fr": french, "ro-en": romanian, "zh-en": chinese}


def load(name: str, mirror: Path) -> GoldSet:
    test, text, gold, first = SETS[name](mirror)
    links = read_gold(
        gold,
        first=first,
        source_lengths=[len(source) for source, _ in test],
        target_lengths=[len(target) for _, target in test],
        drop_outside=True,
    )
    kept = [pair for pair in text if all(0 < len(side) <= LONGEST for side in pair)]
    return GoldSet([*test, *kept], links)


# -------------------------------------------------------------------------------------------------------- the aligners


def embedded(source: Text, target: Text, threads: int) -> tuple[Links, Links]:
    vocabularies = Vocabulary.build(source), Vocabulary.build(target)
    sides = vocabularies[0].numbers(source), vocabularies[1].numbers(target)
    return train(*sides, HMM(), threads=threads).directions(*sides, threads=threads)


def cpu_seconds() -> float:
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usage)


def run(name: str, data: GoldSet, threads: int) -> tuple[tuple[Links, Links], float]:
    """Return the links of both directions for the gold sentences, and the CPU seconds for all sentences."""
    source, target = data.sides
    before = cpu_seconds()
    if name == OURS:
        forward, backward = embedded(source, target, threads)
    else:
        forward, backward = align(source, target, ExternalAligner.model_validate({"type": name}))
    seconds = cpu_seconds() - before
    sentences = range(len(data.gold.sure))
    return (part(forward, sentences), part(backward, sentences)), seconds


# -------------------------------------------------------------------------------------------------------- the measures


def part(links: Links, sentences: Sequence[int]) -> Links:
    return Links.of([(i, j) for i, j in links[index].tolist()] for index in sentences)


def rates(directions: tuple[Links, Links], gold: GoldLinks) -> dict[str, dict[str, float]]:
    """Return the error rate, precision and recall of each symmetrisation."""
    found = {how: error_rate(symmetrise(*directions, how), gold) for how in get_args(Symmetrisation)}
    return {how: {"aer": rate.aer, "precision": rate.precision, "recall": rate.recall} for how, rate in found.items()}


def measure(name: str, mirror: Path, peers: Sequence[str], runs: int, threads: int) -> dict[str, Any]:
    data = load(name, mirror)
    lengths = [np.mean([len(pair[side]) for pair in data.pairs]).round(2) for side in (0, 1)]
    record: dict[str, Any] = {
        "pairs": len(data.pairs),
        "mean_lengths": lengths,
        "gold_pairs": len(data.gold.sure),
        "dropped_gold_links": data.gold.dropped,
        "aligners": {},
    }
    for aligner in (OURS, *peers):
        turns = []
        for _ in range(1 if aligner == OURS else runs):
            directions, seconds = run(aligner, data, threads)
            turns.append({"cpu_seconds": round(seconds, 2), "symmetrisations": rates(directions, data.gold)})
        record["aligners"][aligner] = turns
    return record


def table(results: dict[str, Any]) -> str:
    rows = []
    for name, record in results.items():
        for aligner, turns in record["aligners"].items():
            means = {
                how: mean(turn["symmetrisations"][how]["aer"] for turn in turns) for how in get_args(Symmetrisation)
            }
            best = min(means.values())
            cells = [f"{100 * aer:.1f}{' *' if aer == best else ''}" for aer in means.values()]
            rows.append([name, aligner, len(turns), *cells, f"{mean(turn['cpu_seconds'] for turn in turns):.1f}"])
    heads = ["set", "aligner", "runs", *get_args(Symmetrisation), "CPU s"]
    return tabulate(rows, headers=heads, disable_numparse=True) + "\n\nAlignment error rates in percent."


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=[*SETS])
    parser.add_argument("--peers", nargs="*", choices=["eflomal", "fast_align", "mgiza"], default=["eflomal"])
    parser.add_argument("--runs", type=int, default=3, help="runs of each peer (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="threads of the embedded aligner (default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="JSON", help="the record to write")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    if not os.environ.get("WORDORDER_MIRROR"):
        raise WordorderError("Set WORDORDER_MIRROR to a folder with the corpora and their gold alignments.")
    mirror = Path(os.environ["WORDORDER_MIRROR"])
    embedded([["a"]], [["b"]], 1)  # compiles
    results = {}
    for name in options.sets:
        results[name] = measure(name, mirror, options.peers, options.runs, options.threads)
        print(table({name: results[name]}), flush=True)
    print(table(results))
    if options.output:
        settings = {"threads": options.threads, "aligner": HMM().model_dump()}
        write_json(options.output, {**environment(), "settings": settings, "sets": results})


if __name__ == "__main__":
    try:
        main()
    except WordorderError as error:
        sys.exit(f"error: {error}")

"""Measure the reordering parser: quality on held-out text, speed by length, training, and the cost of large corpora.

    WORDORDER_MIRROR=DIR python benchmarks/reordering.py [--output PREFIX]
    python benchmarks/reordering.py --text SOURCE TARGET [--links FILE] [--links-of-held-out FILE]

The first form reads small_parallel_enja (both directions) and Multi30k (English-German) from the mirror, tokenised and
lowercased. The parser is trained on the first --train lines. The loss, if several are named, and the inversion penalty
are chosen on the --development lines before the last --held-out ones, which are scored once. Links are those of the
embedded aligner, trained on the whole text, unless a file contains them ("0-1 2-0", one line per pair). The script uses
one thread and reports CPU time.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from tabulate import tabulate

from wordorder.alignment.hmm import train as train_aligner
from wordorder.alignment.links import Links, read_links
from wordorder.config.reordering import HMM
from wordorder.config.reordering import Parser as Settings
from wordorder.data.normalise import normaliser
from wordorder.data.ragged import Ragged
from wordorder.data.text import read_lines
from wordorder.data.tokenise import tokeniser
from wordorder.data.units import Vocabulary
from wordorder.errors import WordorderError
from wordorder.files import write_json
from wordorder.reordering.classes import exchange_classes
from wordorder.reordering.metrics import OrderScores, identity_orders, score_orders
from wordorder.reordering.parser import Parser
from wordorder.reordering.ranks import corpus_ranks
from wordorder.reordering.train import train
from wordorder.training.record import environment

PENALTIES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
SAMPLES = 2000  # of the bootstrap
SCORES = ("tau", "fuzzy", "complete")
LARGE = {"4.5M": 4_500_000, "20M": 20_000_000}
ALWAYS = 10**9


@dataclass
class Pair:
    """One direction of a parallel text: source sentences, links for training, and links for scoring."""

    name: str
    source: list[list[str]]
    links: Links
    held_out_links: Links


# ------------------------------------------------------------------------------------------------------------- text


def mirror_texts() -> Iterator[tuple[str, list[list[str]], list[list[str]]]]:
    """Yield name, source and target of the texts of the mirror."""
    mirror = os.environ.get("WORDORDER_MIRROR")
    if not mirror:
        raise WordorderError("Set WORDORDER_MIRROR to the folder that holds the corpora, or name files with --text.")
    for folder, languages, parts in (
        ("small_parallel_enja", ("en", "ja"), ("train", "dev", "test")),
        ("multi30k", ("en", "de"), ("train", "val", "test_2016_flickr")),
    ):
        sides = []
        for language in languages:
            text: list[list[str]] = []
            clean, split = normaliser(language, punctuation=True), tokeniser(language)
            for part in parts:
                for line in read_lines(Path(mirror) / folder / f"{part}.{language}.gz"):
                    # The Japanese pair is distributed tokenised.
                    words = line if folder == "small_parallel_enja" else split(clean(line))
                    text.append(words.lower().split())
            sides.append(text)
        yield "-".join(languages), sides[0], sides[1]


def turned(links: Links) -> Links:
    return Links.of([(j, i) for i, j in pair.tolist()] for pair in links)


def pairs(options: argparse.Namespace) -> Iterator[Pair]:
    if options.text:
        sides = [[line.split() for line in read_lines(path)] for path in options.text]
        texts = iter([("text", *sides)])
    else:
        texts = mirror_texts()
    for name, source, target in texts:
        if len(source) != len(target):
            raise WordorderError(f"The two sides of '{name}' have {len(source)} and {len(target)} lines.")
        if len(source) < options.train + options.development + options.held_out:
            raise WordorderError(
                f"'{name}' has {len(source)} lines, but --train, --development and --held-out ask for more."
            )
        links = read_links(options.links) if options.links else aligned(source, target)
        judged = read_links(options.links_of_held_out) if options.links_of_held_out else links
        yield Pair(name, source, links, judged)
        if name == "en-ja":
            yield Pair("ja-en", target, turned(links), turned(judged))


def aligned(source: list[list[str]], target: list[list[str]]) -> Links:
    numbers = [Vocabulary.build(side).numbers(side) for side in (source, target)]
    return train_aligner(*numbers, HMM()).align(*numbers, symmetrisation="intersection")


def part(rows: Ragged, first: int, last: int) -> Ragged:
    offsets = rows.offsets[first : last + 1]
    return Ragged(rows.values[offsets[0] : offsets[-1]], offsets - offsets[0])


# ---------------------------------------------------------------------------------------------------------- quality


def cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def bootstrap(system: OrderScores, baseline: OrderScores) -> dict[str, dict[str, Any]]:
    """Return means, 95 % intervals, and the interval of the difference on the same resampled sentences."""
    random = np.random.default_rng(1)
    count = len(system.tau)
    draws = random.integers(0, count, (SAMPLES, count))
    found = {}
    for name in SCORES:
        own, other = getattr(system, name), getattr(baseline, name)
        means = own[draws].mean(axis=1), other[draws].mean(axis=1)
        found[name] = {
            "mean": float(own.mean()),
            "interval": np.quantile(means[0], [0.025, 0.975]).tolist(),
            "identity": float(other.mean()),
            "difference": float(own.mean() - other.mean()),
            "difference_interval": np.quantile(means[0] - means[1], [0.025, 0.975]).tolist(),
        }
    return found


def quality(pair: Pair, options: argparse.Namespace) -> tuple[dict[str, Any], Parser, Ragged]:
    """Train the parser, choose the penalty on development text, and score the held-out text."""
    vocabulary = Vocabulary.build(pair.source[: options.train])
    numbers = vocabulary.numbers(pair.source)
    ranks, ranked = corpus_ranks(pair.links, numbers.lengths)
    judged, judgeable = corpus_ranks(pair.held_out_links, numbers.lengths)
    text = part(numbers, 0, options.train)
    settings = Settings(iterations=options.iterations)
    # Compile before the measurement.
    few = part(numbers, 0, 20)
    train(few, np.zeros(vocabulary.size, np.int32), part(ranks, 0, 20), ranked[:20], Settings(iterations=1), bits=10)
    exchange_classes([few], vocabulary.size, 3)

    classes, class_seconds = cpu(lambda: exchange_classes([text], vocabulary.size, settings.classes))
    end = len(numbers) - options.held_out
    begin = end - options.development
    training = part(ranks, 0, options.train), ranked[: options.train]

    def scores(penalty: float, first: int, last: int) -> OrderScores:
        parser = Parser(
            vocabulary, classes, trained.weights, settings.model_copy(update={"inversion_penalty": penalty})
        )
        orders = parser.orders(part(numbers, first, last))
        return score_orders(orders, part(judged, first, last), judgeable[first:last])

    losses: dict[str, dict[str, Any]] = {}
    models = {}
    for loss in options.losses:
        settings = settings.model_copy(update={"loss": loss})
        trained, seconds = cpu(lambda settings=settings: train(text, classes, *training, settings))
        models[loss] = trained, settings
        losses[loss] = {"training_cpu_seconds": seconds, "development": scores(0.0, begin, end).means()}
    chosen = max(options.losses, key=lambda loss: sum(losses[loss]["development"].values()))
    trained, settings = models[chosen]
    development = {penalty: scores(penalty, begin, end).means() for penalty in PENALTIES}
    best = max(PENALTIES, key=lambda penalty: (sum(development[penalty].values()), -penalty))
    held_out = part(numbers, end, len(numbers))
    identity = score_orders(
        identity_orders(held_out.offsets), part(judged, end, len(numbers)), judgeable[end : len(numbers)]
    )
    without = bootstrap(scores(0.0, end, len(numbers)), identity)
    row = {
        "pair": pair.name,
        "held_out_sentences": int(judgeable[end:].sum()),
        "trained_on": trained.sentences,
        "left_out": {"without_ranks": trained.without_ranks, "without_tree": trained.without_tree},
        "words": float(held_out.lengths.mean()),
        "classes_cpu_seconds": class_seconds,
        "training_cpu_seconds": losses[chosen]["training_cpu_seconds"],
        "losses": losses,
        "loss": chosen,
        "development": {str(penalty): means for penalty, means in development.items()},
        "penalty": best,
        "scores": without,
        "scores_with_penalty": bootstrap(scores(best, end, len(numbers)), identity),
    }
    return row, Parser(vocabulary, classes, trained.weights, settings), held_out


# ------------------------------------------------------------------------------------------------------------ speed


def speed(parser: Parser, held_out: Ragged, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure sentences per second by length, for single sentences and for concatenations of several."""
    rows = []
    for together in options.together:
        text = Ragged(held_out.values, np.append(held_out.offsets[:-1:together], held_out.offsets[-1]))
        text = part(text, 0, min(len(text), max(20, options.sentences // together)))
        searches = {"exact": {"exact": ALWAYS}, **{f"beam {k}": {"exact": 0, "beam": k} for k in options.beams}}
        found: dict[str, list[float]] = {name: [] for name in searches}
        orders = {}
        for _ in range(options.rounds):
            for name, settings in searches.items():
                own = Parser(
                    parser.vocabulary, parser.classes, parser.weights, parser.settings.model_copy(update=settings)
                )
                orders[name], seconds = cpu(lambda own=own, text=text: own.orders(text))
                found[name].append(len(text) / seconds)
        for name in searches:
            same = np.mean([np.array_equal(a, b) for a, b in zip(orders[name], orders["exact"], strict=True)])
            rows.append(
                {"words": float(text.lengths.mean()), "sentences": len(text), "search": name,
                 "sentences_per_second": median(found[name]), "rounds": found[name], "same_order_as_exact": float(same)}
            )  # fmt: skip
    return rows


def large(parser: Parser, held_out: Ragged, sentences: int) -> dict[str, Any]:
    """Parse at least this many sentences, and extrapolate to larger corpora of the same sentence length."""
    copies = -(-sentences // len(held_out))
    offsets = np.concatenate([[0], np.cumsum(np.tile(held_out.lengths, copies))]).astype(np.int64)
    text = Ragged(np.tile(held_out.values, copies), offsets)
    orders, seconds = cpu(lambda: parser.orders(text))
    first = orders.values[: len(held_out.values)]
    assert np.array_equal(orders.values, np.tile(first, copies))
    rate = len(text) / seconds
    return {
        "sentences": len(text),
        "words": float(held_out.lengths.mean()),
        "cpu_seconds": seconds,
        "sentences_per_second": rate,
        "hours": {
            name: {"1 core": count / rate / 3600, "64 shards": count / rate / 3600 / 64}
            for name, count in LARGE.items()
        },
    }


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


# ------------------------------------------------------------------------------------------------------------ report


def report(results: dict[str, Any]) -> str:
    def with_interval(score: dict[str, Any]) -> str:
        return f"{score['mean']:.3f} [{score['interval'][0]:.3f}, {score['interval'][1]:.3f}]"

    rows = []
    for row in results["quality"]:
        rows.append([row["pair"], "identity", *(f"{row['scores'][name]['identity']:.3f}" for name in SCORES)])
        for title, key in (("parser", "scores"), (f"penalty {row['penalty']:g}", "scores_with_penalty")):
            rows.append([row["pair"], title, *(with_interval(row[key][name]) for name in SCORES)])
            low_high = (row[key][name]["difference_interval"] for name in SCORES)
            rows.append(["", "  minus identity", *(f"[{low:+.3f}, {high:+.3f}]" for low, high in low_high)])
    lines = [tabulate(rows, ["pair", "order", "tau", "fuzzy", "complete"], tablefmt="github"), ""]
    columns = ["pair", "words", "search", "sentences/s", "same order as exact"]
    lines.append(
        tabulate(
            [
                [row["pair"], f"{row['words']:.1f}", row["search"], f"{row['sentences_per_second']:,.0f}",
                 f"{row['same_order_as_exact']:.1%}"]
                for row in results["speed"]
            ],
            columns, tablefmt="github",
        )
    )  # fmt: skip
    lines.append("")
    for row in results["quality"]:
        lines.append(
            f"{row['pair']}: classes {row['classes_cpu_seconds']:.1f}, training {row['training_cpu_seconds']:.1f} CPU s"
        )
    for row in results["large"]:
        hours = "; ".join(
            f"{name}: {time['1 core']:.2f} h on a core, {3600 * time['64 shards']:.0f} s in 64 shards"
            for name, time in row["hours"].items()
        )
        lines.append(
            f"{row['pair']}: {row['sentences']:,} sentences of {row['words']:.1f} words at "
            f"{row['sentences_per_second']:,.0f} per second. {hours}"
        )
    lines.append(f"peak memory {results['peak_bytes'] / 2**20:,.0f} MiB")
    return "\n".join(lines)


def parse_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", nargs=2, type=Path, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--links", type=Path, help="links of all lines of --text")
    parser.add_argument("--links-of-held-out", type=Path, help="links of all lines for scoring, if different")
    parser.add_argument("--train", type=int, default=20_000)
    parser.add_argument("--development", type=int, default=4_000)
    parser.add_argument("--held-out", type=int, default=2_000)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument(
        "--losses",
        nargs="+",
        choices=("tau", "chunks"),
        default=["tau"],
        help="losses to try on development text",
    )
    parser.add_argument("--together", type=int, nargs="*", default=[1, 2, 4, 8, 16], help="sentences to concatenate")
    parser.add_argument("--beams", type=int, nargs="*", default=[5, 20])
    parser.add_argument("--sentences", type=int, default=2_000, help="sentences timed per round, divided by --together")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", type=int, default=1_000_000, help="sentences of the long run (default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="PREFIX", help="write PREFIX.json")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> dict[str, Any]:
    results: dict[str, Any] = {"quality": [], "speed": [], "large": []}
    for pair in pairs(options):
        row, parser, held_out = quality(pair, options)
        results["quality"].append(row)
        results["speed"] += [{"pair": pair.name, **found} for found in speed(parser, held_out, options)]
        if options.large:
            results["large"].append({"pair": pair.name, **large(parser, held_out, options.large)})
    results["peak_bytes"] = peak_bytes()
    print(report(results))
    if options.output:
        settings = {key: str(value) if isinstance(value, Path) else value for key, value in vars(options).items()}
        settings.pop("output")
        settings["text"] = [path.name for path in options.text] if options.text else None
        write_json(
            options.output.with_name(f"{options.output.name}.json"),
            {"options": settings, "results": results, "environment": environment()},
        )
    return results


if __name__ == "__main__":
    try:
        run(parse_options())
    except WordorderError as error:
        sys.exit(f"{error}")

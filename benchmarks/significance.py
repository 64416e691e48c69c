"""Time the paired tests of a test set of realistic size: 8 systems, 3,003 sentences, 1,000 resamples.

    python benchmarks/significance.py [--systems 8] [--sentences 3003] [--samples 1000] [--metrics bleu chrf++]

The text is generated, with words of a Zipf distribution and sentences as long as those of newstest2014; the times do
not depend on its meaning. Each system replaces a share of the reference's words.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from wordorder.comparison.paired import KINDS, Extraction, paired_tests
from wordorder.metrics.base import TextMetric, build
from wordorder.statistics.resampling import resamples, segment_tests
from wordorder.statistics.stratified import stratified_randomisation


def made_up(sentences: int, random: np.random.Generator) -> list[list[str]]:
    """Generate sentences of 26 words on average from a vocabulary of 20,000."""
    words = np.array(["".join(random.choice(list("abcdefghijklmnop"), size=3 + n % 8)) for n in range(20_000)])
    lengths = random.gamma(3.5, 26 / 3.5, size=sentences).astype(int) + 1
    return [list(words[np.minimum(random.zipf(1.3, size=length), len(words)) - 1]) for length in lengths]


def translated(references: list[list[str]], rate: float, random: np.random.Generator) -> list[str]:
    pool = [word for line in references[:200] for word in line]
    return [" ".join(w if random.random() > rate else random.choice(pool) for w in line) for line in references]


def timed(what: str, run: Callable[[], object]) -> None:
    begin = time.perf_counter()
    run()
    print(f"{what:<62}{time.perf_counter() - begin:8.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=8)
    parser.add_argument("--sentences", type=int, default=3003)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--metrics", nargs="+", default=["bleu", "chrf++"])
    options = parser.parse_args()
    random = np.random.default_rng(1)
    text = made_up(options.sentences, random)
    references = [" ".join(line) for line in text]
    baseline, *rest = (translated(text, 0.35 - 0.01 * n, random) for n in range(options.systems))
    systems = {f"system {n}": lines for n, lines in enumerate(rest, start=1)}
    print(f"{options.systems} systems, {options.sentences} sentences, {options.samples} resamples")

    weights = resamples(options.sentences, options.samples, 12345)
    for metric in options.metrics:
        built = build(metric, "de")
        assert isinstance(built, TextMetric)
        extraction = Extraction(references, [built])
        count = [extraction.statistics(metric, lines) for lines in (baseline, *rest)]
        label = f"{metric}: statistics of every system"
        fresh = Extraction(references, [built])
        timed(label, lambda fresh=fresh, m=metric: [fresh.statistics(m, lines) for lines in (baseline, *rest)])
        for kind in KINDS:
            test = {"kind": kind, "samples": options.samples, "seed": 12345}
            timed(
                f"{metric}: sacreBLEU's {kind} of {len(systems)} systems",
                lambda of=extraction, test=test: paired_tests(of, baseline, systems, **test),
            )
        seeds = [np.stack([of] * 5) for of in count[:2]]
        measure = extraction.measure(metric)
        timed(
            f"{metric}: stratified randomisation of 2 systems, 5 seeds",
            lambda s=seeds, m=measure: stratified_randomisation(*s, m, samples=options.samples, seed=1),
        )
        forty = [count[n % len(count)] for n in range(40)]
        timed(
            f"{metric}: 40 translations on all resamples, for intervals",
            lambda forty=forty, m=measure: np.stack([m.scores(weights @ of) for of in forty]),
        )
    scores = random.normal(size=(options.systems, options.sentences))
    timed(
        f"segment scores: both tests of {len(systems)} systems",
        lambda: [segment_tests(of, scores[0], weights, 12345) for of in scores[1:]],
    )


if __name__ == "__main__":
    main()

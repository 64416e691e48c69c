"""Time beam search and CTranslate2 with the same weights.

    python benchmarks/decoding_ctranslate2.py [--model MODEL] [--corpus DIR] [--subword MODEL] [--sentences N]
        [--threads N] [--rounds N] [--output JSON]

CTranslate2 gets the model from 'wordorder export --ctranslate2'. Both translate the same sentences in turns, with the
same beam, length penalty and number of threads; CTranslate2 in batches of its own, of as many source tokens. With
several threads, its better split is reported: workers of one thread each, or one worker of all threads. Times are wall
times and CPU seconds, which a busy machine disturbs less. Without --model, the weights are random; no sentence then
ends before its maximum length, so both do the same work. The script requires the extra 'export'.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from decoding_common import RANDOM_LENGTH, clocked, random_model, share_equal

from wordorder.config.decoding import Decoding
from wordorder.data.binary import ParallelCorpus
from wordorder.data.subword import Subword
from wordorder.decoding.beam import max_length
from wordorder.decoding.export import export_ctranslate2
from wordorder.decoding.translate import translate
from wordorder.files import write_json
from wordorder.model.checkpoint import load_model
from wordorder.training.device import prepare
from wordorder.training.record import environment

DATA = Path("results/data/multi30k")


def peers(folder: Path, sources: list[list[str]], config: Decoding, threads: int) -> dict[str, Callable[[], Any]]:
    """Return the searches of CTranslate2 by name: each precision that it computes here, and each split of threads."""
    import ctranslate2

    longest = max_length(max(map(len, sources)) + 1, config)
    found: dict[str, Callable[[], Any]] = {}
    precisions = {"fp32": "float32", "bf16": "bfloat16"}
    for precision, own in precisions.items():
        if own not in ctranslate2.get_supported_compute_types("cpu"):
            continue
        for workers in sorted({1, threads}):
            translator = ctranslate2.Translator(
                str(folder), compute_type=own, inter_threads=workers, intra_threads=threads // workers
            )

            def search(translator: Any = translator) -> list[list[str]]:
                results = translator.translate_batch(
                    sources,
                    beam_size=config.beam,
                    length_penalty=config.alpha,
                    max_decoding_length=longest + 1,
                    max_batch_size=config.batch_tokens // config.beam,
                    batch_type="tokens",
                )
                return [result.hypotheses[0] for result in results]

            split = f" {workers} x {threads // workers}" if threads > 1 else ""
            found[f"CTranslate2 {precision}{split}"] = search
    return found


def table(results: dict[str, Any]) -> str:
    """Return the Markdown of the results.

    Args:
        results: The sentences and, by search, the rounds' times, the share of equal translations and the mean length.
    """
    searches = results["searches"]
    speeds = {
        name: {
            kind: results["sentences"] / statistics.median(elapsed[kind] for elapsed in search["seconds"])
            for kind in ("clock", "cpu")
        }
        for name, search in searches.items()
    }
    fastest = max((name for name in searches if name.startswith("CTranslate2")), key=lambda name: speeds[name]["clock"])
    lines = [
        f"Weights: {results['weights']}; {results['sentences']} sentences; beam {results['beam']}. The ratios are to "
        f"{fastest}, the medians of {len(searches[fastest]['seconds'])} rounds.",
        "",
        "| search | sentences/s | per CPU second | ratio | in CPU time | as wordorder fp32 | tokens |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, search in searches.items():
        pairs = list(zip(searches[fastest]["seconds"], search["seconds"], strict=True))
        ratio = {kind: statistics.median(peer[kind] / own[kind] for peer, own in pairs) for kind in ("clock", "cpu")}
        lines.append(
            f"| {name} | {speeds[name]['clock']:.0f} | {speeds[name]['cpu']:.0f} | {ratio['clock']:.2f} | "
            f"{ratio['cpu']:.2f} | {search['identical']:.1%} | {search['mean_length']:.2f} |"
        )
    return "\n".join(lines)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run all searches in turns and return what the table needs."""
    corpus, subword = ParallelCorpus.open(options.corpus), Subword.load(options.subword)
    model = load_model(options.model) if options.model else random_model(corpus.vocabulary_size)
    sources = [corpus.source(index) for index in range(min(options.sentences, len(corpus)))]
    config = Decoding(beam=options.beam, alpha=options.alpha)
    if not options.model:
        config = config.model_copy(update={"max_length_a": 0.0, "max_length_b": RANDOM_LENGTH})
    pieces = subword.all_pieces()
    numbers = {piece: number for number, piece in enumerate(pieces)}

    def ours(precision: str) -> list[list[str]]:
        torch.set_num_threads(options.threads)  # which CTranslate2 changes for the whole process
        found = translate(model, sources, config.model_copy(update={"precision": precision}))
        return [[pieces[token] for token in hypotheses[0].tokens] for hypotheses in found]

    with tempfile.TemporaryDirectory() as folder:
        export_ctranslate2(model, subword, Path(folder, "model"))
        own = [[pieces[token] for token in source.tolist()] for source in sources]
        runs: dict[str, Callable[[], list[list[str]]]] = {
            f"wordorder {precision}": lambda precision=precision: ours(precision) for precision in ("fp32", "bf16")
        }
        runs |= peers(Path(folder, "model"), own, config, options.threads)
        seconds: dict[str, list[dict[str, float]]] = {name: [] for name in runs}
        outputs: dict[str, list[list[int]]] = {}
        for number in range(options.rounds + 1):
            for name, run in runs.items():
                elapsed, translations = clocked(run)
                outputs[name] = [[numbers[piece] for piece in line] for line in translations]
                if number:  # the first round warms up
                    seconds[name].append(elapsed)
    return {
        "sentences": len(sources),
        "beam": options.beam,
        "alpha": options.alpha,
        "weights": "trained" if options.model else "random",
        "searches": {
            name: {
                "seconds": seconds[name],
                "identical": share_equal(outputs["wordorder fp32"], found),
                "mean_length": statistics.mean(map(len, found)),
            }
            for name, found in outputs.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="trained model that can be exported (default: random weights)")
    parser.add_argument("--corpus", type=Path, default=DATA / "binary/test_2016_flickr")
    parser.add_argument("--subword", type=Path, default=DATA / "subword/model.model")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path, help="write the record to this file")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    torch.set_num_threads(options.threads)
    prepare()
    results = measure(options)
    print(table(results))
    if options.output:
        write_json(options.output, {"environment": environment(), "results": results})


if __name__ == "__main__":
    main()

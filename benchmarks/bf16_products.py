"""Time updates in bf16 on a processor without instructions for it, in turns with updates in fp32.

    python benchmarks/bf16_products.py --corpus results/data/multi30k/binary/train [--rounds 3] [--json OUT]

Products of matrices in bfloat16 are computed by those of single precision (``wordorder.precision.Bf16Products``), or by
PyTorch's own loop. All three forms train the same model on the same batches in one process. The script prints the
time of an update and its ratio to fp32 in each round. On a processor with the instructions, 'PyTorch' uses them.
"""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext
from pathlib import Path
from statistics import median

import torch
from tabulate import tabulate
from training import draw_batches
from training_variants import Wordorder, cell

from wordorder.data.binary import ParallelCorpus
from wordorder.files import write_json
from wordorder.precision import Bf16Products
from wordorder.training.record import environment

FORMS = {
    "fp32": ("fp32", nullcontext),
    "bf16 by products in fp32": ("bf16", Bf16Products),
    "bf16 by PyTorch": ("bf16", nullcontext),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="a binary corpus")
    parser.add_argument("--threads", type=int, default=1, help="threads of the process")
    parser.add_argument("--rounds", type=int, default=3, help="updates of each form, after one that is not timed")
    parser.add_argument("--json", type=Path, help="where to write the record")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    corpus = ParallelCorpus.open(options.corpus)
    batch_tokens = cell("fp32").recipe.batch_tokens
    batches = draw_batches(corpus, batch_tokens, options.rounds + 1)
    variants = {form: Wordorder(cell(precision), corpus) for form, (precision, _) in FORMS.items()}
    seconds: dict[str, list[float]] = {form: [] for form in FORMS}
    for number, sentences in enumerate(batches):
        for form, (_, block) in FORMS.items():
            begun = time.perf_counter()
            with block():
                variants[form].update(sentences)
            if number:
                seconds[form].append(time.perf_counter() - begun)
    rows = [
        [form, f"{median(own):.2f}", " ".join(f"{a / b:.2f}" for a, b in zip(own, seconds["fp32"], strict=True))]
        for form, own in seconds.items()
    ]
    print(tabulate(rows, headers=["", "s per update", "times fp32, in each round"], tablefmt="github"))
    if options.json:
        record = {"threads": options.threads, "batch_tokens": batch_tokens, "seconds": seconds}
        write_json(options.json, record | {"environment": environment()})


if __name__ == "__main__":
    main()

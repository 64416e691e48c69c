"""How long the models of a study take for the same forward passes of the same batch (figure 2 of the PosNet paper).

As in the paper, the batch is made for the purpose (random tokens) and a measurement is several passes, since in
translation a model that ends its sentences earlier would look faster. The models take turns, in every round each of
them once, so that what else the machine does meets all of them; what compares them is the ratio to the baseline within
a round. One process alone measures all models of a dataset and size.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from wordorder.config.analyses import ForwardTime
from wordorder.config.models import Analysed
from wordorder.encodings.base import Positions
from wordorder.files import read_object
from wordorder.model.batch import BEGIN, END
from wordorder.model.translator import Translator
from wordorder.progress import track

COLUMNS = ["dataset", "size", "encoding", "round", "seconds", "ratio", "device", "threads", "status"]


def measure(models: Mapping[str, Translator], settings: ForwardTime) -> dict[str, Any]:
    """Seconds of ``settings.passes`` forward passes of each model, a number a round; the first round warms up."""
    device = next(next(iter(models.values())).parameters()).device
    smallest = min(model.output.weight.size(0) for model in models.values())
    source, target, positions = _batch(settings, smallest, device)
    seconds: dict[str, list[float]] = {name: [] for name in models}
    with torch.inference_mode():
        for number in track(range(settings.rounds + 1), "Forward passes", total=settings.rounds + 1):
            for name, model in models.items():
                _synchronise(device)
                begun = time.perf_counter()
                for _ in range(settings.passes):
                    model.logits(model(source, target, source_positions=positions))
                _synchronise(device)
                if number:
                    seconds[name].append(time.perf_counter() - begun)
    return {
        "seconds": seconds,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
    }


def _batch(settings: ForwardTime, vocabulary: int, device: torch.device) -> tuple[Tensor, Tensor, Positions]:
    """Source and target, (sentences, length) each, and positions: those in target order are of a reversed source."""
    generator = torch.Generator().manual_seed(1)
    shape = (settings.sentences, settings.length)
    first = max(BEGIN, END) + 1
    source, target = (torch.randint(first, vocabulary, shape, generator=generator) for _ in range(2))
    source[:, -1], target[:, 0] = END, BEGIN
    reordered = torch.arange(settings.length).flip(0).expand(shape).to(device)
    positions = Positions.range(settings.length, on=device).with_reordered(reordered)
    return source.to(device), target.to(device), positions


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def frame(analysed: Analysed, results: Path, data: Path) -> pd.DataFrame:
    """A row for each dataset, size, encoding and round: seconds, and their ratio to the baseline's of that round."""
    report = analysed.report
    rows: list[dict[str, Any]] = []
    for dataset in report.datasets:
        for size in report.sizes:
            place = {"dataset": dataset.name, "size": size}
            path = results / "forward_time" / f"{dataset.name}.{size}.json"
            measured = read_object(path, "seconds") if path.is_file() else {"seconds": {}}
            base = measured["seconds"].get(report.baseline)
            where = {key: measured.get(key) for key in ("device", "threads")}
            for encoding in report.encodings:
                found = measured["seconds"].get(encoding)
                if found is None:
                    rows.append(place | {"encoding": encoding, "status": "missing"} | where)
                    continue
                for number, seconds in enumerate(found, start=1):
                    ratio = seconds / base[number - 1] if base else None
                    row = {"encoding": encoding, "round": number, "seconds": seconds, "ratio": ratio}
                    rows.append(place | row | {"status": "measured"} | where)
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.astype({"round": "Int64", "threads": "Int64", "seconds": float, "ratio": float})

"""Time beam search and Hugging Face's ``generate`` with the same weights.

    python benchmarks/decoding.py [--model MODEL] [--corpus DIR] [--sentences N] [--threads N] [--output JSON]

The peer is Marian for a post-norm model and M2M100 for a pre-norm model. Both are our Transformer with sinusoidal
positions, and their position tables are set from ours. The script first compares the log-probabilities of both models.
Both then translate the same sentences in the same batches, in turns. The peer runs with its defaults, and tuned: with
the process settings of our commands. Times are wall times and CPU seconds, which a busy machine disturbs less. Without
--model, the weights are random; no sentence then ends before its maximum length, so both do the same work. The script
requires the extra 'benchmark'.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from decoding_common import RANDOM_LENGTH, clocked, random_model, share_equal
from torch import nn
from transformers import GenerationConfig, M2M100Config, M2M100ForConditionalGeneration, MarianConfig, MarianMTModel

from wordorder.config.decoding import Decoding
from wordorder.data.binary import ParallelCorpus
from wordorder.decoding.beam import max_length
from wordorder.decoding.translate import plan, translate
from wordorder.model.architectures.transformer import Transformer
from wordorder.model.batch import BEGIN, END, PAD
from wordorder.model.checkpoint import load_model
from wordorder.training.batches import collate, pad_sources
from wordorder.training.device import prepare

POSITIONS = 512
SPECIAL = {"pad_token_id": PAD, "bos_token_id": BEGIN, "eos_token_id": END, "decoder_start_token_id": BEGIN}


def as_peer(model: Transformer) -> Any:
    """Build the Hugging Face model with our weights."""
    if model.encoding.config.type != "sinusoidal":
        raise SystemExit("The peer has sinusoidal positions; give a model with the encoding 'sinusoidal'.")
    pre_norm = isinstance(model.encoder_norm, nn.LayerNorm)
    attention, feed_forward = model.encoder[0].self_attention, model.encoder[0].feed_forward
    shape = {
        "vocab_size": model.output.out_features,
        "d_model": model.dim,
        "encoder_layers": len(model.encoder),
        "decoder_layers": len(model.decoder),
        **{f"{stack}_attention_heads": attention.heads for stack in ("encoder", "decoder")},
        **{f"{stack}_ffn_dim": feed_forward.expand.out_features for stack in ("encoder", "decoder")},
        **dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), 0.0),
        **dict.fromkeys(("encoder_layerdrop", "decoder_layerdrop"), 0.0),
        "activation_function": "relu",
        "scale_embedding": True,
        "max_position_embeddings": POSITIONS,
        **SPECIAL,
        "forced_eos_token_id": END,
    }
    peer: Any = (
        M2M100ForConditionalGeneration(M2M100Config(**shape)) if pre_norm else MarianMTModel(MarianConfig(**shape))
    )
    peer.eval().load_state_dict(_peer_weights(model, pre_norm=pre_norm), strict=False)
    for stack in (peer.model.encoder, peer.model.decoder):
        table = model.encoding.table(POSITIONS)
        if pre_norm:  # position 0 has row 1 there
            stack.embed_positions.weights[1 : POSITIONS + 1] = table
        else:
            stack.embed_positions.weight.data.copy_(table)
    return peer


def _peer_weights(model: Transformer, *, pre_norm: bool) -> dict[str, torch.Tensor]:
    weights = {
        f"model.{part}embed_tokens.weight": model.source_embedding.weight for part in ("", "encoder.", "decoder.")
    }
    weights["lm_head.weight"] = model.output.weight

    def linear(name: str, weight: torch.Tensor, bias: torch.Tensor) -> None:
        weights[f"{name}.weight"], weights[f"{name}.bias"] = weight, bias

    def heads(name: str, letters: str, module: nn.Linear) -> None:
        parts = zip(letters, module.weight.chunk(len(letters)), module.bias.chunk(len(letters)), strict=True)
        for letter, weight, bias in parts:
            linear(f"{name}.{letter}_proj", weight, bias)

    for stack in ("encoder", "decoder"):
        for number, layer in enumerate(getattr(model, stack)):
            name = f"model.{stack}.layers.{number}"
            heads(f"{name}.self_attn", "qkv", layer.self_attention.project_in)
            heads(f"{name}.self_attn", ("out",), layer.self_attention.project_out)
            modules = {
                "self_attn_layer_norm": layer.around_self.norm,
                "fc1": layer.feed_forward.expand,
                "fc2": layer.feed_forward.contract,
                "final_layer_norm": layer.around_ffn.norm,
            }
            if stack == "decoder":
                heads(f"{name}.encoder_attn", "q", layer.cross_attention.project_query)
                heads(f"{name}.encoder_attn", "kv", layer.cross_attention.project_memory)
                heads(f"{name}.encoder_attn", ("out",), layer.cross_attention.project_out)
                modules["encoder_attn_layer_norm"] = layer.around_cross.norm
            for part, module in modules.items():
                linear(f"{name}.{part}", module.weight, module.bias)
        if pre_norm:
            norm = getattr(model, f"{stack}_norm")
            linear(f"model.{stack}.layer_norm", norm.weight, norm.bias)
    return weights


@torch.no_grad()
def difference(model: Transformer, peer: Any, corpus: ParallelCorpus) -> float:
    """Return the largest difference between the log-probabilities of the first reference translations."""
    batch = collate(corpus, np.arange(min(32, len(corpus))))
    ours = torch.log_softmax(model.logits(model(batch.source, batch.target_input)), -1)
    mask = (batch.source != PAD).long()
    output = peer(input_ids=batch.source, attention_mask=mask, decoder_input_ids=batch.target_input)
    theirs = torch.log_softmax(output.logits, -1)
    return float((ours - theirs)[batch.target_output != PAD].abs().max())


@torch.inference_mode()
def peer_translate(peer: Any, sources: list[Any], config: Decoding, stopping: bool | str) -> list[list[int]]:
    """Return the best hypothesis for each source, by ``generate`` in our batches."""
    keys = [tuple(source.tolist()) for source in sources]
    found: dict[tuple[int, ...], list[int]] = {}
    for batch in plan(keys, config):
        tokens = pad_sources([np.array(source) for source in batch])
        settings = GenerationConfig(
            num_beams=config.beam,
            length_penalty=config.alpha,
            early_stopping=stopping,
            max_new_tokens=max_length(tokens.size(1), config) + 1,
            do_sample=False,
            suppress_tokens=[PAD, BEGIN],
            **SPECIAL,
            forced_eos_token_id=END,
        )
        output = peer.generate(tokens, attention_mask=(tokens != PAD).long(), generation_config=settings)
        for source, row in zip(batch, output[:, 1:].tolist(), strict=True):
            found[source] = row[: row.index(END)] if END in row else row
    return [found[key] for key in keys]


def as_it_comes(function: Callable[[], Any]) -> Any:
    """Call a function with PyTorch's default settings."""
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    torch.use_deterministic_algorithms(False)
    try:
        return function()
    finally:
        torch.set_float32_matmul_precision(precision)
        torch.use_deterministic_algorithms(True, warn_only=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="trained model with sinusoidal positions (default: random weights)")
    parser.add_argument("--corpus", type=Path, default="results/data/multi30k/binary/test_2016_flickr")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--max-length-b", type=int, default=Decoding().max_length_b)
    parser.add_argument("--batch-tokens", type=int, default=Decoding().batch_tokens)
    parser.add_argument(
        "--peer-stops-exactly",
        action="store_true",
        help="let the peer, too, stop only when no hypothesis can become better, instead of by its heuristic",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--output", type=Path, help="append the record to this file as a line of JSON")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    prepare()  # both get the faster matrix products

    corpus = ParallelCorpus.open(options.corpus)
    sources = [corpus.source(index) for index in range(min(options.sentences, len(corpus)))]
    model = load_model(options.model) if options.model else random_model(corpus.vocabulary_size)
    peer = as_peer(model)
    print(f"largest difference of log-probabilities: {(error := difference(model, peer, corpus)):.1e}")
    if error > 1e-3:
        raise SystemExit("The two models are not the same; their times cannot be compared.")

    config = Decoding(
        beam=options.beam,
        alpha=options.alpha,
        max_length_a=1.0 if options.model else 0.0,
        max_length_b=options.max_length_b if options.model else RANDOM_LENGTH,
        batch_tokens=options.batch_tokens,
    )
    low = config.model_copy(update={"precision": "bf16"})
    stopping = "never" if options.peer_stops_exactly else False
    low_peer = as_peer(model).bfloat16()
    runs: dict[str, Callable[[], list[list[int]]]] = {
        "ours fp32": lambda: [found[0].tokens for found in translate(model, sources, config)],
        "peer fp32": lambda: as_it_comes(lambda: peer_translate(peer, sources, config, stopping)),
        "tuned peer fp32": lambda: peer_translate(peer, sources, config, stopping),
        "ours bf16": lambda: [found[0].tokens for found in translate(model, sources, low)],
        "peer bf16": lambda: as_it_comes(lambda: peer_translate(low_peer, sources, low, stopping)),
        "tuned peer bf16": lambda: peer_translate(low_peer, sources, low, stopping),
    }
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in runs}
    outputs: dict[str, list[list[int]]] = {}
    for number in range(options.rounds + 1):
        for name, run in runs.items():
            elapsed, outputs[name] = clocked(run)
            if number:  # the first round warms up
                seconds[name].append(elapsed)
    record = {
        **{name: value for name, value in vars(options).items() if name not in ("model", "corpus", "output")},
        "sentences": len(sources),
        "threads": torch.get_num_threads(),
        "weights": "trained" if options.model else "random",
        "largest_difference": error,
        "seconds": seconds,
        "ratios": ratios(seconds),
        "identical": {name: share_equal(outputs["ours fp32"], found) for name, found in outputs.items()},
        "mean_length": {name: statistics.mean(map(len, found)) for name, found in outputs.items()},
        "torch": torch.__version__,
    }
    report(record)
    if options.output:
        with options.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def ratios(seconds: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, list[float]]]:
    """Return how many times as long as ours of the same precision each run took, in every round."""
    found: dict[str, dict[str, list[float]]] = {}
    for name, rounds in seconds.items():
        ours = seconds[f"ours {name.split()[-1]}"]
        if rounds is not ours:
            pairs = list(zip(rounds, ours, strict=True))
            found[name] = {kind: [peer[kind] / our[kind] for peer, our in pairs] for kind in ("clock", "cpu")}
    return found


def report(record: dict[str, Any]) -> None:
    print(f"{'':18} sentences/s   per CPU second   ours is faster, by the clock (in CPU time)   as ours fp32   length")
    for name, rounds in record["seconds"].items():
        speeds = [
            record["sentences"] / statistics.median(elapsed[kind] for elapsed in rounds) for kind in ("clock", "cpu")
        ]
        ratio = record["ratios"].get(name)
        times = ""
        if ratio:
            clock = ratio["clock"]
            times = f"{statistics.median(clock):.2f} x [{min(clock):.2f}, {max(clock):.2f}]"
            times += f" ({statistics.median(ratio['cpu']):.2f} x)"
        print(
            f"{name:18} {speeds[0]:11.1f}   {speeds[1]:14.1f}   {times:42}   {record['identical'][name]:12.1%}"
            f"   {record['mean_length'][name]:6.2f}"
        )


if __name__ == "__main__":
    main()

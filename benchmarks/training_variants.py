"""The variants of benchmarks/training.py: one update of wordorder, and of Hugging Face's Marian in two forms."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from lightning_fabric import Fabric
from torch import Tensor
from torch.nn import functional

from wordorder.config.load import load_sizes
from wordorder.config.models import Cell, Recipe
from wordorder.data.binary import ParallelCorpus
from wordorder.model.architectures.transformer import Transformer
from wordorder.model.batch import PAD, Batch
from wordorder.model.checkpoint import build_model
from wordorder.model.objective import TranslationObjective
from wordorder.training.batches import Indices, collate
from wordorder.training.device import fabric_precision, prepare
from wordorder.training.loop import Trainer
from wordorder.training.schedule import learning_rate
from wordorder.training.state import StateDirectory

CONFIG = Path(__file__).parents[1] / "config"
SIZE = "tiny"
SEED = 1
OURS, SHIPPED = "wordorder", "Marian as shipped"
TUNED = ("Marian tuned, eager", "Marian tuned, sdpa")


def cell(precision: str) -> Cell:
    """Return the configuration that both train: post-norm, like Marian."""
    recipe = Recipe(
        norm="post", dropout=0.2, label_smoothing=0.1, precision=precision, batch_tokens=4096, max_updates=1
    )
    return Cell(encoding={"type": "sinusoidal"}, size=load_sizes(CONFIG)[SIZE], recipe=recipe, seed=SEED)


def start_model(config: Cell, vocabulary_size: int) -> Transformer:
    """Build a model with the same weights in every process."""
    torch.manual_seed(config.seed)
    return build_model(config, vocabulary_size)


class Variant(Protocol):
    def update(self, sentences: Indices) -> None:
        """Make one update, from the sentence numbers of the batch to the new weights."""

    def check(self, sentences: Indices) -> tuple[float, float]:
        """Return the smoothed loss per target token and the norm of its gradient, in fp32 and without dropout."""


class Wordorder:
    """The step of the training loop, with its bookkeeping."""

    def __init__(self, config: Cell, corpus: ParallelCorpus) -> None:
        prepare()
        self.corpus = corpus
        self.objective = TranslationObjective(
            start_model(config, corpus.vocabulary_size), config.recipe.label_smoothing
        )
        self.trainer = Trainer(
            config,
            Fabric(accelerator="cpu", devices=1, precision=fabric_precision(config.recipe.precision)),
            self.objective,
            train=corpus,
            valid=corpus,
            state=StateDirectory(Path(os.devnull)),  # nothing is saved
            save_seconds=math.inf,
            stop_requested=lambda: False,
        )

    def update(self, sentences: Indices) -> None:
        # This function is private, but a copy of it could get out of date and measure something else.
        self.trainer.update(self.trainer.prepare([sentences]))

    def check(self, sentences: Indices) -> tuple[float, float]:
        batch = collate(self.corpus, sentences)
        self.objective.eval()
        loss, _ = self.objective(batch)
        norm = gradient_norm(loss / batch.target_tokens, self.objective)
        self.objective.train()
        return loss.item() / batch.target_tokens, norm


class Marian:
    """Hugging Face's model in a minimal loop, with wordorder's batches.

    As shipped: what the defaults of its Trainer make of a step. Tuned: whatever makes it faster without a change of
    its code, that is wordorder's settings of the process, no work on target padding, no mask where nothing is padded,
    PyTorch's own smoothed loss, no clipping.
    """

    def __init__(self, config: Cell, corpus: ParallelCorpus, *, tuned: bool, attention: str) -> None:
        if tuned:
            prepare()
            torch.use_deterministic_algorithms(False)  # may cost time, and the peer does not promise it
        from decoding import as_peer
        from transformers import AutoModelForSeq2SeqLM
        from transformers.trainer_pt_utils import LabelSmoother

        self.corpus, self.recipe, self.tuned = corpus, config.recipe, tuned
        same = as_peer(start_model(config, corpus.vocabulary_size))
        shape = copy.deepcopy(same.config)
        shape.dropout = config.recipe.dropout
        self.model: Any = AutoModelForSeq2SeqLM.from_config(shape, attn_implementation=attention)
        self.model.load_state_dict(same.state_dict())
        self.model.train()
        self.smoother = LabelSmoother(epsilon=config.recipe.label_smoothing)
        self.optimizer = torch.optim.AdamW(
            [parameter for parameter in self.model.parameters() if parameter.requires_grad],  # not the positions
            betas=config.recipe.adam_betas,
            eps=config.recipe.adam_epsilon,
            weight_decay=config.recipe.weight_decay,
            fused=True,
        )
        self.updates = 0

    def update(self, sentences: Indices) -> None:
        self.updates += 1
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.recipe, self.updates)
        batch = collate(self.corpus, sentences)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.recipe.precision == "bf16"):
            loss = self.loss(batch)
        loss.backward()
        if not self.tuned:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean over the target tokens."""
        real = batch.target_output != PAD
        mask = batch.source != PAD
        inputs = {
            "input_ids": batch.source,
            "attention_mask": None if self.tuned and bool(mask.all()) else mask.long(),
            "decoder_input_ids": batch.target_input,
            "use_cache": False,
        }
        if not self.tuned:
            loss: Tensor = self.smoother(self.model(**inputs), batch.target_output.masked_fill(~real, -100))
            return loss
        # Skip the model's last step, which adds a bias of zeros to all logits.
        hidden, labels = self.model.model(**inputs).last_hidden_state, batch.target_output
        hidden, labels = (
            (hidden[real], labels[real]) if batch.real is not None else (hidden.flatten(0, 1), labels.flatten())
        )
        return functional.cross_entropy(self.model.lm_head(hidden), labels, label_smoothing=self.recipe.label_smoothing)

    def check(self, sentences: Indices) -> tuple[float, float]:
        self.model.eval()
        loss = self.loss(collate(self.corpus, sentences))
        norm = gradient_norm(loss, self.model)
        self.model.train()
        return loss.item(), norm


VARIANTS: dict[str, Callable[[Cell, ParallelCorpus], Variant]] = {
    OURS: Wordorder,
    SHIPPED: partial(Marian, tuned=False, attention="sdpa"),
    TUNED[0]: partial(Marian, tuned=True, attention="eager"),
    TUNED[1]: partial(Marian, tuned=True, attention="sdpa"),
}


def gradient_norm(loss: Tensor, module: torch.nn.Module) -> float:
    loss.backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in module.parameters() if p.grad is not None])
    module.zero_grad(set_to_none=True)
    return norm.item()

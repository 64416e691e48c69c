"""The training loop."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor

from wordorder.config.models import Cell
from wordorder.data.binary import ParallelCorpus
from wordorder.draws import repeatable
from wordorder.errors import Interrupted
from wordorder.hardware import rounding
from wordorder.model.batch import Batch
from wordorder.model.objective import TranslationObjective
from wordorder.model.places import refuse_untrained
from wordorder.progress import Progress
from wordorder.training.batches import (
    ALONE,
    Indices,
    PassLimit,
    ahead,
    collate,
    collate_rows,
    epoch_batches,
    joined,
    plan_batches,
)
from wordorder.training.counters import Counters
from wordorder.training.metrics import Metrics
from wordorder.training.processes import Processes
from wordorder.training.record import machine
from wordorder.training.schedule import learning_rate
from wordorder.training.state import StateDirectory
from wordorder.training.window import Window, summed

REPORT_EVERY = 50  # The number of updates between two reports.
PROGRESS_SECONDS = 10.0
AHEAD = 2  # The number of updates whose batches are made in advance for a GPU.


@dataclass(frozen=True)
class Prepared:
    """The micro-batches of one update in one process.

    Attributes:
        batches: The micro-batches, on the CPU.
        tokens: The number of target tokens of the update in all processes.
        counts: Whether the losses of these micro-batches contribute to the update.
    """

    batches: list[Batch]
    tokens: int
    counts: bool


class Trainer:
    """Training loop of one model.

    The saved state consists of the counters, the weights, the optimizer and the random generators.

    Args:
        cell: The training run.
        fabric: The launched Fabric of this process.
        objective: The model with its loss.
        train: The training pairs.
        valid: The validation pairs.
        state: The folder of the saved state.
        save_seconds: The seconds between two saves.
        stop_requested: Returns whether the process was asked to stop.
        processes: The processes of the run; by default those of ``fabric``.
        shard_optimizer: Each process keeps the moments of its share of the parameters only (Rajbhandari et al. 2020,
            ZeRO, stage 1). The weights are bit-identical with and without it.
        pass_limit: What one pass through the model may hold. Micro-batches of an update are joined up to it, in rows of
            several sentences or packed without padding. By default, each is a separate pass, with padding.
    """

    def __init__(
        self,
        cell: Cell,
        fabric: Fabric,
        objective: TranslationObjective,
        *,
        train: ParallelCorpus,
        valid: ParallelCorpus,
        state: StateDirectory,
        save_seconds: float,
        stop_requested: Callable[[], bool],
        processes: Processes | None = None,
        shard_optimizer: bool = False,
        pass_limit: PassLimit = ALONE,
    ) -> None:
        self.cell, self.recipe, self.fabric, self.state = cell, cell.recipe, fabric, state
        self.processes = processes or Processes(fabric)
        self.train_corpus, self.valid_corpus = train, valid
        self.save_seconds, self.stop_requested = save_seconds, stop_requested
        self.pass_limit = pass_limit if objective.transformer.packs else ALONE
        self.objective = objective.to(fabric.device)
        settings: dict[str, Any] = {
            "lr": self.recipe.learning_rate,
            "betas": self.recipe.adam_betas,
            "eps": self.recipe.adam_epsilon,
            "weight_decay": self.recipe.weight_decay,
            "fused": True,
        }
        optimizer: torch.optim.Optimizer
        if shard_optimizer:
            # The import takes seconds and prints warnings.
            from torch.distributed.optim import ZeroRedundancyOptimizer

            optimizer = ZeroRedundancyOptimizer(
                objective.parameters(), torch.optim.AdamW, parameters_as_bucket_view=True, **settings
            )
            self._adam: torch.optim.Optimizer = optimizer.optim  # It optimises the share of this process.
        else:
            optimizer = self._adam = torch.optim.AdamW(objective.parameters(), **settings)
        self.model, self.optimizer = fabric.setup(objective, optimizer)
        self.counters = Counters()
        self.metrics: Metrics | None = None
        self._checked = False  # Whether gradients have reached all parameters.
        self._clock = time.perf_counter()
        # The time of making batches, and of all updates, since the start of this process.
        self.batch_seconds = self.update_seconds = 0.0
        self._window = Window(fabric.device)

    def run(self) -> Counters:
        """Train until a stopping criterion of the recipe is met.

        Returns:
            The counters at the end.

        Raises:
            Interrupted: The process was asked to stop; the state is saved.
            WordorderError: The saved state is damaged.
        """
        self._resume()
        self.counters.continue_on(rounding(machine()))
        self.metrics = (
            Metrics(
                self.state.metrics,
                self.state.tensorboard,
                length=self.counters.metrics_bytes,
                sha256=self.counters.metrics_sha256,
                update=self.counters.update,
            )
            if self.fabric.is_global_zero
            else None
        )
        self._started_from, self._planned = self.counters.update, self._planned_updates()
        self._started_at = self._saved_at = time.monotonic()
        self._clock = time.perf_counter()
        self._progress_at = -math.inf
        with self._shown() as progress:
            while not self._ended():
                groups = self.groups()
                for prepared in self._prepared_ahead(groups[self.counters.group :]):
                    self.update(prepared)
                    if progress:
                        progress.advance(note=self._window.note)
                    self.counters.group += 1
                    end_of_epoch = self.counters.group == len(groups)
                    if end_of_epoch:
                        self.counters.epoch, self.counters.group = self.counters.epoch + 1, 0
                    if self.counters.update % REPORT_EVERY == 0:
                        self.report()
                    if self._validation_due(end_of_epoch):
                        self._validate()
                    self._report_progress()
                    self._save_if_due()
                    if self._ended():
                        break
        if self.metrics:
            self.report()
            self.metrics.close()
        return self.counters

    def _shown(self) -> AbstractContextManager[Progress | None]:
        if not self.processes.is_first:
            return nullcontext()
        return Progress("train", total=self._planned, unit="updates", initial=self.counters.update)

    def update(self, prepared: Prepared) -> None:
        """Take one step of the optimizer with this process's share of the micro-batches.

        The method does not wait for the device: a GPU executes the operations while the next batches are prepared.

        Args:
            prepared: The micro-batches.
        """
        counters, world = self.counters, self.fabric.world_size
        for settings in self.optimizer.param_groups:
            settings["lr"] = learning_rate(self.recipe, counters.update + 1)
        weight = world / prepared.tokens if prepared.counts else 0.0
        for number, batch in enumerate(prepared.batches):
            with self.fabric.no_backward_sync(self.model, enabled=number + 1 < len(prepared.batches)):
                loss, nll = self.model(batch.to(self.fabric.device))
                # Processes average their gradients; with world / tokens, that is the mean over all target tokens.
                self.fabric.backward(loss * weight)
            if weight:
                self._window.add_loss(loss, nll)
        self._check_gradients()
        norm = self._clip()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        counters.update += 1
        counters.target_tokens += prepared.tokens
        self._window.add_update(norm, prepared.tokens)
        self._lap()

    def _check_gradients(self) -> None:
        """Reject parameters that the first update of this process does not train."""
        if not self._checked:
            model = self.objective.transformer
            refuse_untrained(model, model.encoding, one_stream=model.one_stream)
            self._checked = True

    def prepare(self, group: list[Indices]) -> Prepared:
        """Make this process's micro-batches of one update.

        Args:
            group: The sentence numbers of each micro-batch of the update in all processes.
        """
        tokens = int(sum((self.train_corpus.target_lengths[batch] + 1).sum() for batch in group))
        mine = group[self.fabric.global_rank :: self.fabric.world_size]
        counts = bool(mine)
        # A process without a micro-batch still takes part in the exchange of gradients, with weight 0.
        mine, packed = mine or group[:1], self.pass_limit.tokens > 0
        passes = joined(self.train_corpus, mine, self.pass_limit) if packed else mine
        if packed and self.objective.transformer.shares_rows:
            batches = [collate_rows(self.train_corpus, sentences) for sentences in passes]
        else:
            batches = [collate(self.train_corpus, sentences, packed=packed) for sentences in passes]
        on_gpu = self.fabric.device.type == "cuda"
        return Prepared([batch.pinned() for batch in batches] if on_gpu else batches, tokens, counts=counts)

    def _prepared_ahead(self, groups: list[list[Indices]]) -> Iterator[Prepared]:
        """Make the micro-batches of updates, in the background for a GPU; the results are the same either way."""
        with closing(ahead(self.prepare, groups, depth=0 if self.fabric.device.type == "cpu" else AHEAD)) as made:
            while True:
                began = time.perf_counter()
                prepared = next(made, None)
                self.batch_seconds += time.perf_counter() - began
                if prepared is None:
                    return
                yield prepared

    def _clip(self) -> Tensor:
        """Clip the gradients and return their norm; 0 if scaled gradients overflow, which skips the step.

        The method unscales the gradients itself: Lightning does not unscale for a fused optimizer, and a fused
        optimizer unscales without reporting the norm.
        """
        scaler = getattr(self.fabric.strategy.precision, "scaler", None)
        if scaler is not None:
            scaler.unscale_(self.optimizer.optimizer)
        most = self.recipe.clip_norm or math.inf
        norm = torch.nn.utils.clip_grad_norm_(self.objective.parameters(), most)
        return norm if scaler is None else torch.nan_to_num(norm, nan=0.0, posinf=0.0)

    def _lap(self) -> None:
        """Add the time since the last call to the time of updates.

        An update only submits its operations to a GPU. The next report waits for them, which includes their time.
        """
        now = time.perf_counter()
        seconds, self._clock = now - self._clock, now
        self.counters.seconds += seconds
        self.update_seconds += seconds
        self._window.seconds += seconds

    @contextmanager
    def _untimed(self) -> Iterator[None]:
        """Wait until the device has finished all updates, and exclude the block from the time of updates."""
        if self.fabric.device.type == "cuda":
            torch.cuda.synchronize(self.fabric.device)
        self._lap()
        try:
            yield
        finally:
            self._clock = time.perf_counter()

    def report(self) -> None:
        """Wait for the device and write the mean metrics since the last report."""
        if not self._window.updates:
            return
        sums = self._window.read(self.fabric)  # This waits for the device.
        self._lap()
        values = self._window.close(sums)
        values["learning_rate"] = learning_rate(self.recipe, self.counters.update)
        if not math.isfinite(values["loss"]):
            self.counters.status = "diverged"
        if self.metrics:
            self.metrics.write("train", self.counters.update, self.counters.epoch, values)

    def _validate(self) -> None:
        """Compute the perplexity of the validation set, save a checkpoint for the average and update early stopping."""
        self.report()
        with self._untimed():
            self._validate_untimed()
        self._save()

    def _validate_untimed(self) -> None:
        loss, perplexity = self.validation_loss()
        counters = self.counters
        if loss < counters.best_loss:
            counters.best_loss, counters.best_update, counters.bad_validations = loss, counters.update, 0
        else:
            counters.bad_validations += 1
        if not math.isfinite(loss):
            counters.status = "diverged"
        if self.metrics:
            self.metrics.write("valid", counters.update, counters.epoch, {"loss": loss, "perplexity": perplexity})
            weights = self.objective.transformer.state_dict()
            self.state.save_checkpoint(counters.update, weights, keep=self.recipe.average)

    @torch.no_grad()
    def validation_loss(self) -> tuple[float, float]:
        """Compute the loss of the validation set without label smoothing and dropout.

        Returns:
            The loss in nats per target token, and the perplexity.
        """
        self.model.eval()
        batches = plan_batches(self.valid_corpus, self.recipe.batch_tokens)
        sums = torch.zeros(2, dtype=torch.float64, device=self.fabric.device)
        for number in range(self.fabric.global_rank, len(batches), self.fabric.world_size):
            batch = collate(self.valid_corpus, batches[number]).to(self.fabric.device)
            with repeatable(number):
                _, nll = self.model(batch)
            sums += torch.stack((nll.double(), nll.new_tensor(batch.target_tokens, dtype=torch.float64)))
        self.model.train()
        total, tokens = summed(self.fabric, sums).tolist()
        loss = total / tokens
        return loss, math.exp(loss) if loss < 700 else math.inf

    def groups(self) -> list[list[Indices]]:
        """Return the micro-batches of each update of the current epoch, as sentence numbers."""
        batches = epoch_batches(
            self.train_corpus,
            self.recipe.batch_tokens,
            seed=self.cell.seed,
            epoch=self.counters.epoch,
            max_positions=self.recipe.max_positions,
        )
        size = self.recipe.accumulate
        return [batches[start : start + size] for start in range(0, len(batches), size)]

    def _planned_updates(self) -> int | None:
        planned = [self.recipe.max_updates] if self.recipe.max_updates else []
        if self.recipe.max_epochs:
            planned.append(self.recipe.max_epochs * len(self.groups()))
        return min(planned)

    def _validation_due(self, end_of_epoch: bool) -> bool:
        if self.recipe.validate_every:
            return self.counters.update % self.recipe.validate_every == 0 or self._last_update()
        return end_of_epoch or self._last_update()

    def _last_update(self) -> bool:
        counters, recipe = self.counters, self.recipe
        return counters.update == recipe.max_updates or counters.epoch == recipe.max_epochs

    def _ended(self) -> bool:
        if self.counters.status == "diverged":
            return True
        patience = self.recipe.patience
        if self._last_update() or (patience is not None and self.counters.bad_validations >= patience):
            self.counters.status = "finished"
        return self.counters.status == "finished"

    def _report_progress(self) -> None:
        """Write the progress for 'wordorder status' every few seconds."""
        now, counters = time.monotonic(), self.counters
        if not self.metrics or now - self._progress_at < PROGRESS_SECONDS:
            return
        self._progress_at = now
        self.state.report_progress(
            {
                "update": counters.update,
                "planned_updates": self._planned,
                # This includes validation and saving since the last restart, to predict the finish time.
                "updates_per_second": (counters.update - self._started_from) / (now - self._started_at),
                "target_tokens_per_second": counters.target_tokens / counters.seconds,
                "restarts": counters.restarts,
            }
        )

    def _save_if_due(self) -> None:
        due = time.monotonic() - self._saved_at >= self.save_seconds
        # All processes stop and save after the same update, even if only one of them was asked to stop.
        stop, due = self.processes.any(self.stop_requested(), due)
        if stop or due:
            self._save()
        if stop and not self._ended():
            self._progress_at = -math.inf
            self._report_progress()
            self.state.wait()
            self.processes.wait()  # No process ends before the state is on the disk.
            raise Interrupted(
                f"The training was asked to stop and was saved after update {self.counters.update} in "
                f"{self.state.path}. Run the same command again to resume it."
            )

    def _save(self) -> None:
        with self._untimed():
            self._save_untimed()
        self._saved_at = time.monotonic()

    def _save_untimed(self) -> None:
        cuda = [torch.cuda.get_rng_state(self.fabric.device)] if self.fabric.device.type == "cuda" else []
        own = {"window": self._window.state(), "generators": {"cpu": torch.get_rng_state(), "cuda": cuda}}
        processes = self.processes.gather(own)
        optimizer = self.optimizer.state_dict()  # With a sharded optimizer, this gathers the shares of all processes.
        if not self.metrics:
            return
        self.counters.metrics_bytes, self.counters.metrics_sha256 = self.metrics.written()
        self.state.save(
            {
                "counters": asdict(self.counters),
                "processes": processes,
                "weights": self.objective.transformer.state_dict(),
                "optimizer": optimizer,
                "precision": self.fabric.strategy.precision.state_dict(),
                "checkpoints": self.state.kept,
            }
        )

    def _resume(self) -> None:
        saved: dict[str, Any] | None = self.state.load()
        if saved is None:
            return
        self.counters = Counters(**saved["counters"])
        self.counters.restarts += 1
        self.state.keep(saved.get("checkpoints"))
        self.objective.transformer.load_state_dict(saved["weights"])
        self.optimizer.load_state_dict(saved["optimizer"])
        steps_beside_parameters(self._adam)
        self.fabric.strategy.precision.load_state_dict(saved.get("precision", {}))
        # Older versions had one process, and saved its window and generators at the top level.
        processes = saved.get("processes") or [saved]
        number, rank = self.processes.number, self.fabric.global_rank
        if len(processes) != number and self.processes.is_first:
            print(
                f"The training was saved by {len(processes)} processes and resumes with {number}. The result is valid, "
                "but dropout masks differ from those of a run with an unchanged number of processes.",
                file=sys.stderr,
            )
        self._window.load([process["window"] for process in processes], rank=rank, number=number)
        if rank < len(processes):
            generators = processes[rank]["generators"]
            torch.set_rng_state(generators["cpu"])
            if generators["cuda"] and self.fabric.device.type == "cuda":
                torch.cuda.set_rng_state(generators["cuda"][0], self.fabric.device)


def steps_beside_parameters(optimizer: torch.optim.Optimizer) -> None:
    """Move the step counters of a fused optimizer to the devices of their parameters, where it requires them.

    ZeroRedundancyOptimizer loads them to the CPU (https://github.com/pytorch/pytorch/issues/124133). The counters of an
    optimizer that is not fused, as in a saved state of an older version, stay on the CPU, where it reads them without
    waiting for a GPU.

    Args:
        optimizer: The optimizer, after its state was loaded.
    """
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            step = optimizer.state[parameter].get("step") if parameter in optimizer.state else None
            if group["fused"] and isinstance(step, torch.Tensor):
                optimizer.state[parameter]["step"] = step.to(parameter.device)

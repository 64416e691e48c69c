"""The types of the JSON files that tables are made of: a value of another type is an error, never another table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from wordorder.errors import WordorderError
from wordorder.files import read_object


class Result(BaseModel):
    """Base of the types of result files: no value is converted, numbers are finite, and other keys are ignored."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class Score(Result):
    """The score of one metric; None for a training that diverged."""

    score: float | None = None
    signature: str | None = None


class Scores(Result):
    """The scores of the translations of a test set."""

    status: Literal["scored", "no hypotheses"]
    metrics: dict[str, Score]


class SystemScores(Result):
    """The scores of all systems by a metric with a separate environment."""

    status: Literal["scored", "not scored"]
    signature: str | None
    systems: dict[str, Score]
    reason: str | None = None
    how: str | None = None


class Parameters(Result):
    """The numbers of parameters of a model."""

    total: int | None = None
    encoding: int | None = None


class Record(Result):
    """What tables show of the record of a training."""

    status: Literal["finished", "diverged"]
    parameters: Parameters = Parameters()
    updates: int | None = None
    best_update: int | None = None
    epochs: float | None = None
    best_valid_perplexity: float | None = None
    target_tokens_per_second: float | None = None
    seconds: float | None = None
    precision: str | None = None
    device: str | None = None


def read_typed(path: Path, kind: type[Result], *keys: str) -> dict[str, Any]:
    """Read a JSON object that must have a type.

    Args:
        path: The file.
        kind: The type.
        keys: Keys that it must have besides those of the type, as in :func:`.read_object`.

    Raises:
        WordorderError: A key is missing, or a value has another type.
    """
    content = read_object(path, *keys)
    try:
        kind.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise WordorderError(
            f"{path} has no valid '{key}' ({first['msg']}), so it is damaged or was not written by this version of "
            "wordorder. Delete it and run its stage again.",
            code="invalid-value",
            path=path,
            key=key,
            found=first["input"],
        ) from error
    return content

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


class Used(Result):
    """The memory that a training used, in bytes."""

    memory_bytes: int | None = None
    gpu_memory_bytes: int | None = None


class Efficiency(Result):
    """What a training used of its machine."""

    used: Used = Used()


class TrainingData(Result):
    """The digest of the training set."""

    train: str | None = None


class TrainedCell(Result):
    """The cell of a training."""

    recipe: dict[str, Any] = {}


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
    vocabulary_size: int | None = None
    data: TrainingData = TrainingData()
    cell: TrainedCell = TrainedCell()
    efficiency: Efficiency = Efficiency()


class Level(Result):
    """The level of a family of comparisons, which is not exact after an undeclared look or changed comparisons."""

    alpha: float | None = None
    level: float | None = None
    looks: list[int] = []
    exact: bool = True
    last: float | None = None


class SpreadCheck(Result):
    """Whether the seeds vary less than the sentences on which they differ explain."""

    p: float
    small: bool


class FamilyNumbers(Result):
    """The numbers that all comparisons of a family share."""

    procedure: str | None = None
    comparisons: int | None = None
    seeds: list[int] = []
    dropped_seeds: list[int] = []
    excluded: dict[str, str] = {}
    problem: str | None = None
    sigma: float | None = None
    nu: int | None = None
    unstable: dict[str, float] = {}
    spread_check: SpreadCheck | None = None
    level: Level | None = None
    changed: list[tuple[str, str]] = []
    margin: float | None = None
    detectable: float | None = None
    detectable_range: list[float] | None = None
    seeds_needed: int | None = None
    components: dict[str, float] | None = None


class Test(Result):
    """The test of a comparison by its family's procedure."""

    value: float
    standard_error: float
    nu: float
    t: float
    p: float
    interval: list[float]
    equivalence_interval: list[float]


class SingleTest(Result):
    """The t-test of a comparison by itself."""

    n: int | None = None
    mean_difference: float | None = None
    confidence_interval: list[float] | None = None
    p: float | None = None
    p_holm: float | None = None
    note: str | None = None


class Both(Result):
    """The interval of a comparison over seeds and sentences."""

    interval: list[float] | None = None


class ComparisonNumbers(Result):
    """The tests and the verdict of a comparison."""

    system: str
    baseline: str
    agreement: float | None = None
    seeds: list[dict[str, Any]] = []
    t_test: SingleTest = SingleTest()
    stratified: dict[str, Any] | None = None
    test: Test | None = None
    both: Both | None = None
    detectable: float | None = None
    outcome: str = ""
    reach: str | None = None
    verdict: str = ""


class MetricNumbers(Result):
    """The comparisons by one metric."""

    family: FamilyNumbers | None = None
    comparisons: list[ComparisonNumbers] = []


class Translated(Result):
    """A cell of a test set, and whether it has translations."""

    encoding: str = ""
    seed: int = 0
    status: str = ""


class Settings(Result):
    """The settings of the tests."""

    alpha: float | None = None
    paired_test: str | None = None


class Significance(Result):
    """The significance tests of a test set. Keys may be missing, because older files lack some."""

    cells: list[Translated] = []
    settings: Settings = Settings()
    metrics: dict[str, MetricNumbers]


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

"""Typed models of the files under ``config/``.

Each model is frozen and rejects unknown keys. The models of single stages (:class:`Cell`, :class:`Evaluation`, ...) are
the *slices* that the workflow passes to one job. A job sees only its own slice, so a change elsewhere in a study does
not rerun it.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    PlainValidator,
    RootModel,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from wordorder.config.analyses import Analyses
from wordorder.config.base import Level, Model, Name, Positive, Rate, Seed, WithCode
from wordorder.config.datasets import Preparation
from wordorder.config.decoding import Decoding, Decodings
from wordorder.config.encodings import AnyEncoding
from wordorder.config.extensions import MemberError, unknown_member
from wordorder.config.published_scores import Shown
from wordorder.config.seeds import Looks, Seeds
from wordorder.config.sizes import ModelSize
from wordorder.registry import registry_of

# ------------------------------------------------------------------------------------------- models and recipe


class Recipe(Model):
    """The training recipe of a model. All encodings of a study share one recipe."""

    norm: Literal["pre", "post"] = Field(default="pre", description="Layer norm before or after each sublayer.")
    tie_embeddings: Literal["all", "decoder", "none"] = Field(
        default="all",
        description="Embedding matrices to share: 'all' uses one for source, target and output (a joint vocabulary).",
    )
    dropout: Rate | None = Field(default=None, description="Dropout that replaces that of the size.")
    attention_dropout: Rate = Field(default=0.0, description="Rate of dropout of attention weights.")
    activation_dropout: Rate = Field(default=0.0, description="Rate of dropout inside the feed-forward networks.")
    label_smoothing: Rate = Field(
        default=0.1, description="Probability mass that label smoothing spreads over the vocabulary."
    )
    learning_rate: Annotated[float, Field(gt=0, description="Largest learning rate, at the end of the warm-up.")] = 7e-4
    warmup_updates: Positive = Field(
        default=4000,
        description="Updates over which the learning rate rises; it then falls with the inverse square root.",
    )
    warmup_from: float = Field(
        default=1e-7, ge=0, description="Learning rate before the first update, from which it rises."
    )
    adam_betas: tuple[Rate, Rate] = Field(default=(0.9, 0.98), description="Decay rates of Adam's moments.")
    adam_epsilon: float = Field(default=1e-9, ge=0, description="Adam's epsilon.")
    weight_decay: float = Field(default=0.0, ge=0, description="Weight decay of AdamW.")
    clip_norm: float = Field(
        default=0.0, ge=0, description="Largest norm of the gradient; 0 disables clipping. The norm is always reported."
    )
    batch_tokens: Positive = Field(
        default=4096,
        description="Largest number of tokens in a micro-batch: longest side x sentences, including padding.",
    )
    max_positions: Positive | None = Field(
        default=None,
        description="Largest number of subwords per side, including the end; longer training pairs are excluded "
        "for all encodings.",
    )
    accumulate: Positive = Field(
        default=1, description="Number of micro-batches per update, summed over all processes."
    )
    max_updates: Positive | None = Field(default=None, description="Number of updates after which the training ends.")
    max_epochs: Positive | None = Field(default=None, description="Number of epochs after which the training ends.")
    validate_every: Positive | None = Field(
        default=None, description="Updates between validations; one epoch if missing."
    )
    patience: Positive | None = Field(
        default=None, description="Number of validations without a better loss before training stops."
    )
    average: Positive = Field(default=1, description="Number of last validated checkpoints to average.")
    precision: Literal["fp32", "bf16", "fp16"] = Field(
        default="fp32", description="Precision of matrix products; weights are kept in fp32."
    )

    @model_validator(mode="after")
    def _ends(self) -> Recipe:
        if self.max_updates is None and self.max_epochs is None:
            raise ValueError("max_updates or max_epochs must be given; otherwise the training never ends")
        if self.warmup_from > self.learning_rate:
            raise ValueError(
                f"warmup_from ({self.warmup_from:g}) exceeds learning_rate ({self.learning_rate:g}); a warm-up rises"
            )
        return self


class Recipes(RootModel[dict[Name, Recipe]]):
    """``config/recipes.yaml``."""


class Cell(WithCode):
    """One model to train: the slice of a training job."""

    encoding: AnyEncoding = Field(description="Entry of encodings.yaml.")
    size: ModelSize
    recipe: Recipe
    seed: Seed


def _metric(entry: Any) -> Any:
    """Check an entry of ``metrics`` by the metric's own file, and return it without default settings."""
    named = isinstance(entry, dict) and len(entry) == 1 and isinstance(next(iter(entry)), str)
    if not isinstance(entry, str) and not named:
        raise ValueError("it must be the name of a metric, or one name with its settings, such as {comet: {model: …}}")
    name = metric_name(entry)
    if name not in registry_of("metrics"):
        raise unknown_member("metrics", name)
    settings = registry_of("metrics").get(name).Settings
    given = entry[name] if named and entry[name] is not None else {}
    try:
        parsed = settings.model_validate_json(json.dumps(given), strict=True)
    except ValidationError as error:
        raise MemberError(settings, error, at=(name,)) from error
    changed = parsed.model_dump(mode="json", exclude_defaults=True)
    return {name: changed} if changed else name


def metric_name(entry: Metric) -> str:
    """Return the name of the metric of an entry of ``metrics``."""
    return entry if isinstance(entry, str) else next(iter(entry))


Metric = Annotated[
    str | dict[str, dict[str, Any]],
    PlainValidator(_metric, json_schema_input_type=Name | dict[Name, dict[str, Any]]),
]


class Evaluation(WithCode):
    """The slice of an evaluation job: the test sets of a dataset to translate, and their scoring."""

    tests: Annotated[list[Name], Field(min_length=1)]
    metrics: list[Metric] = Field(description="Metrics that are computed only from text; COMET is not among them.")


# ------------------------------------------------------------------------------------------------------ studies


class Comparison(Model):
    """One declared comparison of the family: whether ``system`` differs from ``baseline``."""

    system: Name = Field(description="Encoding that is compared.")
    baseline: Name = Field(description="Encoding with which it is compared.")


class Significance(Model):
    """Settings of the significance tests."""

    paired_test: Literal["bootstrap", "randomisation"] = Field(
        default="bootstrap", description="Paired test of a seed that the table shows; both are run."
    )
    bootstrap_samples: int = Field(default=1000, ge=2, description="Number of resamples, or shuffles, per test.")
    alpha: Level = Field(default=0.05, description="Level of each family of comparisons.")
    seed: Annotated[Positive, Field(le=2**32 - 1)] = Field(
        default=12345, description="Seed of the tests; not 0, which means 'a new seed every time' in sacreBLEU."
    )


Margins = dict[Name, Annotated[float, Field(gt=0)]]

Only = dict[Name, Annotated[list[Name], Field(min_length=1)]]


def encodings_of(size: str, encodings: list[str], only: dict[str, list[str]]) -> list[str]:
    """Return the encodings of a size, in the order of the study."""
    return [name for name in encodings if name in only[size]] if size in only else encodings


class Scoring(Model):
    """The slice of a scoring job: the metrics that need no separate environment."""

    metrics: list[Metric]
    target_language: str = Field(
        description="Language that selects the tokeniser of the metrics; for example, 'ja' needs MeCab."
    )


class SystemsScoring(WithCode):
    """The slice of a job that scores many translations by one metric in a separate environment."""

    metric: Metric
    target_language: str


class Family(WithCode):
    """The slice of a significance job: the comparisons declared for one dataset, which are one family."""

    encodings: list[Name] = Field(description="All systems; those that no comparison names estimate the variance, too.")
    seeds: list[int]
    baseline: Name
    comparisons: list[Comparison] = Field(description="All comparisons; an empty list compares nothing.")
    metrics: Annotated[list[Metric], Field(min_length=1)]
    target_language: str
    significance: Significance = Significance()
    margin: Margins = {}
    looks: Looks | None = None

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The system and the baseline of each comparison."""
        return [(comparison.system, comparison.baseline) for comparison in self.comparisons]

    def among(self, encodings: list[str]) -> Family:
        """Return the comparisons of these encodings, which are those of a size."""
        kept = [each for each in self.comparisons if {each.system, each.baseline} <= set(encodings)]
        own = [name for name in self.encodings if name in encodings] if kept else []
        return self.model_copy(update={"encodings": own, "comparisons": kept})


class ReportedDataset(Model):
    """A dataset in a report."""

    name: Name
    title: str
    tests: list[str] = Field(description="Test sets; 'TEST@DECODING' in a study with several decodings.")


class Untrained(WithCode):
    """Encodings whose vectors are drawn without models."""

    dim: Annotated[int, Field(ge=2, multiple_of=2)] = Field(description="Model size.")
    encodings: dict[Name, AnyEncoding]


class Report(Model):
    """The slice of a table's or a figure's job: the items to show, in their display order."""

    study: Name
    title: str
    datasets: list[ReportedDataset]
    encodings: list[Name]
    sizes: list[Name]
    only: Only = Field(default={}, description="By size: its encodings, if these are not all.")
    seeds: list[int]
    metrics: Annotated[list[str], Field(min_length=1)] = Field(description="Names of the metrics, without settings.")
    baseline: Name
    alpha: Level = 0.05
    looks: Looks | None = None
    shown_positions: Positive | None = None
    untrained: Untrained | None = Field(default=None, description="Of a figure of vectors that needs no models.")
    meanings: str = Field(
        default="",
        exclude=True,  # from bundles, whose files have the names of the study
        description="A digest that changes if names of the study exchange their models or decodings.",
    )

    @property
    def tests(self) -> dict[str, list[str]]:
        """The test sets of each dataset."""
        return {dataset.name: dataset.tests for dataset in self.datasets}

    @property
    def compared(self) -> list[tuple[str, str, str]]:
        """The dataset, size and test set of each group of translations that are compared."""
        return [(data.name, size, test) for data in self.datasets for size in self.sizes for test in data.tests]

    def encodings_of(self, size: str) -> list[str]:
        """Return the encodings of the models of a size."""
        return encodings_of(size, self.encodings, self.only)


class Analysed(WithCode):
    """The slice of an analysis: the items to analyse, and the settings of only this analysis."""

    report: Report
    settings: Analyses
    source_languages: dict[Name, str] = Field(default={}, description="By dataset.")
    target_languages: dict[Name, str] = Field(
        default={}, description="Target language by dataset; selects BLEU's tokeniser."
    )


class Measured(WithCode):
    """The slice of a job that measures models for one analysis."""

    settings: Analyses = Field(description="Settings of only this analysis, as far as they affect measuring.")
    preparation: Preparation = Field(description="Preprocessing of the dataset.")
    detokenise: bool = Field(default=True, description="Whether translations must be detokenised.")


PositionsKind = Literal["gold", "identity", "oracle", "predicted"]


class Positions(Model):
    """The source of reordered source positions, for encodings that need them."""

    train: PositionsKind = Field(
        default="gold",
        description="'gold' are those of a generated pair's trees; 'identity' changes no order; 'oracle' are those of "
        "the trees that fit the word alignment best; 'predicted' those of a parser that sees only the source.",
    )
    test: PositionsKind = Field(
        default="gold",
        description="Positions of test sets, and of 'valid', which represents them. 'oracle' positions follow from the "
        "references: such scores are an upper bound, which no translation of new text can have.",
    )
    reorderer: Name | None = Field(
        default=None, description="Name in reorderers.yaml, for 'oracle' and 'predicted' positions."
    )
    noise: float = Field(
        default=0.0, ge=0, le=1, description="Fraction of the training set's positions that are swapped at random."
    )

    @model_validator(mode="after")
    def _reorderer_where_needed(self) -> Positions:
        if self.reorderer is None and {"oracle", "predicted"} & {self.train, self.test}:
            raise ValueError("'oracle' and 'predicted' positions need a 'reorderer', a name in reorderers.yaml")
        return self


class Reordering(Positions):
    """The positions of a study's encodings, and those of encodings with other ones."""

    encodings: dict[Name, Positions] = Field(
        default={}, description="Other positions for an encoding of this name, so that one study can compare positions."
    )

    def of(self, encoding: str) -> Positions:
        """Return the positions of an encoding."""
        return self.encodings.get(encoding, self)


# Entries of wordorder.figures.catalogue.
VectorFigureName = Literal["similarity", "encoding_matrix", "dot_product", "similarity_profile", "value_range"]
FigureName = Literal["forest", "variance", "scores", "perplexity", VectorFigureName, "mathematics"]


_SHARED = ("norm", "tie_embeddings")  # by all models of a study


class Study(Model):
    """Datasets x encodings x sizes x seeds, one recipe, and the tables and figures to show."""

    name: Name = Field(description="Name of the study, which is the name of its file.")
    title: str = Field(description="Title of the study page.")
    companions: list[Name] = Field(
        default=[],
        description="Studies that belong to this one, such as the other tables of a paper. Its target runs them, and "
        "'plan', 'status' and 'check' include them. Companions of companions are not included, and a study that is "
        "based on this one does not inherit them.",
    )
    datasets: Annotated[list[Name], Field(min_length=1)] = Field(
        description="Names of files in datasets/.", examples=[["multi30k"]]
    )
    encodings: Annotated[list[Name], Field(min_length=1)] = Field(
        description="Names in encodings.yaml.", examples=[["one", "other"]]
    )
    sizes: Annotated[list[Name], Field(min_length=1)] = Field(description="Names in sizes.yaml.", examples=[["tiny"]])
    only: Only = Field(
        default={},
        description="By size: the encodings of its models, if these are not all encodings of the study, such as "
        "{lstm: [none]}.",
    )
    seeds: Seeds = Field(
        description="Seeds: a list, or {looks: [3, 5]}, which begins with seeds 1 to 3 and may be extended to 5 "
        "('until').",
        examples=[[1, 2, 3]],
    )
    tests: list[Name] = Field(default=[], description="Test sets to translate; all test sets of the datasets if empty.")
    recipe: Recipe = Field(description="Settings of all trainings, or a name in recipes.yaml.")
    recipes: dict[Name, dict[str, Any]] = Field(
        default={}, description="By dataset, the keys of the recipe that are different for its models."
    )
    reordering: Reordering = Field(
        default=Reordering(), description="Reordered source positions, for encodings that need them."
    )
    decoding: Decodings = Field(
        default=Decoding(),
        description="The beam search; or several by name, such as {paper: {beam: 4, alpha: 0.6}, ours: {beam: 5}}: "
        "every model then translates each test set once per decoding, and the tables show them side by side.",
    )
    metrics: Annotated[list[Metric], Field(min_length=1)] = Field(
        default=["bleu", "chrf++"],
        description="Names of metrics; one that has settings may be given with them, such as {comet: {model: …}}.",
        examples=[["bleu", "chrf++"]],
    )
    baseline: Name = Field(description="Encoding with which the others are compared.")
    comparisons: list[Comparison] = Field(
        default=[],
        description="Comparisons of two systems, to be declared before the run. If there are none, every encoding is "
        "compared with the baseline.",
        examples=[[{"system": "one", "baseline": "other"}]],
    )
    significance: Significance = Field(
        default=Significance(), description="Level, seed and number of resamples of the tests."
    )
    margin: Margins = Field(
        default={},
        description="By metric: the difference up to which two systems count as equivalent. The defaults are 0.5 BLEU "
        "and, of chrF and COMET, the difference of which people notice as much (docs/statistics.md).",
        examples=[{"bleu": 0.5}],
    )
    tables: list[Literal["scores", "significance", "retention", "variance", "parameters"]] = Field(
        default=["scores", "significance", "variance", "parameters"],
        description="Tables of the study. 'retention' tests what share of its score each encoding keeps on the test "
        "sets after the first.",
    )
    published: list[Shown] = Field(
        default=[], description="Published tables to compare with our scores, from published/scores.yaml."
    )
    paper: Name | None = Field(
        default=None,
        description="A paper under published/claims/, whose tables, claims and contradictions the page shows, decided "
        "by this study and its companions. A study that is based on this one does not inherit it.",
    )
    figures: list[FigureName] = Field(
        default=["forest", "variance", "scores", "perplexity", "similarity", "encoding_matrix"],
        description="Figures of the study.",
    )
    shown_positions: Positive | None = Field(
        default=None, description="Number of positions in the figures of vectors; 64 if missing."
    )
    vectors_at: dict[VectorFigureName, Annotated[int, Field(ge=2, multiple_of=2)]] = Field(
        default={},
        description="By figure of vectors: a model size (d) at which it is drawn without models, of the encodings "
        "whose vectors training does not change.",
    )
    analyses: Analyses = Field(
        default=Analyses({}), description="Analyses of the study with their settings, by name; {} uses the defaults."
    )

    @field_validator("recipes")
    @classmethod
    def _recipes_fit(cls, recipes: dict[str, dict[str, Any]], info: ValidationInfo) -> dict[str, dict[str, Any]]:
        known = [name for name in Recipe.model_fields if name not in _SHARED]
        for dataset, changes in recipes.items():
            if wrong := [key for key in changes if key not in known]:
                raise ValueError(f"'recipes.{dataset}' has '{wrong[0]}', but its keys are {', '.join(known)}")
            if isinstance(recipe := info.data.get("recipe"), Recipe):
                try:
                    Recipe.model_validate_json(json.dumps(recipe.model_dump() | changes), strict=True)
                except ValidationError as error:
                    raise MemberError(Recipe, error, at=(dataset,)) from error
        return recipes

    def encodings_of(self, size: str) -> list[str]:
        """Return the encodings of the models of a size."""
        return encodings_of(size, self.encodings, self.only)

    def recipe_of(self, dataset: str) -> Recipe:
        """Return the recipe of the models of a dataset."""
        return Recipe.model_validate({**self.recipe.model_dump(), **self.recipes.get(dataset, {})})

    @property
    def seed_numbers(self) -> list[int]:
        """The seeds to train."""
        return list(range(1, self.seeds.now + 1)) if isinstance(self.seeds, Looks) else self.seeds

    @property
    def looks(self) -> Looks | None:
        """The looks of a study that has more than one."""
        return self.seeds if isinstance(self.seeds, Looks) else None

    @property
    def decodings(self) -> dict[str, Decoding]:
        """The decodings by name; a single decoding has the name ''."""
        return self.decoding if isinstance(self.decoding, dict) else {"": self.decoding}

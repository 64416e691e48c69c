"""Typed models of the analyses that a study can ask for: ``analyses: {length: {edges: [20, 40, 60]}}``.

What each of them shows and how it is defined stands in docs/analyses.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from wordorder.config.base import Model, Name, Positive

Order = Annotated[int, Field(ge=1, le=100)]


class NgramGap(Model):
    """How far each encoding is from the baseline, by the length of the n-grams that a metric counts."""

    characters: Order = Field(default=30, description="chrF with character n-grams of up to 1, 2, … this many.")
    character_words: int = Field(
        default=2, ge=0, le=100, description="Word order of chrF while the characters vary: 2 is chrF++, 0 chrF."
    )
    words: Order = Field(default=8, description="chrF with 6 characters and word n-grams of up to 1, 2, … this many.")
    bleu: Order = Field(default=8, description="BLEU with n-grams of up to 1, 2, … this many words.")


class Length(Model):
    """Scores by the length of the source sentence."""

    edges: Annotated[list[Positive], Field(min_length=1)] = Field(
        default=[20, 40, 60], description="Where a bucket begins: [20, 40] makes 0-19, 20-39 and 40 or more."
    )
    unit: Literal["word", "subword"] = Field(
        default="word",
        description="'word' counts Moses tokens of the raw text, dashes split off; 'subword' what the model reads.",
    )

    @model_validator(mode="after")
    def _edges_rise(self) -> Length:
        if sorted(set(self.edges)) != self.edges:
            raise ValueError(f"the edges must rise, but are {self.edges}")
        return self


class ReorderingAmount(Model):
    """Scores by how far the source's order is from the target's (Kendall's tau)."""

    by: Literal["gold", "links"] = Field(
        default="links",
        description="'gold' takes the trees of a generated dataset, 'links' the word alignment with the reference.",
    )
    aligner: Name = Field(default="hmm", description="A name in aligners.yaml of type 'hmm', for 'links'.")
    bins: Annotated[int, Field(ge=2)] = Field(
        default=4, description="Of about as many sentences each; sentences with the same tau stay together."
    )


class RelativePosition(Model):
    """The share of the reference's words that are found in the translation, by where in the sentence they stand."""

    bins: Annotated[int, Field(ge=2)] = 10
    ngrams: Annotated[list[Order], Field(min_length=1)] = Field(
        default=[1, 2], description="1 counts words, 2 pairs of neighbours, and so on."
    )


class Extrapolation(Model):
    """Scores of sentences whose source is longer than those that the model was trained on."""

    percentile: Annotated[float, Field(gt=0, le=100)] = Field(
        default=100, description="100: longer than every training source; 99: than 99 % of them. Counts subwords."
    )


class Perplexity(Model):
    """Perplexity of the test sets' references, per subword, word and character."""


class AttentionReading(Model):
    """How a word alignment is read off the decoder's attention to the source: the slice of measuring it."""

    layer: int = Field(
        default=-2,
        description="Of the decoder, from 0, or from behind: -2 is the penultimate. The first where there are too few.",
    )
    heads: Literal["mean"] | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] = Field(
        default="mean", description="'mean' of all, or the numbers, from 0, of those whose mean is taken."
    )
    step: Literal["produce", "read"] = Field(
        default="produce",
        description="Attention of a target piece from the step that produces it, or that reads it (Chen et al. 2020).",
    )


class AttentionAlignment(AttentionReading):
    """Alignment error rate, precision and recall of the decoder's attention against gold links."""

    sets: Annotated[list[Name], Field(min_length=1)] = Field(
        default=["gold"],
        description="Names in gold_alignments.yaml; 'gold' are the links of a generated dataset's test sets.",
    )


class Probes(Model):
    """How much encoder output and translation change when the words of the source change places."""

    permute: bool = Field(default=True, description="Put all words in a random order.")
    swaps: list[Positive] = Field(default=[1, 2, 4, 8], description="Swap two words this far apart.")
    windows: list[Annotated[int, Field(ge=2)]] = Field(
        default=[2, 3, 5], description="Shuffle the words within each run of this many."
    )
    sentences: Positive = Field(default=200, description="The first ones of each test set.")
    beam: Positive = Field(default=1, description="Of the translations.")
    seed: int = Field(default=1, ge=0)
    positions: Literal["moved", "own"] = Field(
        default="moved",
        description="Of encodings that need reordered positions: 'moved', every word takes along the place in target "
        "order that it had; 'own', the words count as being in target order as they stand.",
    )

    @model_validator(mode="after")
    def _something_to_do(self) -> Probes:
        if not (self.permute or self.swaps or self.windows):
            raise ValueError("nothing is asked for: 'permute' is false, and 'swaps' and 'windows' are empty")
        return self


class AttentionDistance(Model):
    """How far, and how widely spread, each head of self-attention looks."""

    sentences: Positive = Field(default=500, description="The first ones of each test set.")


class ForwardTime(Model):
    """How long the models take for the same forward passes of a batch of random tokens; those of the first seed."""

    sentences: Positive = Field(default=32, description="In the batch.")
    length: Annotated[int, Field(ge=2)] = Field(default=32, description="Subwords of each source and target.")
    passes: Positive = Field(default=10, description="Forward passes that are timed as one.")
    rounds: Positive = Field(default=7, description="How often the models take turns.")


class Sweep(Model):
    """Scores against a number that the study's encodings differ in."""

    parameter: Annotated[str, Field(min_length=1)] = Field(description="What the number is, as the axis shall say it.")
    curves: Annotated[dict[str, Annotated[dict[Name, float], Field(min_length=2)]], Field(min_length=1)] = Field(
        description="For each curve the number of each of its encodings. Encodings of no curve are drawn as levels."
    )
    scale: Literal["linear", "log"] = Field(default="linear", description="Of the number's axis.")

    @model_validator(mode="after")
    def _numbers_fit(self) -> Sweep:
        for name, values in self.curves.items():
            if len(set(values.values())) < len(values):
                raise ValueError(f"two encodings of the curve '{name}' have the same number")
        encodings = [encoding for values in self.curves.values() for encoding in values]
        if len(set(encodings)) < len(encodings):
            raise ValueError("an encoding is in two curves")
        if self.scale == "log" and min(min(values.values()) for values in self.curves.values()) <= 0:
            raise ValueError("a logarithmic scale has no place for numbers that are not greater than 0")
        return self


class Analyses(Model):
    """Each analysis that a study wants, with its settings; what is not named is not done."""

    ngram_gap: NgramGap | None = None
    length: Length | None = None
    reordering: ReorderingAmount | None = None
    position: RelativePosition | None = None
    extrapolation: Extrapolation | None = None
    perplexity: Perplexity | None = None
    alignment: AttentionAlignment | None = None
    probes: Probes | None = None
    attention_distance: AttentionDistance | None = None
    sweep: Sweep | None = None
    forward_time: ForwardTime | None = None

    @model_validator(mode="before")
    @classmethod
    def _named_is_wanted(cls, data: Any) -> Any:
        """A name with nothing after it, which YAML reads as null, asks for the analysis with its defaults."""
        return (
            {name: {} if value is None else value for name, value in data.items()} if isinstance(data, dict) else data
        )

    @model_serializer(mode="wrap")
    def _only_wanted(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what is not wanted: a slice does not change when there is a new kind of analysis."""
        return {name: value for name, value in dump(self).items() if value is not None}

    @property
    def names(self) -> list[str]:
        """What is wanted, in the order of the fields."""
        return [name for name in type(self).model_fields if getattr(self, name) is not None]

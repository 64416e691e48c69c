"""JSON schemas of the files under ``config/``, generated from their models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from wordorder.config.alignments import GoldSets
from wordorder.config.datasets import Dataset, DerivedDataset
from wordorder.config.models import Encodings, Sizes, Study
from wordorder.config.published import PublishedParameters
from wordorder.config.published_scores import PublishedScoreTables
from wordorder.config.reordering import Aligners, Reorderers

_MODELS: dict[str, type[BaseModel]] = {
    "study": Study,
    "dataset": Dataset,
    "derived_dataset": DerivedDataset,
    "sizes": Sizes,
    "encodings": Encodings,
    "aligners": Aligners,
    "reorderers": Reorderers,
    "gold_alignments": GoldSets,
    "published_parameters": PublishedParameters,
    "published_scores": PublishedScoreTables,
}


def schemas() -> dict[str, dict[str, Any]]:
    """Schema by the name of its file. The parameters of encodings are open: each encoding checks its own."""
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {name: {**draft, **model.model_json_schema()} for name, model in _MODELS.items()}

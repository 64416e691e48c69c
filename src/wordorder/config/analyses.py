"""The key ``analyses`` of a study: ``analyses: {length: {edges: [20, 40, 60]}}``.

Each analysis is a file of :mod:`wordorder.analyses`, or of a plug-in, and defines its own settings.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

from pydantic import Field, GetJsonSchemaHandler, RootModel, SerializeAsAny, create_model, model_validator
from pydantic_core import CoreSchema

from wordorder.config.base import Model
from wordorder.registry import registry_of


def analyses_model() -> type[Model]:
    """Return the model whose fields are the existing analyses, each with its settings."""
    return _model(tuple(registry_of("analyses")))


@lru_cache
def _model(members: tuple[type[Model], ...]) -> type[Model]:
    fields: dict[str, Any] = {
        str(vars(member)["name"]): (member | None, Field(default=None, description=inspect.getdoc(member)))
        for member in members
    }
    return create_model(
        "Analyses", __base__=Model, __doc__="The analyses of a study, each with its settings.", **fields
    )


class Analyses(RootModel[dict[str, SerializeAsAny[Model]]]):
    """The analyses of a study by name, in the order in which the study names them.

    ``analyses[name]`` is an object of :class:`wordorder.analyses.base.Analysis`.
    """

    @model_validator(mode="before")
    @classmethod
    def _parse(cls, data: Any) -> Any:
        """Convert settings to analyses; a name without settings (null in YAML) takes the defaults."""
        if not isinstance(data, dict) or all(isinstance(value, Model) for value in data.values()):
            return data
        given = {name: {} if value is None else value for name, value in data.items()}
        parsed = analyses_model().model_validate_json(json.dumps(given), strict=True)
        return {name: getattr(parsed, name) for name in data}

    @classmethod
    def written_as(cls) -> type[Model]:
        """Return the model of the keys that may be written here."""
        return analyses_model()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(analyses_model().__pydantic_core_schema__)

    @property
    def names(self) -> list[str]:
        """The names of the analyses."""
        return list(self.root)

    def __getitem__(self, name: str) -> Any:
        return self.root[name]

    def __contains__(self, name: object) -> bool:
        return name in self.root

    def items(self) -> Iterator[tuple[str, Any]]:
        """Iterate over the names and the analyses."""
        return cast("Iterator[tuple[str, Any]]", iter(self.root.items()))

"""Fields whose model is in a registry, such as encodings, whose parameters depend on their ``type``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from wordorder.errors import WordorderError
from wordorder.registry import Registry, registry_of


class ByName:
    """Marks a field whose value names a member of a registry, which defines the keys of the value.

    ``Annotated[Base, ByName("encodings", "type")]`` is a field of the class ``Base``. Its text is parsed as the
    ``configuration`` of the member that its key ``type`` names; a value of that class is accepted unchanged. It is
    written with all keys of its own class. The registry is imported when the first value is parsed.

    Args:
        kind: A key of :data:`wordorder.registry.KINDS`. Each member of its registry has an attribute ``configuration``,
            which is a subclass of ``Base``.
        key: The key that names the member.
        default: The member if the key is missing.
        implied: Other keys whose presence names a member, with that member's name.
    """

    def __init__(
        self, kind: str, key: str, *, default: str | None = None, implied: Mapping[str, str] | None = None
    ) -> None:
        self.kind, self.key, self.default, self.implied = kind, key, default, implied or {}

    @property
    def registry(self) -> Registry[Any]:
        """The registry of the members."""
        return registry_of(self.kind)

    def with_key(self, key: str) -> list[str]:
        """Return the names of the members that have a key."""
        return [name for name in self.registry.names() if key in self._model(name).model_fields]

    def _model(self, name: str) -> type[BaseModel]:
        model: type[BaseModel] = self.registry.get(name).configuration
        return model

    def _parse(self, value: Any, base: type[BaseModel]) -> BaseModel:
        if isinstance(value, base):
            return value
        model = base
        try:
            model = self._model(self._name(value, base))
            # Strict types, as in JSON: the text "8" and the truth value true are not numbers.
            return model.model_validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            raise MemberError(model, error, field=self) from error

    def _name(self, value: Any, base: type[BaseModel]) -> str:
        """Return the name of the member that a value names."""
        if not isinstance(value, Mapping):
            raise _wrong(base, "model_type", (), value, class_name=base.__name__)
        implied = (name for key, name in self.implied.items() if key in value)
        name = value.get(self.key, next(implied, self.default))
        if name is None:
            raise _wrong(base, "missing", (self.key,), value)
        if not isinstance(name, str):
            raise _wrong(base, "string_type", (self.key,), name)
        if name not in self.registry:
            raise _wrong(base, unknown_member(self.kind, name), (self.key,), name)
        return name

    def _write(self, value: BaseModel, info: core_schema.SerializationInfo) -> dict[str, Any]:
        written = value.model_dump(mode=info.mode, exclude_defaults=info.exclude_defaults)
        if self.key not in written and getattr(value, self.key) != self.default:
            written = {self.key: getattr(value, self.key), **written}
        return written

    def __get_pydantic_core_schema__(self, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: self._parse(value, source),
            metadata={"base": source},
            serialization=core_schema.plain_serializer_function_ser_schema(self._write, info_arg=True),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the keys that all members have. Extensions may add members, so other keys are allowed."""
        written = handler(schema["metadata"]["base"].__pydantic_core_schema__)
        found = handler.resolve_ref_schema(written)
        found["additionalProperties"] = True
        if self.implied:
            keys = [self.key, *self.implied]
            found["anyOf"] = [{"required": [key]} for key in keys]
            found.pop("required", None)
        elif self.default is not None:
            found["required"] = [key for key in found["required"] if key != self.key]
        return written


class MemberError(ValueError):
    """The mistakes of one field whose model is in a registry.

    Attributes:
        model: The model.
        error: The mistakes.
        at: The keys below the field that lead to the value of the model.
        field: The field, if it is marked with :class:`ByName`.
    """

    def __init__(
        self, model: type[BaseModel], error: ValidationError, *, at: tuple[str, ...] = (), field: ByName | None = None
    ) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, d['loc']))}: {d['msg']}" for d in error.errors()))
        self.model, self.error, self.at, self.field = model, error, at, field


def unknown_member(kind: str, name: str) -> PydanticCustomError:
    """Return the error that a kind of extension has no member of this name."""
    return PydanticCustomError("unknown_member", "unknown name '{name}'", {"kind": kind, "name": name})


def _wrong(
    base: type[BaseModel], kind: str | PydanticCustomError, location: tuple[str, ...], found: Any, **context: Any
) -> ValidationError:
    details = InitErrorDetails(type=kind, loc=location, input=found, ctx=context)
    return ValidationError.from_exception_data(base.__name__, [details])


def name_of(model: type[BaseModel], key: str) -> str:
    """Return the name that a member's model fixes as the default of ``key``.

    Args:
        model: The model.
        key: The key.

    Returns:
        The name.

    Raises:
        WordorderError: The key has no default.
    """
    name = model.model_fields[key].default
    if not isinstance(name, str):
        raise WordorderError(
            f"{model.__name__} of {model.__module__} does not name its {key}. Give it a line such as "
            f'\'{key}: Literal["name"] = "name"\'.',
            code="unnamed-member",
            key=key,
        )
    return name

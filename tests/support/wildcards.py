"""The arguments that Snakemake passes to input and parameter functions, without Snakemake."""

from __future__ import annotations


class Wildcards:
    """The wildcards of a job: attributes, and ``get`` for those that a rule may not have."""

    def __init__(self, **values: str) -> None:
        self.__dict__.update(values)

    def get(self, name: str) -> str | None:
        value: str | None = self.__dict__.get(name)
        return value

    def keys(self) -> list[str]:
        return list(self.__dict__)

    def __getitem__(self, name: str) -> str:
        value: str = self.__dict__[name]
        return value

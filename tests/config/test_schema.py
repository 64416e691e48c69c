"""Test that the shipped configuration loads, and that its JSON schemas are those of the models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from wordorder.cli.main import main
from wordorder.config.datasets import TextFile
from wordorder.config.document import read_yaml
from wordorder.config.load import (
    dataset_names,
    load_dataset,
    load_encodings,
    load_published,
    load_sizes,
    load_study,
    study_names,
)
from wordorder.config.schema import schemas
from wordorder.registry import registry_of

ROOT = Path(__file__).parents[2] / "config"


def kind_of(path: Path) -> str:
    """Return the schema that the file names for editors."""
    kind = path.read_text().split("/schema/")[1].split(".json")[0]
    assert kind in ("study", "derived_study", "dataset", "derived_dataset")
    return kind


FILES = [
    ("encodings", ROOT / "encodings.yaml"),
    ("sizes", ROOT / "sizes.yaml"),
    ("recipes", ROOT / "recipes.yaml"),
    ("published_parameters", ROOT / "published/parameters.yaml"),
    ("published_scores", ROOT / "published/scores.yaml"),
    *((kind_of(path), path) for folder in ("studies", "datasets") for path in sorted(ROOT.glob(f"{folder}/*.yaml"))),
]


def keys(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over the keys of a schema and of the schemas that it defines, each with its path."""
    for name, model in {path: schema, **schema.get("$defs", {})}.items():
        for key, about in model.get("properties", {}).items():
            yield f"{path}: {name}.{key}", about


def test_every_key_of_the_configuration_is_described() -> None:
    described = {path: about for name, schema in schemas().items() for path, about in keys(schema, name)}
    for kind in ("encodings", "architectures", "dataset_formats", "analyses"):
        registry = registry_of(kind)
        for name in registry.names():
            member = registry.get(name)
            schema = getattr(member, "configuration", member).model_json_schema()
            described |= dict(keys(schema, f"{kind}, {name}"))
    # A constant, such as the type of an encoding, explains itself. A derived study allows null for each key of a study.
    lacking = [
        path
        for path, about in described.items()
        if "description" not in about and "const" not in about and not path.startswith("derived_study")
    ]
    assert not lacking, f"describe these keys: {lacking}"


def test_schemas_have_not_drifted(tmp_path: Path) -> None:
    assert main(["schema", "--output", str(tmp_path / "new")]) == 0
    written = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    shipped = {path.name: path.read_text() for path in (ROOT / "schema").iterdir()}
    assert written == shipped, "run 'wordorder schema --output config/schema'"


def test_everything_loads() -> None:
    assert {"demo", "multi30k", "multi30k_fr"} <= set(study_names(ROOT))
    for name in study_names(ROOT):
        assert load_study(name, ROOT).name == name
    for name in dataset_names(ROOT):
        assert load_dataset(name, ROOT).licence
    assert {"micro", "tiny", "small", "small_1204", "base", "big", "deep", "deep_decoder"} <= set(load_sizes(ROOT))
    assert {"none", "sinusoidal", "learned", "opr", "relative", "opr_rpr"} <= set(load_encodings(ROOT))
    assert load_published(ROOT)


@pytest.mark.parametrize(("kind", "path"), FILES, ids=lambda value: getattr(value, "stem", value))
def test_files_satisfy_their_schema_and_name_it(kind: str, path: Path) -> None:
    Draft202012Validator(schemas()[kind]).validate(read_yaml(path).data)
    named = path.read_text().splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / named).resolve() == (ROOT / f"schema/{kind}.json").resolve()


def test_schemas_refuse_what_the_models_refuse() -> None:
    study = read_yaml(ROOT / "studies/demo.yaml").data
    validator = Draft202012Validator(schemas()["study"])
    for wrong in ({**study, "titel": "x"}, {**study, "metrics": [3]}, {**study, "seeds": []}):
        assert not validator.is_valid(json.loads(json.dumps(wrong)))
    validator, own = Draft202012Validator(schemas()["derived_study"]), {"name": "a", "based_on": "b"}
    assert validator.is_valid({**own, "recipe": {"dropout": 0.1, "patience": None}, "analyses": {"length": None}})
    for wrong in ({"name": "a"}, {**own, "titel": "x"}, {**own, "recipe": {"drop": 1}}, {**own, "seeds": [-1]}):
        assert not validator.is_valid(wrong)


def test_downloads_name_one_immutable_version() -> None:
    for name in dataset_names(ROOT):
        for key, download in load_dataset(name, ROOT).downloads.items():
            assert download.mirror, key
            if download.sha256:  # what is known by less has no published size either
                assert download.bytes is not None, key
            if "githubusercontent" in (download.url or ""):
                commit = str(download.url).split("/")[5]
                assert len(commit) == 40 and set(commit) <= set("0123456789abcdef"), key


def language(side: TextFile) -> str | None:
    """What the description of one side says of its language; nothing where it is a column."""
    if side.format in ("tmx", "tsv"):
        return getattr(side, "language", None)
    name = re.sub(r"\.(gz|bz2|xml|sgm|txt)$", "", side.member or side.file)
    last = re.split("[._]", name)[-1]
    return {"ch": "zh", "cn": "zh"}.get(last, last)


def test_both_sides_of_every_part_are_of_the_languages_said() -> None:
    for name in dataset_names(ROOT):
        dataset = load_dataset(name, ROOT)
        for part in [*dataset.train, *dataset.valid, *(part for parts in dataset.tests.values() for part in parts)]:
            assert part.source != part.target, name
            assert language(part.source) in (None, dataset.source_language), (name, part)
            assert language(part.target) in (None, dataset.target_language), (name, part)

"""Tests of studies that are based on another study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from little_study import Workspace
from raises import raises
from wordorder.config.derived import merged
from wordorder.config.load import load_study
from wordorder.config.models import Recipe


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.write()
    return made


def derived(workspace: Workspace, text: str) -> str:
    (workspace.config / "studies/twin.yaml").write_text(f"name: twin\nbased_on: little\n{text}")
    return "twin"


def test_groups_are_merged_lists_replaced_and_null_takes_away() -> None:
    base = {"a": {"b": 1, "c": {"d": 2}}, "list": [1, 2], "gone": 3}
    own = {"a": {"c": {"e": 3}}, "list": [9], "gone": None, "new": {"f": None}}
    assert merged(base, own) == {"a": {"b": 1, "c": {"d": 2, "e": 3}}, "list": [9], "new": {"f": None}}


def test_a_derived_study_differs_only_in_its_own_keys(workspace: Workspace) -> None:
    original = load_study("little", workspace.config)
    twin = load_study(
        derived(workspace, "seeds: [7]\nrecipe: {max_updates: 3}\nanalyses: {position: {}}"), workspace.config
    )
    assert twin.name == "twin" and twin.seeds == [7] and twin.recipe.max_updates == 3
    assert twin.analyses.names == ["position"]
    same = {"name": "little", "seeds": original.seeds, "recipe": original.recipe, "analyses": original.analyses}
    assert twin.model_copy(update=same) == original
    assert twin.recipe.model_copy(update={"max_updates": original.recipe.max_updates}) == original.recipe


def test_null_removes_an_analysis_whether_or_not_the_base_has_it(workspace: Workspace) -> None:
    """In the first study of a chain, null is an analysis with its defaults."""
    workspace.change("studies/little.yaml", "title:", "analyses: {length: null, perplexity: {}}\ntitle:")
    assert load_study("little", workspace.config).analyses.names == ["length", "perplexity"]
    twin = load_study(derived(workspace, "analyses: {position: {}}"), workspace.config)
    assert twin.analyses.names == ["length", "perplexity", "position"]
    twin = load_study(derived(workspace, "analyses: {perplexity: null, position: null}"), workspace.config)
    assert twin.analyses.names == ["length"]


def test_null_for_a_key_that_the_base_lacks_removes_nothing(workspace: Workspace) -> None:
    assert "margin" not in (workspace.config / "studies/little.yaml").read_text()
    twin = load_study(derived(workspace, "margin: null\nfigures: null"), workspace.config)
    assert twin.margin == load_study(derived(workspace, ""), workspace.config).margin


def test_null_removes_one_of_several_decodings(workspace: Workspace) -> None:
    workspace.change(
        "studies/little.yaml", "decoding: {beam: 2,", "decoding: {a: {beam: 2}, b: {beam: 3}}\nmargin: {}\n#"
    )
    twin = load_study(derived(workspace, "decoding: {b: null}"), workspace.config)
    assert list(twin.decodings) == ["a"]
    twin = load_study(derived(workspace, "decoding: {beam: 4}"), workspace.config)
    assert [decoding.beam for decoding in twin.decodings.values()] == [4]


def test_companions_are_not_inherited(workspace: Workspace) -> None:
    derived(workspace, "")
    workspace.change("studies/little.yaml", "title:", "companions: [twin]\ntitle:")
    assert load_study("little", workspace.config).companions == ["twin"]
    assert load_study("twin", workspace.config).companions == []
    derived(workspace, "companions: [little]")
    (workspace.config / "studies/other.yaml").write_text("name: other\nbased_on: twin\n")
    assert load_study("twin", workspace.config).companions == ["little"]
    assert load_study("other", workspace.config).companions == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("titel: x", {"code": "unknown-key", "line": 3, "key": "titel", "suggestion": "title"}),
        ("sizes: [macro]", {"code": "unknown-name", "line": 3, "key": "sizes[0]"}),
        ("encodings: [opr]", {"code": "unknown-name", "line": 2, "key": "baseline"}),
        ("analyses: {lenght: null}", {"code": "unknown-key", "line": 3, "suggestion": "length"}),
        ("recipe: {max_update: null}", {"code": "unknown-key", "line": 3, "suggestion": "max_updates"}),
        ("titel: null", {"code": "unknown-key", "line": 3, "key": "titel", "suggestion": "title"}),
        ("baseline: null", {"code": "missing-key", "line": 3, "key": "baseline"}),
    ],
)
def test_mistakes_name_the_derived_study(workspace: Workspace, text: str, problem: dict[str, Any]) -> None:
    with raises(**problem):
        load_study(derived(workspace, text), workspace.config)


def test_the_study_that_a_study_is_based_on_must_exist(workspace: Workspace) -> None:
    derived(workspace, "")
    (workspace.config / "studies/twin.yaml").write_text("name: twin\nbased_on: litle\n")
    with raises("unknown-name", line=2, key="based_on", suggestion="little"):
        load_study("twin", workspace.config)


def test_a_chain_of_studies_may_not_be_a_circle(workspace: Workspace) -> None:
    derived(workspace, "seeds: [7]")
    other = workspace.config / "studies/other.yaml"
    other.write_text("name: other\nbased_on: twin\n")
    assert load_study("other", workspace.config).seed_numbers == [7]
    (workspace.config / "studies/twin.yaml").write_text("name: twin\nbased_on: other\n")
    with raises("self-reference", line=2, key="based_on"):
        load_study("other", workspace.config)


def recipes(workspace: Workspace, text: str) -> None:
    (workspace.config / "recipes.yaml").write_text(text)


def test_a_recipe_that_is_named_replaces_the_one_of_the_other_study(workspace: Workspace) -> None:
    recipes(workspace, "short: {max_updates: 3}")
    assert load_study("little", workspace.config).recipe.batch_tokens != Recipe(max_updates=3).batch_tokens
    assert load_study(derived(workspace, "recipe: short"), workspace.config).recipe == Recipe(max_updates=3)


def test_a_recipe_may_differ_from_one_that_another_study_names(workspace: Workspace) -> None:
    recipes(workspace, "short: {max_updates: 3, average: 2}")
    derived(workspace, "recipe: short")
    (workspace.config / "studies/other.yaml").write_text("name: other\nbased_on: twin\nrecipe: {max_updates: 4}\n")
    assert load_study("other", workspace.config).recipe == Recipe(max_updates=4, average=2)


def test_an_unknown_recipe_is_said(workspace: Workspace) -> None:
    recipes(workspace, "short: {max_updates: 3}")
    derived(workspace, "recipe: shrot")
    with raises("unknown-name", line=3, key="recipe", suggestion="short"):
        load_study("twin", workspace.config)


def test_mistakes_in_recipes_name_the_file_of_recipes(workspace: Workspace) -> None:
    recipes(workspace, "short:\n  max_updates: 3\n  averige: 2\n")
    with raises("unknown-key", line=3, key="short.averige", suggestion="average"):
        load_study(derived(workspace, "recipe: short"), workspace.config)

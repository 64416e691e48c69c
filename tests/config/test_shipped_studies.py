"""What shipped studies take over from released code."""

from __future__ import annotations

import pytest

from tiny_models import CONFIG
from wordorder.config.load import load_study


@pytest.mark.parametrize("name", ["opr", "opr_small", "opr_deep", "opr_big", "opr_k", "opr_k_big", "opr_seeds"])
def test_opr_drops_attention_weights_and_activations_as_its_released_architectures(name: str) -> None:
    recipe = load_study(CONFIG / "studies" / f"{name}.yaml").recipe
    assert (recipe.attention_dropout, recipe.activation_dropout) == (0.1, 0.1)


@pytest.mark.parametrize("name", ["opr_mini", "opr_deep_mini", "opr_big_mini", "opr_k_mini", "opr_seeds_mini"])
def test_models_of_committed_results_keep_their_recipe(name: str) -> None:
    recipe = load_study(CONFIG / "studies" / f"{name}.yaml").recipe
    assert (recipe.attention_dropout, recipe.activation_dropout) == (0, 0)

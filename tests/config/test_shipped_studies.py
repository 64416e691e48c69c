"""Tests of the settings that shipped studies take from released code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raises import raises
from tiny_models import CONFIG
from wordorder.config.load import load_encodings, load_sizes, load_study
from wordorder.config.models import Recipe
from wordorder.model.architectures.transformer import TransformerSize
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.models import cell_files


@pytest.mark.parametrize("name", ["opr", "opr_small", "opr_deep", "opr_big", "opr_k", "opr_k_big", "opr_seeds"])
def test_opr_drops_attention_weights_and_activations_as_its_released_architectures(name: str) -> None:
    recipe = load_study(CONFIG / "studies" / f"{name}.yaml").recipe
    assert (recipe.attention_dropout, recipe.activation_dropout) == (0.1, 0.1)


@pytest.mark.parametrize("name", ["opr_mini", "opr_deep_mini", "opr_big_mini", "opr_k_mini", "opr_seeds_mini"])
def test_models_of_committed_results_keep_their_recipe(name: str) -> None:
    recipe = load_study(CONFIG / "studies" / f"{name}.yaml").recipe
    assert (recipe.attention_dropout, recipe.activation_dropout) == (0, 0)


@pytest.mark.parametrize("name", ["low", "middle", "high", "highest"])
def test_recipes_of_captions_are_compared_by_perplexity_alone(name: str) -> None:
    assert load_study(f"captions_recipe_{name}", CONFIG).analyses.names == ["perplexity"]


def test_datasets_of_a_study_have_their_own_recipes() -> None:
    opr, twin = (load_study(CONFIG / "studies" / f"{name}.yaml") for name in ("opr", "opr_mini"))
    small, large = opr.recipe_of("wmt16_enro"), opr.recipe_of("wmt14_ende")
    assert large == opr.recipe and small.max_updates is not None and large.max_updates is not None
    assert small.max_updates < large.max_updates and small.learning_rate == large.learning_rate
    assert {dataset: twin.recipe_of(dataset) for dataset in twin.datasets} == dict.fromkeys(twin.datasets, twin.recipe)


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"norm": "pre"}, "invalid-value"), ({"updates": 3}, "invalid-value"), ({"max_updates": 0}, "out-of-range")],
)
def test_a_wrong_recipe_of_a_dataset_is_a_sentence(changes: dict[str, object], code: str, config: Path) -> None:
    path = config / "studies/demo.yaml"
    path.write_text(f"{path.read_text()}recipes: {{grammar: {json.dumps(changes)}}}\n")
    with raises(code):
        load_study("demo", config)


def test_studies_of_a_middle_size_share_their_models() -> None:
    """Of one recipe and dataset, so that an encoding of two papers is trained once."""
    configuration = Configuration(CONFIG)
    folders = [
        {
            str(files.folder)
            for cell, files in cell_files(configuration.study(name), configuration, Path("results")).items()
            if (cell.dataset, cell.encoding) == ("iwslt14_ende", "sinusoidal")
        }
        for name in ("posnet_middle", "xlpe_middle", "opr_middle")
    ]
    assert len(folders[0]) == 3 and folders[0] == folders[1] == folders[2]


@pytest.mark.parametrize("name", ["posnet", "xlpe", "opr", "sinusoid"])
def test_the_document_of_a_paper_names_every_key_and_dataset_of_its_recipes(name: str) -> None:
    text = (CONFIG.parent / "docs/papers" / f"{name}.md").read_text(encoding="utf-8")
    study = load_study(name, CONFIG)
    for member in [study, *(load_study(companion, CONFIG) for companion in study.companions)]:
        assert all(f"`{dataset}`" in text for dataset in member.datasets), member.name
    assert [key for key in Recipe.model_fields if f"`{key}`" not in text] == []


@pytest.mark.parametrize("name", ["posnet", "xlpe", "opr"])
def test_a_sweep_of_a_paper_shares_the_model_of_the_default(name: str) -> None:
    """An entry with the number that is the default at the size of the model would be trained a second time."""
    study, encodings, sizes = load_study(name, CONFIG), load_encodings(CONFIG), load_sizes(CONFIG)
    for member in (study, *(load_study(companion, CONFIG) for companion in study.companions)):
        for size in (sizes[own] for own in member.sizes if isinstance(sizes[own], TransformerSize)):
            quarters = {"kernel_dim": size.dim // 4, "tau": size.heads // 4}
            for encoding in member.encodings:
                given = encodings[encoding].model_dump(exclude_defaults=True)
                assert not quarters.items() & {(key, given.get(key)) for key in quarters}, (member.name, encoding)

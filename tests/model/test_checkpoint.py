from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from guide import plugin
from raises import raises
from tiny_models import SIZE, VOCABULARY, configurations, full, sentences
from wordorder.config.models import Cell, Recipe
from wordorder.draws import repeatable
from wordorder.errors import WordorderError
from wordorder.model.architectures.transformer import Transformer
from wordorder.model.checkpoint import build_model, count_parameters, load_model, load_tensors, save_model, save_tensors
from wordorder.registry import registry_of


def cell(encoding: dict[str, Any], **recipe: Any) -> Cell:
    return Cell(encoding=encoding, size=SIZE, recipe=Recipe(max_updates=1, **recipe), seed=0)


def saved(path: Path, own: Cell) -> Transformer:
    model = build_model(own, VOCABULARY)
    save_model(path, own, VOCABULARY, model.state_dict())
    return model


def refusal(path: Path) -> str:
    with pytest.raises(WordorderError) as raised:
        load_model(path)
    message = str(raised.value)
    assert message.startswith(str(path))
    assert message.endswith(".")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", configurations())
def test_a_loaded_model_is_the_saved_one(tmp_path: Path, name: str) -> None:
    own = cell(configurations()[name].model_dump(mode="json"))
    torch.manual_seed(1)
    model = saved(tmp_path / "model.pt", own).eval()
    torch.manual_seed(2)  # nothing of the loaded one is left to chance
    loaded = load_model(tmp_path / "model.pt")
    assert not loaded.training
    source, target = sentences([5, 3]), sentences([4, 4], seed=1)
    passes = []
    for each in (loaded, model):
        with torch.no_grad(), repeatable(0):  # some encodings draw in every pass
            passes.append(full(each, source, target))
    assert_close(*passes, rtol=0, atol=0)
    assert count_parameters(loaded) == count_parameters(model)


@pytest.mark.parametrize("ties", ["all", "decoder", "none"])
def test_ties_are_kept(tmp_path: Path, ties: str) -> None:
    saved(tmp_path / "model.pt", cell({"type": "none"}, tie_embeddings=ties))
    loaded = load_model(tmp_path / "model.pt")
    assert (loaded.source_embedding.weight is loaded.target_embedding.weight) is (ties == "all")
    assert (loaded.target_embedding.weight is loaded.output.weight) is (ties != "none")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "model.pt") == f"{tmp_path / 'model.pt'} does not exist. Train the cell first."


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "text", "folder"])
def test_a_damaged_file(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "model.pt"
    saved(path, cell({"type": "none"}))
    content = path.read_bytes()
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        middle = len(content) // 2
        path.write_bytes(
            {
                "empty": b"",
                "cut": content[:middle],
                "flipped": content[: len(content) - 400] + bytes(400),
                "text": b"these are no tensors\n",
            }[damage]
        )
    message = refusal(path)
    assert (f"'snakemake --force {path}'" in message) is (damage != "folder")


@pytest.mark.parametrize("content", [{"format": 0}, {"weights": {}}, [1, 2], torch.zeros(2)])
def test_another_format(tmp_path: Path, content: object) -> None:
    save_tensors(tmp_path / "model.pt", content)
    assert refusal(tmp_path / "model.pt").endswith("is not a model of this version of wordorder. Train the cell again.")


def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    path, own = tmp_path / "model.pt", cell({"type": "learned", "table": 20})
    weights = build_model(own, VOCABULARY).state_dict()
    name = "encoding.tables.encoder.weight"
    for changed, said in (
        ({key: value for key, value in weights.items() if key != name}, f'Missing key(s) in state_dict: "{name}"'),
        ({**weights, name: torch.zeros(19, SIZE.dim)}, f"size mismatch for {name}"),
        ({**weights, "more": torch.zeros(1)}, 'Unexpected key(s) in state_dict: "more"'),
    ):
        save_model(path, own, VOCABULARY, changed)
        message = refusal(path)
        assert "does not fit the model that its cell describes" in message
        assert said in message
    save_tensors(path, {"format": 1, "cell": own.model_dump_json()})
    assert "'vocabulary_size'" in refusal(path)
    save_tensors(path, {"format": 1, "cell": "{}", "vocabulary_size": 9, "weights": {}})
    assert "Field required" in refusal(path)


def test_a_model_is_not_used_with_other_code(tmp_path: Path, plugins: Path) -> None:
    file, path = plugins / "encodings/slope.py", tmp_path / "model.pt"
    file.write_text(plugin("encodings"), encoding="utf-8")
    trained = cell({"type": "slope"})
    saved(path, trained.model_copy(update={"code": trained.encoding.own_code}))
    load_model(path)
    file.write_text(plugin("encodings").replace("-self.slopes", "self.slopes"), encoding="utf-8")
    registry_of("encodings").forget_discovery()
    with raises("changed-extension", path=file, says=f"The model {path} was trained with other code of the encoding"):
        load_model(path)


def test_a_model_is_not_used_without_its_code(tmp_path: Path) -> None:
    own = cell({"type": "none"}).model_copy(update={"code": {"encodings/slope": "0123456789"}})
    saved(tmp_path / "model.pt", own)
    with raises("unknown-name", says="There is no encoding 'slope'"):
        load_model(tmp_path / "model.pt")


class Trap:
    """Unpickling it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return Path.mkdir, (self.folder,)


def test_code_in_a_file_is_refused_and_not_run(tmp_path: Path) -> None:
    path, sprung = tmp_path / "model.pt", tmp_path / "sprung"
    save_tensors(path, {"format": 1, "cell": Trap(sprung)})
    message = refusal(path)
    assert "holds more than tensors" in message
    assert not sprung.exists()
    torch.load(path, weights_only=False)
    assert sprung.exists(), "the trap works where nothing guards against it"


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    path, own = tmp_path / "model.pt", cell({"type": "none"})
    saved(path, own)
    before = path.read_bytes()
    unsavable: Any = {"weight": (piece for piece in [1])}  # a generator cannot be pickled
    with pytest.raises(TypeError):
        save_model(path, own, VOCABULARY, unsavable)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_any_tensors_can_be_read(tmp_path: Path) -> None:
    save_tensors(tmp_path / "state.pt", {"a": torch.arange(3), "b": [1, "two"]})
    content = load_tensors(tmp_path / "state.pt")
    assert content["a"].tolist() == [0, 1, 2]
    assert content["b"] == [1, "two"]


def test_equal_models_have_equal_bytes(tmp_path: Path) -> None:
    """Evaluations name the checksum of their model."""
    model = build_model(own := cell({"type": "sinusoidal"}), VOCABULARY)
    for name in ("one.pt", "two.pt"):
        save_model(tmp_path / name, own, VOCABULARY, model.state_dict())
    assert (tmp_path / "one.pt").read_bytes() == (tmp_path / "two.pt").read_bytes()

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from place_encodings import every_place
from tiny_models import SIZE, around, sentences
from wordorder.model.architectures.transformer import Transformer
from wordorder.model.attention.lineage import Lineage
from wordorder.model.attention.multihead import KeyValueCache


@pytest.mark.parametrize(
    ("place", "kind"), [("Rotate", Lineage), ("Values", Lineage), ("Drawn", Lineage), ("Bias", KeyValueCache)]
)
@torch.no_grad()
def test_hypotheses_see_their_own_past_only(place: str, kind: type) -> None:
    """Hypotheses change places, multiply, and leave with their sentence, until the cache has grown twice."""
    torch.manual_seed(0)
    model = around(every_place(Transformer.shape(SIZE))[place])
    memory, caches = model.encode(sentences([6, 3, 5])), model.new_caches()
    assert all(isinstance(cache, kind) for cache in caches)
    history = torch.randint(4, 10, (3, 1, 1))  # (B, K, T)
    for step in range(20):
        result = model.step(history[:, :, -1], memory, caches, step)
        for k in range(history.size(1)):
            assert_close(result[:, k], model.decode(history[:, k], memory)[:, -1], rtol=1e-4, atol=5e-5)
        sentences_, width = history.shape[:2]
        kept = torch.tensor([0, 2]) if step == 4 else torch.arange(sentences_)
        parents = torch.randint(0, width, (len(kept), 4))
        for cache in caches:
            cache.select(kept[:, None] * width + parents)
        memory, history = memory.select(kept), history[kept].gather(1, parents[:, :, None].expand(-1, -1, step + 1))
        history = torch.cat((history, torch.randint(4, 10, (len(kept), 4, 1))), dim=2)

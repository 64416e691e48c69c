"""Learning rate: linear warm-up, then the inverse square root of the update (Vaswani et al. 2017, equation 3)."""

from __future__ import annotations

import math

from wordorder.config.models import Recipe


def learning_rate(recipe: Recipe, update: int) -> float:
    """Rate of update 1, 2, …: from ``warmup_from`` to ``learning_rate`` in ``warmup_updates``, then ∝ 1/√update."""
    if update < recipe.warmup_updates:
        share = update / recipe.warmup_updates
        return recipe.warmup_from + share * (recipe.learning_rate - recipe.warmup_from)
    return recipe.learning_rate * math.sqrt(recipe.warmup_updates / update)

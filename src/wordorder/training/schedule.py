"""Learning rate: linear warm-up, then the inverse square root of the update (Vaswani et al. 2017, equation 3)."""

from __future__ import annotations

import math

from wordorder.config.models import Recipe


def learning_rate(recipe: Recipe, update: int) -> float:
    """Return the learning rate of an update.

    The rate rises linearly from ``warmup_from`` to ``learning_rate`` in ``warmup_updates``, then falls as 1/√update.

    Args:
        recipe: The recipe of the run.
        update: The number of the update, from 1.
    """
    if update < recipe.warmup_updates:
        share = update / recipe.warmup_updates
        return recipe.warmup_from + share * (recipe.learning_rate - recipe.warmup_from)
    return recipe.learning_rate * math.sqrt(recipe.warmup_updates / update)

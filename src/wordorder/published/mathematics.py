"""Measure the papers' mathematical statements about positional encodings on the code that trains.

Each function returns measured numbers; :mod:`wordorder.published.claims` compares them with the bounds of the claims.
The object of a claim (an attention, a product, frequencies) is an argument, so that tests can also pass a wrong one.
All computations use double precision.

Notation: L is the length of a sentence, d the model dimension. X (L, d) are words, M (L, d) position vectors and
Φ (L, d, d) the kernels of PosNet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from wordorder.encodings.base import AttentionEncoding, Positions
from wordorder.encodings.kernels import positional_product, weight_concatenation, xavier_normal
from wordorder.encodings.waves import waves
from wordorder.model.attention.multihead import SelfAttention

# Maps L words to the attention outputs at their positions: (L, d) -> (L, d).
Attention = Callable[[Tensor], Tensor]


def random(*shape: int, seed: int) -> Tensor:
    """Draw standard normal numbers of a shape, in double precision."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def random_kernels(*shape: int, seed: int) -> Tensor:
    """Draw kernels Φ of shape (L, d_1, d_2) as PosNet initialises them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return xavier_normal(*shape).detach().double()


# -------------------------------------------------------------------- PosNet paper, section 3.1: permutations of words


def summing(dim: int, heads: int, encoding: AttentionEncoding, *, seed: int) -> Attention:
    """Build the weighted sum of equation 3: the self-attention of our models with an encoding.

    Args:
        dim: d.
        heads: The number of attention heads.
        encoding: The encoding, which acts inside the attention.
        seed: Determines the random weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = SelfAttention(dim, heads, 0.0).double().eval()

    @torch.no_grad()
    def attention(x: Tensor) -> Tensor:
        output: Tensor = module(x[None], mask=None, encoding=encoding, positions=Positions.range(len(x)))
        return output[0]

    return attention


def concatenating(kernels: Tensor, *, seed: int) -> Attention:
    """Build the weight concatenation of equations 10 and 11, with one head.

    Args:
        kernels: Φ, (L, d, d).
        seed: Determines the random projections.
    """
    dim = kernels.size(-1)
    projections = random_kernels(3, dim, dim, seed=seed)

    def attention(x: Tensor) -> Tensor:
        queries, keys, values = x @ projections
        weights = torch.softmax(queries @ keys.T / dim**0.5, dim=-1)
        return weight_concatenation(weights, values, kernels.flatten(0, 1))

    return attention


def permutation_changes(attention: Attention, *, length: int, dim: int, permutations: int, seed: int) -> Tensor:
    """Measure how much attention outputs depend on the order of the words (equations 9, 12 and 13).

    Args:
        attention: The attention.
        length: L.
        dim: d.
        permutations: The number of random permutations.
        seed: Determines words and permutations.

    Returns:
        For each permutation, the largest change of an output, relative to the largest output, (permutations,).
    """
    x = random(length, dim, seed=seed)
    before = attention(x)
    generator = torch.Generator().manual_seed(seed)
    changes = []
    for _ in range(permutations):
        order = torch.randperm(length, generator=generator)
        while torch.equal(order, torch.arange(length)):
            order = torch.randperm(length, generator=generator)
        changes.append((attention(x[order]) - before[order]).abs().max() / before.abs().max())
    return torch.stack(changes)


def sum_form(weights: Tensor, values: Tensor, kernels: Tensor) -> Tensor:
    """Compute a (V ⊗ Φ), equation 15.

    Args:
        weights: The attention weights a, (Lq, L).
        values: V, (L, d_v).
        kernels: Φ, (L, d_v, d_o).

    Returns:
        The outputs, (Lq, d_o).
    """
    return weights @ positional_product(values[None], kernels, torch.arange(len(values))[None])[0]


def sum_form_errors(form: Callable[[Tensor, Tensor, Tensor], Tensor], *, trials: int, seed: int) -> Tensor:
    """Compare a form of attention with the weight concatenation at random shapes (equations 14-17).

    Args:
        form: Maps weights, values and kernels to outputs, like :func:`sum_form`.
        trials: The number of random shapes.
        seed: Determines shapes and numbers.

    Returns:
        The largest absolute difference in each trial, (trials,).
    """
    generator = torch.Generator().manual_seed(seed)
    errors = []
    for trial in range(trials):
        length, inner, outer = (int(torch.randint(1, 20, (), generator=generator)) for _ in range(3))
        weights = random(length, length, seed=seed + trial).softmax(-1)
        values, kernels = random(length, inner, seed=seed + trial), random(length, inner, outer, seed=seed + trial)
        expected = weight_concatenation(weights, values, kernels.flatten(0, 1))
        errors.append((form(weights, values, kernels) - expected).abs().max())
    return torch.stack(errors)


# ---------------------------------------------------------------------------------------- PosNet paper, theorem 3.1


@dataclass(frozen=True)
class Descent:
    """The course of a gradient descent on Φ.

    Attributes:
        norms: ‖X ⊗ Φ - (X + M)‖₂ before each step and after the last one.
        kernels: Φ after the last step, (L, d, d).
    """

    norms: list[float]
    kernels: Tensor

    def steps(self, epsilon: float) -> int | None:
        """Return the number of steps until the norm was at most ``epsilon``; None if it never was."""
        return next((step for step, norm in enumerate(self.norms) if norm <= epsilon), None)


def distance(x: Tensor, m: Tensor, kernels: Tensor) -> Tensor:
    """Compute X ⊗ Φ - (X + M), (L, d)."""
    return positional_product(x[None], kernels, torch.arange(len(x))[None])[0] - (x + m)


def descend(x: Tensor, m: Tensor, *, until: float, most: int, seed: int) -> Descent:
    """Run plain gradient descent on Φ from a random start (theorem 3.1).

    The norm is the root of the sum of squares. The descent minimises half its square, which has the same minimum and is
    differentiable there. The learning rate is the largest one at which no word overshoots, 1 / max_i ‖x_i‖². The
    error of word i then shrinks by the factor 1 - ‖x_i‖² / max_j ‖x_j‖² per step. A word with x_i = 0, such as padding,
    therefore stays at ‖m_i‖, and the theorem, stated for "any given X", requires non-zero words.

    Args:
        x: X, (L, d).
        m: M, (L, d).
        until: The norm at which the descent stops.
        most: The largest number of steps.
        seed: Determines the initial Φ.
    """
    kernels = random_kernels(len(x), x.size(1), x.size(1), seed=seed).requires_grad_()
    rate = 1 / x.square().sum(-1).max()
    norms: list[float] = []
    while True:
        difference = distance(x, m, kernels)
        norms.append(float(difference.detach().norm()))
        if norms[-1] <= until or len(norms) > most:
            return Descent(norms, kernels.detach())
        (gradient,) = torch.autograd.grad(difference.square().sum() / 2, kernels)
        kernels = (kernels - rate * gradient).detach().requires_grad_()


def exact_kernels(x: Tensor, m: Tensor) -> Tensor:
    """Compute kernels with X ⊗ Φ = X + M: I + xᵀm / ‖x‖² for each word.

    Args:
        x: X, (L, d), without zero words.
        m: M, (L, d).

    Returns:
        Φ, (L, d, d).
    """
    identity = torch.eye(x.size(1), dtype=torch.float64)
    return identity + x[:, :, None] * m[:, None, :] / x.square().sum(-1)[:, None, None]


def convexity_violations(*, dim: int, trials: int, seed: int) -> Tensor:
    """Measure by how much h = ‖xφ - m‖ exceeds the chord between two random points (appendix A.1).

    Args:
        dim: d.
        trials: The number of random pairs of points.
        seed: Determines the points.

    Returns:
        The violations of convexity, (2, trials): the first row in x, as in the paper's proof; the second row in φ,
        which training changes.
    """
    x, other = random(2, trials, 1, dim, seed=seed)
    kernel, changed = random(2, trials, dim, dim, seed=seed + 1)
    m, weight = random(trials, 1, dim, seed=seed + 2), random(trials, 1, 1, seed=seed + 3).sigmoid()

    def h(x: Tensor, kernel: Tensor) -> Tensor:
        return (x @ kernel - m).square().sum((-2, -1)).sqrt()

    share = weight[:, 0, 0]
    in_x = h(weight * x + (1 - weight) * other, kernel) - share * h(x, kernel) - (1 - share) * h(other, kernel)
    in_kernel = h(x, weight * kernel + (1 - weight) * changed) - share * h(x, kernel) - (1 - share) * h(x, changed)
    return torch.stack((in_x, in_kernel)).clamp(min=0)


# --------------------------- orthogonal and sinusoidal encodings: d/2 pairs of a sine and a cosine, (d/2,) frequencies


def similarities(frequencies: Tensor, offsets: Tensor) -> Tensor:
    """Compute cos(P_0, P_offset).

    Args:
        frequencies: Radians per position, (d/2,).
        offsets: Offsets in positions, possibly fractional, (n,).

    Returns:
        The similarities, (n,).
    """
    # Each pair of a sine and a cosine has the norm 1, so the product of the norms is d/2.
    return waves(offsets, frequencies) @ waves(torch.zeros(1), frequencies)[0] / len(frequencies)


def largest_similarity(frequencies: Tensor) -> float:
    """Return the largest |cos(P_i, P_j)| of different positions among the first d/2."""
    vectors = waves(torch.arange(len(frequencies)), frequencies)
    return float((vectors @ vectors.T / len(frequencies)).fill_diagonal_(0).abs().max())


def repetition_error(frequencies: Tensor, period: int) -> float:
    """Return the largest |P(pos + period) - P(pos)| of the first 64 positions."""
    positions = torch.arange(64)
    return float((waves(positions + period, frequencies) - waves(positions, frequencies)).abs().max())


def nearest_repetition(frequencies: Tensor, period: int) -> float:
    """Return the distance from P(0) to the nearest other position in a period.

    Args:
        frequencies: Radians per position, (d/2,).
        period: The period in positions.

    Returns:
        The minimum of max |P(pos) - P(0)| over 0 < pos < period.
    """
    within = waves(torch.arange(1, period), frequencies)
    return float((within - waves(torch.zeros(1), frequencies)).abs().amax(-1).min())


def half_width(frequencies: Tensor, most: float) -> float:
    """Return the offset at which cos(P_0, P_offset) first falls to zero.

    Args:
        frequencies: Radians per position, (d/2,).
        most: The largest offset to search.

    Returns:
        The offset in positions, interpolated; infinite beyond ``most``.
    """
    offsets = torch.linspace(0, most, 10_001, dtype=torch.float64)
    found = similarities(frequencies, offsets)
    below = (found <= 0).nonzero()
    if not len(below):
        return float("inf")
    after = int(below[0])
    left, right = float(found[after - 1]), float(found[after])
    return float(offsets[after - 1] + (offsets[after] - offsets[after - 1]) * left / (left - right))


def shift_errors(
    rotation: Callable[[int, int], Tensor], frequencies: Tensor, offsets: Sequence[int], length: int
) -> Tensor:
    """Measure the error of shifting positions by a rotation matrix.

    Args:
        rotation: Maps φ and d to M_φ, (d, d).
        frequencies: Radians per position, (d/2,).
        offsets: The offsets φ.
        length: The number of positions.

    Returns:
        For each offset, the largest |P(pos + φ) - M_φ P(pos)| over the positions, (len(offsets),).
    """
    vectors = waves(torch.arange(length + max(offsets)), frequencies)
    dim = vectors.size(1)
    moved = ((offset, vectors[:length] @ rotation(offset, dim).T) for offset in offsets)
    return torch.stack([(vectors[offset : offset + length] - there).abs().max() for offset, there in moved])


def rotation_errors(rotation: Callable[[int, int], Tensor], dim: int, offsets: Sequence[int]) -> Tensor:
    """Return the largest element of |M_φ M_φᵀ - I| for each offset φ, (len(offsets),)."""
    identity = torch.eye(dim, dtype=torch.float64)
    matrices = (rotation(offset, dim) for offset in offsets)
    return torch.stack([(matrix @ matrix.T - identity).abs().max() for matrix in matrices])


def product_spreads(vectors: Tensor) -> Tensor:
    """Measure how much dot products of position vectors vary at the same distance.

    Args:
        vectors: The vectors of L positions, (L, d).

    Returns:
        For each distance 0 … L-1, the range of P_i · P_j relative to P_0 · P_0, (L,).
    """
    products = vectors @ vectors.T
    diagonals = [torch.cat((products.diagonal(apart), products.diagonal(-apart))) for apart in range(len(vectors))]
    return torch.stack([diagonal.max() - diagonal.min() for diagonal in diagonals]) / products[0, 0]

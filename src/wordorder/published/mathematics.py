"""What the papers prove about positional encodings, measured on the code that trains.

Each function returns what it measured and judges nothing; :mod:`wordorder.published.claims` holds the numbers against
the papers. Whatever a claim is about (an attention, a product, frequencies) is an argument, so that a wrong one can be
given too. Everything is in double precision. L length, d model size.
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

# What each of L words receives from all of them: (L, d) -> (L, d).
Attention = Callable[[Tensor], Tensor]


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def random_kernels(*shape: int, seed: int) -> Tensor:
    """Φ, (L, d_1, d_2), as a new PosNet has it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return xavier_normal(*shape).detach().double()


# -------------------------------------------------------------------- PosNet paper, section 3.1: words change places


def summing(dim: int, heads: int, encoding: AttentionEncoding, *, seed: int) -> Attention:
    """The weight sum of equation 3: the models' own self-attention, with what an encoding does inside it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = SelfAttention(dim, heads, 0.0).double().eval()

    @torch.no_grad()
    def attention(x: Tensor) -> Tensor:
        output: Tensor = module(x[None], mask=None, encoding=encoding, positions=Positions.range(len(x)))
        return output[0]

    return attention


def concatenating(kernels: Tensor, *, seed: int) -> Attention:
    """The weight concatenation of equations 10 and 11, one head. kernels: Φ, (L, d, d)."""
    dim = kernels.size(-1)
    projections = random_kernels(3, dim, dim, seed=seed)

    def attention(x: Tensor) -> Tensor:
        queries, keys, values = x @ projections
        weights = torch.softmax(queries @ keys.T / dim**0.5, dim=-1)
        return weight_concatenation(weights, values, kernels.flatten(0, 1))

    return attention


def permutation_changes(attention: Attention, *, length: int, dim: int, permutations: int, seed: int) -> Tensor:
    """Equations 9, 12 and 13: how much what a word receives depends on where the words stand, (permutations,).

    The largest difference that a random permutation of the words makes to any of them, as a part of the largest
    number that any of them receives.
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
    """a (V ⊗ Φ), equation 15: (Lq, L), (L, d_v), (L, d_v, d_o) -> (Lq, d_o)."""
    return weights @ positional_product(values[None], kernels, torch.arange(len(values))[None])[0]


def sum_form_errors(form: Callable[[Tensor, Tensor, Tensor], Tensor], *, trials: int, seed: int) -> Tensor:
    """Equations 14-17: largest difference of ``form`` from the weight concatenation, at random shapes, (trials,)."""
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
    """norms: ‖X ⊗ Φ - (X + M)‖₂ before each step and after the last; kernels: Φ as it was then."""

    norms: list[float]
    kernels: Tensor

    def steps(self, epsilon: float) -> int | None:
        """How many steps brought the norm to ``epsilon`` or below; None where none did."""
        return next((step for step, norm in enumerate(self.norms) if norm <= epsilon), None)


def distance(x: Tensor, m: Tensor, kernels: Tensor) -> Tensor:
    """X ⊗ Φ - (X + M): (L, d)"""
    return positional_product(x[None], kernels, torch.arange(len(x))[None])[0] - (x + m)


def descend(x: Tensor, m: Tensor, *, until: float, most: int, seed: int) -> Descent:
    """Theorem 3.1: plain gradient descent on Φ from a random start, until the norm is ``until`` or ``most`` steps.

    x, m: X and M, (L, d). The norm is the root of the sum of all squares. A step descends half its square, which has
    the same minimum without a kink there, at the largest rate at which no word overshoots, 1 / max_i ‖x_i‖². What
    word i lacks then shrinks by the factor 1 - ‖x_i‖² / max_j ‖x_j‖² a step; so a word with x_i = 0, such as padding,
    stays at ‖m_i‖ for ever, and the theorem, which says "any given X", needs words that are not zero.
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
    """Φ of which X ⊗ Φ is X + M exactly, where no word is zero: I + xᵀm / ‖x‖² for each word, (L, d, d)."""
    identity = torch.eye(x.size(1), dtype=torch.float64)
    return identity + x[:, :, None] * m[:, None, :] / x.square().sum(-1)[:, None, None]


def convexity_violations(*, dim: int, trials: int, seed: int) -> Tensor:
    """Appendix A.1: by how much h = ‖xφ - m‖ lies above the chord of two random points, (2, trials).

    The first row moves x, as the paper's proof does; the second φ, which is what training moves.
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
    """cos(P_0, P_offset) for offsets that need not be whole: (n,) -> (n,). A pair has the norm 1 everywhere."""
    return waves(offsets, frequencies) @ waves(torch.zeros(1), frequencies)[0] / len(frequencies)


def largest_similarity(frequencies: Tensor) -> float:
    """Largest |cos(P_i, P_j)| of different positions among the first d/2."""
    vectors = waves(torch.arange(len(frequencies)), frequencies)
    return float((vectors @ vectors.T / len(frequencies)).fill_diagonal_(0).abs().max())


def repetition_error(frequencies: Tensor, period: int) -> float:
    """Largest |P(pos + period) - P(pos)| of the first 64 positions."""
    positions = torch.arange(64)
    return float((waves(positions + period, frequencies) - waves(positions, frequencies)).abs().max())


def nearest_repetition(frequencies: Tensor, period: int) -> float:
    """How far P stays from P(0) before the period is over: the least max |P(pos) - P(0)| of 0 < pos < period."""
    within = waves(torch.arange(1, period), frequencies)
    return float((within - waves(torch.zeros(1), frequencies)).abs().amax(-1).min())


def half_width(frequencies: Tensor, most: float) -> float:
    """Where cos(P_0, P_offset) first falls to zero, in positions and parts of one; infinite beyond ``most``."""
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
    """Largest |P(pos + φ) - M_φ P(pos)| over ``length`` positions for each offset φ; rotation: φ, d -> M_φ, (d, d)."""
    vectors = waves(torch.arange(length + max(offsets)), frequencies)
    dim = vectors.size(1)
    moved = ((offset, vectors[:length] @ rotation(offset, dim).T) for offset in offsets)
    return torch.stack([(vectors[offset : offset + length] - there).abs().max() for offset, there in moved])


def rotation_errors(rotation: Callable[[int, int], Tensor], dim: int, offsets: Sequence[int]) -> Tensor:
    """Largest number of |M_φ M_φᵀ - I| for each offset φ."""
    identity = torch.eye(dim, dtype=torch.float64)
    matrices = (rotation(offset, dim) for offset in offsets)
    return torch.stack([(matrix @ matrix.T - identity).abs().max() for matrix in matrices])


def product_spreads(vectors: Tensor) -> Tensor:
    """For each distance 0 … L-1: largest less smallest P_i · P_j of positions so far apart, as a part of P_0 · P_0."""
    products = vectors @ vectors.T
    diagonals = [torch.cat((products.diagonal(apart), products.diagonal(-apart))) for apart in range(len(vectors))]
    return torch.stack([diagonal.max() - diagonal.min() for diagonal in diagonals]) / products[0, 0]

"""The papers' mathematical claims: what is measured for each, and the bound that it must keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd
import torch
from tabulate import tabulate
from torch import Tensor

from wordorder.encodings import opr, sinusoidal
from wordorder.encodings.base import AttentionEncoding
from wordorder.encodings.posnet_attention import PosNetAttentionConfig, PosNetValues
from wordorder.encodings.waves import waves
from wordorder.published import mathematics
from wordorder.published.mathematics import Descent

LENGTH, DIM, HEADS = 12, 16, 4  # of sentences: small, since the claims about them are about any size
MODEL_DIM, POSITIONS = 512, 256  # of encodings
EPSILONS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
KS = (1, 4, 8, 16, 32)  # the OPR paper's Table 5
RELEASED_K, FAR = 1026, 63
OFFSETS = (*range(1, 33), 48, 64, 96, 128, 192, 256, 384, 511)
SUM, CONCATENATION, POSNET = "weight sum", "weight concatenation", "weight sum with PosNet-Attn"

# What double precision leaves of numbers near 1 that should be equal; the second where angles of thousands enter.
ROUNDING, ROUNDED_ANGLES = 1e-12, 1e-10


@dataclass(frozen=True)
class Claim:
    """``measured`` must lie within ``low`` … ``high``.

    Attributes:
        claim: What is claimed.
        source: Where.
        measured: What was measured.
        low: The lower bound.
        high: The upper bound.
        name: What the claims of a paper call it.
        refuted: Whether the paper is known to be wrong, so that the bound must not be kept.
    """

    claim: str
    source: str
    measured: float
    low: float = -math.inf
    high: float = math.inf
    name: str = ""
    refuted: bool = False

    @property
    def holds(self) -> bool:
        return self.low <= self.measured <= self.high  # False for nan

    @property
    def as_known(self) -> bool:
        """Whether the claim holds, or is refuted as it is known to be."""
        return math.isfinite(self.measured) and self.holds != self.refuted

    @property
    def bound(self) -> str:
        if self.low == -math.inf:
            return f"≤ {self.high:g}"
        return f"≥ {self.low:g}" if self.high == math.inf else f"{self.low:g} … {self.high:g}"


@dataclass(frozen=True)
class WordOrder:
    """PosNet paper, section 3.1. changes: an attention's name -> what each of 50 permutations changes."""

    changes: dict[str, Tensor]
    sum_form: Tensor

    @staticmethod
    def measure(seed: int) -> WordOrder:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            posnet = PosNetValues(PosNetAttentionConfig(table=LENGTH), DIM // HEADS).double().eval()
        kernels = mathematics.random_kernels(LENGTH, DIM, DIM, seed=seed)
        attentions = {
            SUM: mathematics.summing(DIM, HEADS, AttentionEncoding(), seed=seed),
            CONCATENATION: mathematics.concatenating(kernels, seed=seed),
            POSNET: mathematics.summing(DIM, HEADS, posnet, seed=seed),
        }
        changes = {
            name: mathematics.permutation_changes(attention, length=LENGTH, dim=DIM, permutations=50, seed=seed)
            for name, attention in attentions.items()
        }
        return WordOrder(changes, mathematics.sum_form_errors(mathematics.sum_form, trials=30, seed=seed))

    def claims(self) -> list[Claim]:
        largest = {name: float(changes.max()) for name, changes in self.changes.items()}
        least = {name: float(changes.min()) for name, changes in self.changes.items()}
        sees = "attention sees every permutation"
        return [
            Claim(
                "without an encoding attention sees no permutation",
                "PosNet eq. 9",
                largest[SUM],
                high=ROUNDING,
                name="sum_is_blind",
            ),
            Claim(
                f"with weight concatenation {sees}",
                "PosNet eq. 12-13",
                least[CONCATENATION],
                low=1e-3,
                name="concatenation_sees",
            ),
            Claim(f"with PosNet-Attn {sees}", "PosNet eq. 20, 23", least[POSNET], low=1e-3, name="posnet_sees"),
            Claim(
                "the sum form is the weight concatenation",
                "PosNet eq. 14-17",
                float(self.sum_form.max()),
                high=ROUNDING,
                name="sum_form",
            ),
        ]


@dataclass(frozen=True)
class Theorem:
    """Theorem 3.1 of the PosNet paper, and where it ends.

    zero_word: the descent where x_0 = 0; floor: ‖m_0‖; other_words: the norm that other words have with the kernels
    that the descent found, as a part of ‖M‖; exact: the norm that the kernels of a formula leave; convexity: its
    largest violation.
    """

    descent: Descent
    zero_word: Descent
    floor: float
    other_words: float
    exact: float
    convexity: float

    @staticmethod
    def measure(seed: int) -> Theorem:
        """X is random like scaled embeddings, M the sinusoid."""
        x, other = (mathematics.random(LENGTH, DIM, seed=seed + plus) for plus in (0, 1))
        m = waves(torch.arange(LENGTH), sinusoidal.frequencies(DIM))
        descent = mathematics.descend(x, m, until=min(EPSILONS), most=10_000, seed=seed)
        with_zero = x.clone()
        with_zero[0] = 0
        steps = len(descent.norms) - 1
        return Theorem(
            descent,
            mathematics.descend(with_zero, m, until=min(EPSILONS), most=steps, seed=seed),
            float(m[0].norm()),
            float(mathematics.distance(other, m, descent.kernels).norm() / m.norm()),
            float(mathematics.distance(x, m, mathematics.exact_kernels(x, m)).norm()),
            float(mathematics.convexity_violations(dim=DIM, trials=200, seed=seed).max()),
        )

    def claims(self) -> list[Claim]:
        rows = []
        for epsilon in EPSILONS:
            steps = self.descent.steps(epsilon)
            after = self.descent.norms[-1 if steps is None else steps]
            took = f"{len(self.descent.norms) - 1} steps do not" if steps is None else f"{steps} steps"
            claim = f"gradient descent on Φ reaches ε = {epsilon:g} ({took})"
            rows.append(Claim(claim, "PosNet theorem 3.1", after, high=epsilon, name=f"descent_{epsilon:g}"))
        limit, left = "limit of theorem 3.1", abs(self.zero_word.norms[-1] - self.floor)
        return [
            *rows,
            Claim(
                "φ = I + xᵀm / ‖x‖² leaves nothing",
                "PosNet theorem 3.1",
                self.exact,
                high=ROUNDING,
                name="exact_kernel",
            ),
            Claim(
                "‖xφ - m‖ is convex in φ and in x (largest violation)",
                "PosNet A.1",
                self.convexity,
                high=ROUNDING,
                name="convexity",
            ),
            Claim("but a word x_i = 0 stays at ‖m_i‖ (distance from it)", limit, left, high=1e-6, name="zero_word"),
            Claim(
                "and the Φ of one X fits no other (norm as a part of ‖M‖)",
                limit,
                self.other_words,
                low=0.1,
                name="other_words",
            ),
        ]


@dataclass(frozen=True)
class Orthogonal:
    """OPR paper, sections 3.2 and 3.3. similarity_at_1: at k = 1; dictionaries are by k; far: cos(P_0, P_63)."""

    similarity_at_1: float
    repetition_errors: dict[int, float]
    nearest_repetitions: dict[int, float]
    half_widths: dict[int, float]
    far: dict[int, float]

    @staticmethod
    def measure() -> Orthogonal:
        frequencies = {k: opr.frequencies(MODEL_DIM, k) for k in (*KS, RELEASED_K)}
        periods = {k: k * MODEL_DIM // 2 for k in KS}
        far = torch.tensor([FAR])
        return Orthogonal(
            mathematics.largest_similarity(frequencies[1]),
            {k: mathematics.repetition_error(frequencies[k], periods[k]) for k in KS},
            {k: mathematics.nearest_repetition(frequencies[k], periods[k]) for k in KS},
            {k: mathematics.half_width(frequencies[k], k) for k in KS},
            {k: float(mathematics.similarities(frequencies[k], far)) for k in (8, RELEASED_K)},
        )

    def claims(self) -> list[Claim]:
        growth = min(wider / narrower for narrower, wider in pairwise(self.half_widths.values()))
        # The kernel is cos((n - 1)θ/2) · sin(nθ/2) / (n · sin(θ/2)) with n = d/2 pairs and θ = 2π · offset / (k·n).
        n = MODEL_DIM // 2
        errors = [abs(width * 2 * (n - 1) / (k * n) - 1) for k, width in self.half_widths.items()]
        repetition, nearest = max(self.repetition_errors.values()), min(self.nearest_repetitions.values())
        tried = ", ".join(str(k) for k in KS)
        encoding, similarity, released = "OPR section 3.2", "OPR section 3.3", "OPR released code"
        return [
            Claim(
                "at k = 1 the positions of a period are orthogonal",
                encoding,
                self.similarity_at_1,
                high=ROUNDING,
                name="orthogonal_in_a_period",
            ),
            Claim(
                f"OPR repeats after k·d/2 positions, k = {tried}",
                encoding,
                repetition,
                high=ROUNDED_ANGLES,
                name="repeats",
            ),
            Claim("and not before", encoding, nearest, low=0.1, name="not_before"),
            Claim(
                "its main lobe widens with k (least ratio of neighbours)",
                similarity,
                growth,
                low=1.9,
                name="lobe_widens",
            ),
            Claim(
                "whose half-width is k·n / 2(n - 1), n = d/2 (error)",
                "Dirichlet kernel",
                max(errors),
                high=1e-4,
                name="half_width",
            ),
            Claim(
                f"cos(P_0, P_{FAR}) at the paper's k = 8",
                released,
                self.far[8],
                low=-0.0145,
                high=-0.0135,
                name="far_at_8",
            ),
            Claim(
                f"cos(P_0, P_{FAR}) at k = {RELEASED_K}",
                released,
                self.far[RELEASED_K],
                low=0.9755,
                high=0.9765,
                name="far_as_released",
            ),
        ]


@dataclass(frozen=True)
class Sinusoid:
    """The Positional Encoding (2019). shifts, rotations: one number each of OFFSETS; spreads: one a distance from 0."""

    shifts: Tensor
    rotations: Tensor
    spreads: Tensor

    @staticmethod
    def measure() -> Sinusoid:
        frequencies = sinusoidal.frequencies(MODEL_DIM)
        return Sinusoid(
            mathematics.shift_errors(sinusoidal.rotation, frequencies, OFFSETS, POSITIONS),
            mathematics.rotation_errors(sinusoidal.rotation, MODEL_DIM, OFFSETS),
            mathematics.product_spreads(waves(torch.arange(POSITIONS), frequencies)),
        )

    def claims(self) -> list[Claim]:
        shift, rotation, spread = (float(each.max()) for each in (self.shifts, self.rotations, self.spreads))
        source = "The Positional Encoding"
        return [
            Claim("the sinusoid at pos + φ is M_φ times that at pos", source, shift, high=ROUNDED_ANGLES, name="shift"),
            Claim("M_φ is a rotation: M_φ M_φᵀ = I", source, rotation, high=ROUNDING, name="rotation"),
            Claim(
                "P_i · P_j depends on |i - j| alone (spread)",
                f"{source}, figure 3",
                spread,
                high=ROUNDED_ANGLES,
                name="symmetric_products",
            ),
        ]


@dataclass(frozen=True)
class Measurements:
    word_order: WordOrder
    theorem: Theorem
    orthogonal: Orthogonal
    sinusoid: Sinusoid

    @staticmethod
    def measure(seed: int) -> Measurements:
        """All of them; the seed draws words and weights."""
        return Measurements(WordOrder.measure(seed), Theorem.measure(seed), Orthogonal.measure(), Sinusoid.measure())

    def claims(self) -> list[Claim]:
        topics = (self.word_order, self.theorem, self.orthogonal, self.sinusoid)
        return [claim for topic in topics for claim in topic.claims()]


def as_text(claims: Sequence[Claim]) -> str:
    """A table for a terminal."""
    rows = [(claim.claim, claim.source, f"{claim.measured:.3g}", claim.bound, _holds(claim)) for claim in claims]
    return str(tabulate(rows, headers=["claim", "source", "measured", "bound", "holds"], disable_numparse=True))


def _holds(claim: Claim) -> str:
    """Return whether a claim holds; capitals are for what nobody expects."""
    if claim.as_known:
        return "no, as known" if claim.refuted else "yes"
    return "YES, but is known not to" if claim.refuted else "NO"


def claims_frame(claims: Sequence[Claim]) -> pd.DataFrame:
    """name, claim, source, measured, bound, holds"""
    rows = [(claim.name, claim.claim, claim.source, claim.measured, claim.bound, claim.holds) for claim in claims]
    return pd.DataFrame(rows, columns=["name", "claim", "source", "measured", "bound", "holds"])


def theorem_frame(descent: Descent) -> pd.DataFrame:
    """epsilon (the smallest of EPSILONS that the norm has reached, or nothing), step, norm"""
    rows = [
        (min((epsilon for epsilon in EPSILONS if norm <= epsilon), default=math.nan), step, norm)
        for step, norm in enumerate(descent.norms)
    ]
    return pd.DataFrame(rows, columns=["epsilon", "step", "norm"])


def similarity_frame(longest: int = 48) -> pd.DataFrame:
    """encoding, k (nothing for the sinusoid), offset up to ``longest``, similarity = cos(P_0, P_offset)"""
    offsets = torch.arange(longest + 1)
    systems = [("opr", float(k), opr.frequencies(MODEL_DIM, k)) for k in (*KS, RELEASED_K)]
    systems.append(("sinusoidal", math.nan, sinusoidal.frequencies(MODEL_DIM)))
    rows = [
        (encoding, k, offset, similarity)
        for encoding, k, frequencies in systems
        for offset, similarity in enumerate(mathematics.similarities(frequencies, offsets).tolist())
    ]
    return pd.DataFrame(rows, columns=["encoding", "k", "offset", "similarity"])

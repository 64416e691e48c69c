"""The papers' mathematical claims, each with the measured number and the bound that the number must satisfy."""

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

# Claims about sentences hold for any size, so these are small.
LENGTH, DIM, HEADS = 12, 16, 4
MODEL_DIM, POSITIONS = 512, 256  # of encodings
EPSILONS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
KS = (1, 4, 8, 16, 32)  # Table 5 of the OPR paper
RELEASED_K, FAR = 1026, 63
OFFSETS = (*range(1, 33), 48, 64, 96, 128, 192, 256, 384, 511)
SUM, CONCATENATION, POSNET = "weight sum", "weight concatenation", "weight sum with PosNet-Attn"

# Tolerances of double precision for equal numbers near 1; the second one for sines of angles in the thousands.
ROUNDING, ROUNDED_ANGLES = 1e-12, 1e-10


@dataclass(frozen=True)
class Claim:
    """A mathematical claim with its measured number.

    Attributes:
        claim: The claim in words.
        source: The place in the paper.
        measured: The measured number.
        low: The lower bound of the measured number if the claim holds.
        high: The upper bound.
        name: The name by which the claims of a paper refer to it.
        refuted: Whether the claim is known to be wrong, so that the number must be outside the bounds.
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
        """Whether the measured number is within the bounds."""
        return self.low <= self.measured <= self.high  # False for nan

    @property
    def as_known(self) -> bool:
        """Whether the result is the expected one: the claim holds, or is refuted if it is known to be wrong."""
        return math.isfinite(self.measured) and self.holds != self.refuted

    @property
    def bound(self) -> str:
        """The bounds as text."""
        if self.low == -math.inf:
            return f"≤ {self.high:g}"
        return f"≥ {self.low:g}" if self.high == math.inf else f"{self.low:g} … {self.high:g}"


@dataclass(frozen=True)
class WordOrder:
    """Measurements for section 3.1 of the PosNet paper: does attention depend on the order of words?

    Attributes:
        changes: For each attention, the relative change by each of 50 permutations, (50,).
        sum_form: Largest differences of the sum form from the weight concatenation, (trials,).
    """

    changes: dict[str, Tensor]
    sum_form: Tensor

    @staticmethod
    def measure(seed: int) -> WordOrder:
        """Measure with random words and weights."""
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
        """Return the claims with these measurements."""
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
    """Measurements for theorem 3.1 of the PosNet paper, and its limits.

    Attributes:
        descent: Gradient descent for random words.
        zero_word: Gradient descent where the first word is x_0 = 0.
        floor: ‖m_0‖, below which the norm of ``zero_word`` cannot fall.
        other_words: The norm for other words with the kernels of ``descent``, relative to ‖M‖.
        exact: The norm with the kernels of the closed formula.
        convexity: The largest violation of convexity.
    """

    descent: Descent
    zero_word: Descent
    floor: float
    other_words: float
    exact: float
    convexity: float

    @staticmethod
    def measure(seed: int) -> Theorem:
        """Measure with words X drawn like scaled embeddings and the sinusoid as M."""
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
        """Return the claims with these measurements."""
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
    """Measurements for sections 3.2 and 3.3 of the OPR paper.

    Attributes:
        similarity_at_1: The largest similarity of different positions within a period, at k = 1.
        repetition_errors: For each k, the largest difference between positions one period apart.
        nearest_repetitions: For each k, the smallest distance from position 0 within a period.
        half_widths: For each k, the offset at which the similarity first falls to zero, in positions.
        far: For each k, cos(P_0, P_63).
    """

    similarity_at_1: float
    repetition_errors: dict[int, float]
    nearest_repetitions: dict[int, float]
    half_widths: dict[int, float]
    far: dict[int, float]

    @staticmethod
    def measure() -> Orthogonal:
        """Measure the frequencies of the OPR encoding."""
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
        """Return the claims with these measurements."""
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
    """Measurements for the article "The Positional Encoding" (2019).

    Attributes:
        shifts: For each of ``OFFSETS``, the largest error of shifting positions by the rotation matrix.
        rotations: For each of ``OFFSETS``, the largest deviation of the matrix from orthogonality.
        spreads: For each distance from 0, the range of the dot products of positions.
    """

    shifts: Tensor
    rotations: Tensor
    spreads: Tensor

    @staticmethod
    def measure() -> Sinusoid:
        """Measure the frequencies of the sinusoidal encoding."""
        frequencies = sinusoidal.frequencies(MODEL_DIM)
        return Sinusoid(
            mathematics.shift_errors(sinusoidal.rotation, frequencies, OFFSETS, POSITIONS),
            mathematics.rotation_errors(sinusoidal.rotation, MODEL_DIM, OFFSETS),
            mathematics.product_spreads(waves(torch.arange(POSITIONS), frequencies)),
        )

    def claims(self) -> list[Claim]:
        """Return the claims with these measurements."""
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
    """The measurements for all mathematical claims.

    Attributes:
        word_order: PosNet paper, section 3.1.
        theorem: PosNet paper, theorem 3.1.
        orthogonal: OPR paper, sections 3.2 and 3.3.
        sinusoid: The article "The Positional Encoding".
    """

    word_order: WordOrder
    theorem: Theorem
    orthogonal: Orthogonal
    sinusoid: Sinusoid

    @staticmethod
    def measure(seed: int) -> Measurements:
        """Measure everything; the seed determines random words and weights."""
        return Measurements(WordOrder.measure(seed), Theorem.measure(seed), Orthogonal.measure(), Sinusoid.measure())

    def claims(self) -> list[Claim]:
        """Return the claims of all measurements."""
        topics = (self.word_order, self.theorem, self.orthogonal, self.sinusoid)
        return [claim for topic in topics for claim in topic.claims()]


def as_text(claims: Sequence[Claim]) -> str:
    """Format claims as a table for the terminal."""
    rows = [(claim.claim, claim.source, f"{claim.measured:.3g}", claim.bound, _holds(claim)) for claim in claims]
    return str(tabulate(rows, headers=["claim", "source", "measured", "bound", "holds"], disable_numparse=True))


def _holds(claim: Claim) -> str:
    """Say whether a claim holds, in capitals if the result is unexpected."""
    if claim.as_known:
        return "no, as known" if claim.refuted else "yes"
    return "YES, but is known not to" if claim.refuted else "NO"


def claims_frame(claims: Sequence[Claim]) -> pd.DataFrame:
    """Return one row per claim.

    Args:
        claims: The claims.

    Returns:
        The columns name, claim, source, measured, bound, holds.
    """
    rows = [(claim.name, claim.claim, claim.source, claim.measured, claim.bound, claim.holds) for claim in claims]
    return pd.DataFrame(rows, columns=["name", "claim", "source", "measured", "bound", "holds"])


def theorem_frame(descent: Descent) -> pd.DataFrame:
    """Return one row per step of a gradient descent.

    Args:
        descent: The descent.

    Returns:
        The columns epsilon (the smallest of ``EPSILONS`` that the norm has reached; NaN before), step, norm.
    """
    rows = [
        (min((epsilon for epsilon in EPSILONS if norm <= epsilon), default=math.nan), step, norm)
        for step, norm in enumerate(descent.norms)
    ]
    return pd.DataFrame(rows, columns=["epsilon", "step", "norm"])


def similarity_frame(longest: int = 48) -> pd.DataFrame:
    """Return the similarity of position 0 to other positions, for OPR and the sinusoid.

    Args:
        longest: The largest offset.

    Returns:
        The columns encoding, k (NaN for the sinusoid), offset, similarity = cos(P_0, P_offset).
    """
    offsets = torch.arange(longest + 1)
    systems = [("opr", float(k), opr.frequencies(MODEL_DIM, k)) for k in (*KS, RELEASED_K)]
    systems.append(("sinusoidal", math.nan, sinusoidal.frequencies(MODEL_DIM)))
    rows = [
        (encoding, k, offset, similarity)
        for encoding, k, frequencies in systems
        for offset, similarity in enumerate(mathematics.similarities(frequencies, offsets).tolist())
    ]
    return pd.DataFrame(rows, columns=["encoding", "k", "offset", "similarity"])

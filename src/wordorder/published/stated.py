"""Compute the numbers and properties that the OPR paper and the article on sinusoids state."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise, product

import torch
from scipy import integrate
from torch import Tensor

from wordorder.encodings import opr, sinusoidal
from wordorder.encodings.base import Positions, Shape
from wordorder.encodings.registry import build
from wordorder.encodings.waves import waves
from wordorder.errors import unknown_name
from wordorder.published.claims import KS, MODEL_DIM, ROUNDED_ANGLES, Claim, Measurements
from wordorder.published.mathematics import permutation_changes, similarities

RANGE = (1, 500)  # positions, as in section 3.3 of the OPR paper
LARGEST_MULTIPLE = 8  # of x in the integrals
MANY, SHIFT = 2048, 3


def claims() -> list[Claim]:
    """Return the claims of this module, measured."""
    return [
        _zero_word(),
        *_networks_with_order(),
        *_integrals(),
        *_ranges(),
        *_similarities(),
        *_distinct_positions(),
        _possible_error_rate(),
        *_article(),
        *_rejected(),
    ]


def _zero_word() -> Claim:
    """Refute theorem 3.1 of PosNet for a word that is zero: measure the error of the best kernel, relative to ‖m‖."""
    zero, m = torch.zeros(1, MODEL_DIM).double(), waves(torch.ones(1), sinusoidal.frequencies(MODEL_DIM))
    left = float((torch.linalg.lstsq(zero, m, driver="gelsd").solution.T @ zero.T - m.T).norm() / m.norm())
    where = "PosNet theorem 3.1"
    return Claim(
        "a kernel maps x = 0 to m (part left)", where, left, high=1e-6, name="zero_word_is_reached", refuted=True
    )


def _networks_with_order() -> list[Claim]:
    """Check section 3.1 of PosNet: recurrent and convolutional networks depend on the order of words."""
    width, where = 16, "PosNet section 3.1"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        recurrent = torch.nn.LSTM(width, width, batch_first=True).double()
        convolution = torch.nn.Conv1d(width, width, 3, padding=1).double()

    @torch.no_grad()
    def recur(x: Tensor) -> Tensor:
        output: Tensor = recurrent(x[None])[0][0]
        return output

    @torch.no_grad()
    def convolve(x: Tensor) -> Tensor:
        output: Tensor = convolution(x.T[None])[0].T
        return output

    return [
        Claim(
            f"{words} sees every permutation (least change of its output)",
            where,
            float(permutation_changes(network, length=12, dim=width, permutations=50, seed=1).min()),
            low=1e-3,
            name=name,
        )
        for name, words, network in (
            ("recurrence_sees", "a recurrent network", recur),
            ("convolution_sees", "a convolution", convolve),
        )
    ]


def _integrals() -> list[Claim]:
    """Check section 3.1 of the OPR paper: sines and cosines of multiples 1 … 8 are orthogonal over [0, 2π]."""
    multiples = [(n, m) for n, m in product(range(1, LARGEST_MULTIPLE + 1), repeat=2) if n != m]
    found = []
    for name, one, other, pairs in (
        ("integral_of_sines", math.sin, math.sin, multiples),
        ("integral_of_cosines", math.cos, math.cos, multiples),
        ("integral_of_both", math.sin, math.cos, [*multiples, *((n, n) for n in range(1, LARGEST_MULTIPLE + 1))]),
    ):
        largest = max(_integral(one, n, other, m) for n, m in pairs)
        words = f"∫ {one.__name__} nx · {other.__name__} mx over a period is 0 (n, m ≤ {LARGEST_MULTIPLE})"
        found.append(Claim(words, "OPR section 3.1", float(largest), high=1e-10, name=name))
    return found


def _integral(one: Callable[[float], float], n: int, other: Callable[[float], float], m: int) -> float:
    return abs(float(integrate.quad(lambda x: one(n * x) * other(m * x), 0, 2 * math.pi)[0]))


def _width(values: Tensor) -> float:
    return float(values.max() - values.min())


def _ranges() -> list[Claim]:
    """Check section 3.3 of the OPR paper: the range of values at positions 1 … 500 in dimension j = 256 of d = 512.

    The last dimension is j = 255, so j = 256 does not exist. Its angle would be pos / 10,000 for the sinusoid and
    2π · pos / k for OPR, which is a multiple of 2π at k = 1 and integer positions.
    """
    positions = torch.arange(RANGE[0], RANGE[1] + 1).double()
    where = "OPR section 3.3"
    ape, one, eight = positions / 1e4, 2 * math.pi * positions, 2 * math.pi / 8 * positions
    last = waves(positions, sinusoidal.frequencies(MODEL_DIM))[:, -2:]
    return [
        Claim("APE's sine has the width 0.0499", where, _width(ape.sin()), 0.04985, 0.04995, name="ape_sine_width"),
        Claim(
            "APE's cosine has the width 0.0012495",
            where,
            _width(ape.cos()),
            0.00124945,
            0.00124955,
            name="ape_cosine_width",
            refuted=True,
        ),
        Claim(
            "the last dimension that there is, j = 255, has the sine's width 0.0499",
            where,
            _width(last[:, 0]),
            0.04985,
            0.04995,
            name="last_sine_width",
            refuted=True,
        ),
        Claim(
            "OPR's sine has the width 2 (k = 1)",
            where,
            _width(one.sin()),
            1.99,
            2.01,
            name="opr_sine_width",
            refuted=True,
        ),
        Claim(
            "OPR's cosine has the width 2 (k = 1)",
            where,
            _width(one.cos()),
            1.99,
            2.01,
            name="opr_cosine_width",
            refuted=True,
        ),
        Claim("OPR's sine has the width 2 (k = 8)", where, _width(eight.sin()), 1.99, 2.01, name="opr_sine_width_8"),
        Claim(
            "OPR's cosine has the width 2 (k = 8)", where, _width(eight.cos()), 1.99, 2.01, name="opr_cosine_width_8"
        ),
    ]


def _similarities() -> list[Claim]:
    """Check sections 3.2 and 3.3 of the OPR paper: the similarity of positions."""
    vectors = waves(torch.arange(MODEL_DIM), opr.frequencies(MODEL_DIM, 1))
    anywhere = float((vectors @ vectors.T / (MODEL_DIM // 2)).fill_diagonal_(0).abs().max())
    offsets = torch.arange(1, MODEL_DIM // 2)
    ape = similarities(sinusoidal.frequencies(MODEL_DIM), offsets)
    least = {k: float((ape - similarities(opr.frequencies(MODEL_DIM, k), offsets)).min()) for k in KS}
    ratio = float(opr.frequencies(MODEL_DIM, 8)[1] / opr.frequencies(MODEL_DIM, 1)[1])
    encoding, similarity = "OPR section 3.2", "OPR section 3.3"
    return [
        Claim(
            f"at k = 1 any two of {MODEL_DIM} positions are orthogonal (d = {MODEL_DIM})",
            encoding,
            anywhere,
            high=1e-12,
            name="orthogonal_anywhere",
            refuted=True,
        ),
        Claim("a larger k has larger frequencies (8 against 1)", encoding, ratio, low=1, name="k_raises", refuted=True),
        Claim(
            "APE's similarity is above OPR's at every distance, k = 1 (least difference)",
            similarity,
            least[1],
            low=0,
            name="ape_more_similar_1",
        ),
        Claim(
            "APE's similarity is above OPR's at every distance, k = 8 (least difference)",
            similarity,
            least[8],
            low=0,
            name="ape_more_similar_8",
        ),
        Claim(
            "APE's similarity is above OPR's at every distance, k = 32 (least difference)",
            similarity,
            least[32],
            low=0,
            name="ape_more_similar_32",
            refuted=True,
        ),
    ]


def _distinct_positions() -> list[Claim]:
    """Check the abstract and sections 3.2 and 3.3 of the OPR paper: which positions can be told apart."""
    period = 8 * MODEL_DIM // 2
    own = waves(torch.arange(period + 1), opr.frequencies(MODEL_DIM, 8))
    ape = waves(torch.arange(MANY), sinusoidal.frequencies(MODEL_DIM))
    far = torch.arange(MANY)[:, None] - torch.arange(MANY) >= MODEL_DIM // 2
    return [
        Claim(
            f"the {period} positions of a period have different encodings, k = 8 (least distance)",
            "OPR abstract",
            float(torch.nn.functional.pdist(own[:-1]).min()),
            low=0.1,
            name="unique_in_a_period",
        ),
        Claim(
            f"so have any {period + 1} positions (least distance)",
            "OPR abstract",
            float((own[-1] - own[0]).norm()),
            low=0.1,
            name="unique_anywhere",
            refuted=True,
        ),
        Claim(
            f"encodings of the sinusoid overlap at a distance of {MODEL_DIM // 2} or more (least distance, norm 16)",
            "OPR section 3.2",
            float(torch.cdist(ape, ape)[far].min()),
            high=0.1,
            name="ape_overlaps",
            refuted=True,
        ),
        Claim(
            "a larger k makes position 128 less similar to those 64 to 128 away (least fall of the mean similarity)",
            "OPR section 3.3, figure 6",
            min(_far_similarity(k) - _far_similarity(larger) for k, larger in pairwise(KS)),
            low=0,
            name="far_is_easier",
            refuted=True,
        ),
    ]


def _far_similarity(k: int) -> float:
    """Return the mean |cos| of position 128 and those 64 to 128 away."""
    return float(similarities(opr.frequencies(MODEL_DIM, k), torch.arange(64, 129)).abs().mean())


def _possible_error_rate() -> Claim:
    """Refute an alignment error rate of the cross-lingual paper: 1 - AER is a weighted mean of precision and recall.

    AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), precision = |A ∩ P| / |A| and recall = |A ∩ S| / |S|.
    """
    precision, recall, half_digit = 75.4, 73.9, 0.05
    return Claim(
        "precision 75.4 and recall 73.9 allow an AER of 26.9 % (largest possible AER)",
        "Cross-lingual PE, table 3, HeadXL",
        100 - min(precision, recall) + half_digit,
        low=26.9 - half_digit,
        name="aer_of_headxl",
        refuted=True,
    )


def _article() -> list[Claim]:
    """Check the statements of the article on sinusoids."""
    frequencies, where = sinusoidal.frequencies(MODEL_DIM), "The Positional Encoding"
    vectors = waves(torch.arange(MANY), frequencies)
    wavelengths = 2 * math.pi / frequencies
    ratios = wavelengths[1:] / wavelengths[:-1]
    few = sinusoidal.frequencies(16)
    positions = torch.arange(256)
    both = _unexplained(waves(positions, few), waves(positions + SHIFT, few))
    sines = _unexplained((positions[:, None] * few).sin(), ((positions + SHIFT)[:, None] * few).sin())
    products = (
        waves(torch.arange(50), sinusoidal.frequencies(128)) @ waves(torch.zeros(1), sinusoidal.frequencies(128))[0]
    )
    return [
        Claim(
            f"{MANY} positions have different encodings (least distance)",
            where,
            float(torch.nn.functional.pdist(vectors).min()),
            low=0.1,
            name="unique",
        ),
        Claim(
            "two passes of a training add the same positions (largest difference)",
            where,
            _between_passes(),
            high=0.0,
            name="deterministic",
        ),
        Claim(
            "a quarter of the dimensions has 90 % of what differs between 50 positions (part of the variance, d = 128)",
            where,
            _variance_in_first(32),
            low=0.9,
            name="first_quarter",
            refuted=True,
        ),
        Claim("so has the first half", where, _variance_in_first(64), low=0.9, name="first_half"),
        Claim("no value is beyond 1", where, float(vectors.abs().max()), high=1.0, name="bounded"),
        Claim(
            "the shortest wavelength is 2π (error)",
            where,
            abs(float(wavelengths[0]) - 2 * math.pi),
            high=1e-12,
            name="shortest_wave",
        ),
        Claim(
            "wavelengths are a geometric progression (spread of ratios)",
            where,
            _width(ratios),
            high=1e-10,
            name="geometric_waves",
        ),
        Claim(
            f"the longest wavelength is 10000 · 2π (as a part of it, d = {MODEL_DIM})",
            where,
            float(wavelengths[-1]) / (2e4 * math.pi),
            0.9999,
            1.0001,
            name="longest_wave",
            refuted=True,
        ),
        Claim(
            f"a linear map shifts sines and cosines by {SHIFT} (largest part that it misses)",
            where,
            both,
            high=ROUNDED_ANGLES,
            name="both_can_be_shifted",
        ),
        Claim(
            f"no linear map shifts sines alone by {SHIFT} (largest part that the best one misses)",
            where,
            sines,
            low=0.1,
            name="sines_cannot_be_shifted",
        ),
        Claim(
            "products of positions decay with each step of distance (largest rise, 50 positions, d = 128)",
            where,
            float((products[1:] - products[:-1]).max()),
            high=0.0,
            name="products_decay",
            refuted=True,
        ),
    ]


def _between_passes() -> float:
    """Return the largest difference of what two passes of a training add to the embeddings."""
    shape = Shape(dim=MODEL_DIM, heads=8, encoder_layers=1, decoder_layers=1)
    encoding = build(sinusoidal.SinusoidalConfig(), shape).train()
    x = torch.zeros(1, MANY, MODEL_DIM)
    one, other = (encoding.add_to_embeddings(x, Positions.range(MANY), "encoder") for _ in range(2))
    return float((one - other).abs().max())


def _variance_in_first(dimensions: int) -> float:
    """Return the part of the variance over 50 positions that the first of 128 dimensions have (figure 2)."""
    variance = waves(torch.arange(50), sinusoidal.frequencies(128)).var(0)
    return float(variance[:dimensions].sum() / variance.sum())


def _unexplained(here: Tensor, there: Tensor) -> float:
    """Return the largest relative error, over columns of ``there``, of the best linear map from ``here``."""
    mapped = here @ torch.linalg.lstsq(here, there).solution
    return float(((mapped - there).norm(dim=0) / there.norm(dim=0)).max())


def _rejected() -> list[Claim]:
    """Check why the article rejects two encodings: the position as a fraction in [0, 1], and the position's number."""
    where, short, long = "The Positional Encoding", 10, 50
    steps = (long - 1) / (short - 1)  # of [0, 1], which is 1 / (length - 1) for each token
    return [
        Claim(
            f"a step of [0, 1] is another one in sentences of {short} and {long} words (ratio)",
            where,
            steps,
            low=1.01,
            name="unit_interval_is_inconsistent",
        ),
        Claim(
            f"the number of a position grows beyond that of training ({RANGE[1]} words after {long}: times)",
            where,
            (RANGE[1] - 1) / (long - 1),
            low=1.01,
            name="index_is_unbounded",
        ),
    ]


@cache
def _all() -> dict[str, Claim]:
    return {claim.name: claim for claim in [*Measurements.measure(seed=1).claims(), *claims()]}


def proposition(name: str) -> Claim:
    """Return a mathematical claim by its name, measured.

    Args:
        name: The name of the claim.

    Raises:
        WordorderError: There is no claim of this name.
    """
    if name not in _all():
        raise unknown_name("There is no proposition", name, _all(), "propositions", code="unknown-proposition")
    return _all()[name]

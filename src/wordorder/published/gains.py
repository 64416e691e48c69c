"""Evidence for claims that one gain, the difference of two systems, is larger than another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wordorder.config.claims import ByGain, Gain
from wordorder.published.evidence import Evidence, Found, gain_evidence
from wordorder.published.statuses import diverged


@dataclass(frozen=True)
class Gained:
    """A gain by seed, with our and the paper's dataset, test set and metric, and the published gain.

    There are no gaps if trainings of the systems ``lost`` diverged.
    """

    where: tuple[str, str, str]
    printed_at: tuple[str, str | None, str]
    place: str
    size: str
    gaps: list[float]
    printed: float | None
    level: float
    stands_in: str
    lost: list[str]


Pair = tuple[Gained, Gained]


def paired(larger: Sequence[Gained], smaller: Sequence[Gained]) -> list[Pair]:
    """Pair the gains on the same test set.

    Where the paper's own data and models have been run, no others decide. A pair with a diverged training is left out
    if another one was run for the same column of the paper.
    """
    pairs = [(one, other) for one in larger for other in smaller if one.where == other.where]
    own = [pair for pair in pairs if not any(each.stands_in for each in pair)]
    kept = own if any(map(_run, own)) else pairs
    decided = {pair[0].printed_at for pair in kept if _run(pair)}
    return [pair for pair in kept if _run(pair) or pair[0].printed_at not in decided]


def evidence_of(decided: ByGain, pair: Pair, pairs: int) -> Evidence:
    """Test whether one gain is larger than another, unless trainings diverged.

    Args:
        decided: The claim.
        pair: The gains.
        pairs: The number of pairs that are tested for the claim.
    """
    one, other = pair
    place = f"{one.place} against {other.place}"
    about = f"{named(decided.larger)}, size {one.size}, gain more than {named(decided.smaller)}, size {other.size}"
    if not _run(pair):
        return Evidence(Found.NOT_RUN, place, about, note=diverged([*one.lost, *other.lost]))
    return gain_evidence(
        place,
        about,
        one.gaps,
        other.gaps,
        published=None if one.printed is None or other.printed is None else one.printed - other.printed,
        level=min(one.level, other.level) / pairs,
        stands_in=", ".join(dict.fromkeys(filter(None, (one.stands_in, other.stands_in)))),
    )


def named(gain: Gain) -> str:
    """Name the systems of a gain."""
    return f"{gain.better} over {gain.worse}"


def _run(pair: Pair) -> bool:
    return not any(each.lost for each in pair)

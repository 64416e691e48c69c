"""The state of a study as text."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean

from wordorder.status.cells import STATES, CellStatus
from wordorder.status.text import text_table

# With up to this many runs, each run has a line. In a larger study, finished and waiting runs are only counted.
FEW = 40
_WIDEST_REASON = 70

Tests = Mapping[str, Sequence[str]]


def status_text(
    study: str, cells: Sequence[CellStatus], tests: Tests, now: datetime.datetime, *, everything: bool
) -> str:
    """Return the table of runs, the ends of the logs of stopped runs and of failures, and the totals.

    Args:
        study: The name of the study.
        cells: The states of its runs.
        tests: The test sets of each dataset, with their decodings.
        now: The current time.
        everything: List every run, even of a large study.
    """
    everything = everything or len(cells) <= FEW
    listed = [cell for cell in cells if everything or cell.evaluation_failed or cell.state not in ("done", "queued")]
    parts = []
    if listed:
        parts.append(_table(listed, tests, now))
    ended = [cell for cell in cells if cell.evaluation_failed or cell.state in ("failed", "stopped")]
    parts += [_last_words(cell) for cell in ended if cell.log]
    parts.append(totals(study, cells, now))
    if len(listed) < len(cells):
        parts.append("Cells that are done or queued are not listed; --all lists them.")
    return "\n\n".join(parts)


def _table(cells: Sequence[CellStatus], tests: Tests, now: datetime.datetime) -> str:
    rows = [
        {
            **cell.name._asdict(),
            "state": cell.state,
            "updates": _updates(cell),
            "tokens/s": f"{cell.tokens_per_second:,.0f}" if cell.tokens_per_second else "",
            "finish": _moment(now, cell.seconds_left) if cell.state == "running" and cell.seconds_left else "",
            "scored": f"{cell.scored}/{len(tests[cell.name.dataset])}" if cell.state == "done" else "",
            "note": _short(cell.reason),
        }
        for cell in cells
    ]
    return text_table(rows, right=("seed", "updates", "tokens/s", "scored"))


def _updates(cell: CellStatus) -> str:
    if cell.update is None:
        return ""
    if cell.planned is None or cell.state == "done":
        return f"{cell.update:,}"
    return f"{cell.update:,} of {cell.planned:,} ({cell.update / cell.planned:.0%})"


def _short(reason: str) -> str:
    return reason if len(reason) <= _WIDEST_REASON else f"{reason[: _WIDEST_REASON - 1]}…"


def _last_words(cell: CellStatus) -> str:
    name = cell.name
    state = "not scored" if cell.evaluation_failed else cell.state
    lines = [f"{name.dataset} {name.encoding} {name.size} {name.seed} {state}, {cell.log} ends:"]
    return "\n".join([*lines, *(f"    {line}" for line in cell.log_tail)])


def totals(study: str, cells: Sequence[CellStatus], now: datetime.datetime) -> str:
    """Return one line with the number of runs in each state, their speed and the predicted finish time.

    Args:
        study: The name of the study.
        cells: The states of its runs.
        now: The current time.
    """
    numbers = Counter(cell.state for cell in cells)
    counts = [f"{numbers[state]} {state}" for state in STATES[1:] if numbers[state]]
    if failed := sum(cell.evaluation_failed for cell in cells):
        counts.append(f"the evaluation of {failed} failed")
    line = ", ".join([f"{study}: {numbers['done']} of {len(cells)} cells done", *counts])
    speeds = {
        state: [cell.tokens_per_second for cell in cells if cell.state == state and cell.tokens_per_second]
        for state in ("running", "done")
    }
    if running := speeds["running"]:
        line += f"; {sum(running):,.0f} tokens/s together, {mean(running):,.0f} per cell"
    elif done := speeds["done"]:
        line += f"; {mean(done):,.0f} tokens/s per cell"
    left = seconds_left(cells)
    if left is not None:
        line += f"; trained at about {_moment(now, left)} (in {_duration(left)})"
    return line + "."


def seconds_left(cells: Sequence[CellStatus]) -> float | None:
    """Predict the seconds until all runs are trained, if as many run at a time as now.

    A run that has not begun is assumed to take as long as the finished runs of its dataset and size. If there are none,
    it is assumed to take as long as all finished runs of the study, or else as long as the active runs will take.

    Args:
        cells: The states of all runs of a study.

    Returns:
        The seconds; None if no run is active or a speed is unknown.
    """
    running = [cell for cell in cells if cell.state == "running"]
    if not running or any(cell.seconds_left is None for cell in running):
        return None
    left = [cell.seconds_left or 0.0 for cell in running]
    waiting = [cell for cell in cells if cell.state in ("queued", "stopped")]
    for cell in waiting:
        whole = _duration_of_one(cell, cells)
        if whole is None:
            return None
        left.append(whole * (1 - cell.update / cell.planned if cell.update and cell.planned else 1))
    return max(sum(left) / len(running), max(left))


def _duration_of_one(cell: CellStatus, cells: Sequence[CellStatus]) -> float | None:
    kind = (cell.name.dataset, cell.name.size)
    same = [other.seconds for other in cells if other.seconds and (other.name.dataset, other.name.size) == kind]
    any_done = [other.seconds for other in cells if other.seconds]
    foretold = [
        other.seconds_left / (1 - other.update / other.planned)
        for other in cells
        if other.seconds_left and other.update and other.planned and other.update < other.planned
    ]
    known = same or any_done or foretold
    return mean(known) if known else None


def _moment(now: datetime.datetime, seconds: float) -> str:
    then = now + datetime.timedelta(seconds=seconds)
    return f"{then:%H:%M}" if then.date() == now.date() else f"{then:%Y-%m-%d %H:%M}"


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"

"""Checks of studies that types of single keys cannot make: names that must exist, and keys that depend on each other.

The checks look at raw data of any shape, so that their findings appear together with those of the types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from wordorder.config.document import Location, Problem, quoted, repeated
from wordorder.config.problems import unknown
from wordorder.config.raw import dot_problems, foreign, get, list_of, name_problems, texts_of, unknown_names

# Folders in results/ that are not studies.
_RESERVED_STUDIES = {
    "data": "the datasets",
    "models": "the models",
    "reference": "the reference runs",
    "scores": "the scores of metrics with separate environments",
    "slices": "slices of jobs",
}
# The lists of a study that may not contain duplicates.
_LISTS = (
    "companions",
    "datasets",
    "encodings",
    "sizes",
    "seeds",
    "tests",
    "metrics",
    "comparisons",
    "tables",
    "figures",
)


def study_problems(
    data: Any,
    stem: str,
    known: Mapping[str, Collection[str]],
    tests: Mapping[str, list[str]],
    studies: Collection[str],
) -> list[Problem]:
    """Find problems of a study.

    Args:
        data: The study.
        stem: The name of its file without the suffix.
        known: The names of all datasets, encodings and sizes.
        tests: The test sets of each dataset that the study uses.
        studies: The names of all studies.

    Returns:
        The problems.
    """
    if not isinstance(data, dict):
        return []
    problems = list(name_problems(data, stem, "study"))
    if stem in _RESERVED_STUDIES:
        holds = _RESERVED_STUDIES[stem]
        sentence = f"'{stem}' cannot be the name of a study, because results/{stem} holds {holds}."
        problems.append(Problem(("name",), sentence, "reserved-name", found=stem))
    for kind, names in known.items():
        used = _reorderers(data) if kind == "reorderers" else texts_of(data, kind)
        problems += unknown_names(used, kind, names)
    recipes = get(data, "recipes")
    problems += unknown_names(
        ((("recipes", name), name) for name in (recipes if isinstance(recipes, dict) else ())),
        "datasets",
        known["datasets"],
    )
    problems += _companion_problems(data, stem, studies)
    problems += _encoding_problems(data)
    problems += _only_problems(data)
    problems += _test_problems(data, tests)
    problems += _margin_problems(data)
    decoding = get(data, "decoding")
    for name, settings in decoding.items() if isinstance(decoding, dict) else ():
        if isinstance(settings, dict):
            problems += dot_problems(("decoding", name), "a decoding")
    for location, entries in _unique_lists(data):
        for i, _ in repeated(entries):
            sentence = f"{quoted((*location, i))} repeats an earlier entry of {quoted(location)}; remove it."
            problems.append(Problem((*location, i), sentence, "duplicate-entry"))
    return problems


def _unique_lists(data: Any) -> Iterator[tuple[Location, list[Any]]]:
    """Yield the lists of a study, and of the settings of its analyses, that may not contain duplicates."""
    for key in _LISTS:
        entries = list_of(data, key)
        if key == "metrics":  # regardless of their settings
            entries = [next(iter(entry)) if isinstance(entry, dict) and entry else entry for entry in entries]
        yield (key,), entries
    analyses = get(data, "analyses")
    for name, settings in analyses.items() if isinstance(analyses, dict) else ():
        for key in settings if isinstance(settings, dict) else ():
            yield ("analyses", name, key), list_of(settings, key)


def reorderer_problems(data: Any, aligners: Collection[str]) -> list[Problem]:
    """Find problems of reorderers.yaml; ``aligners`` are the names in aligners.yaml."""
    entries = data if isinstance(data, dict) else {}
    used = (((name, "aligner"), get(entry, "aligner")) for name, entry in entries.items())
    return list(unknown_names(used, "aligners", aligners))


def _reorderers(data: Any) -> Iterator[tuple[Location, Any]]:
    """Yield the reorderers that a study names."""
    reordering = get(data, "reordering")
    yield ("reordering", "reorderer"), get(reordering, "reorderer")
    encodings = get(reordering, "encodings")
    for name, positions in (encodings if isinstance(encodings, dict) else {}).items():
        yield ("reordering", "encodings", name, "reorderer"), get(positions, "reorderer")


def _companion_problems(data: Any, stem: str, studies: Collection[str]) -> Iterator[Problem]:
    others = [name for name in studies if name != stem]
    for location, name in texts_of(data, "companions"):
        if name == stem:
            sentence = f"{quoted(location)} is the study itself; remove it, or name another study."
            yield Problem(location, sentence, "self-reference", found=name)
        elif name not in others:
            yield unknown(location, name, "study", others, "other studies")


def _encoding_problems(data: Any) -> Iterator[Problem]:
    """Check that the baseline and the sides of each comparison are encodings of the study."""
    own = [name for _, name in texts_of(data, "encodings")]
    sides: list[tuple[Location, Any]] = [(("baseline",), get(data, "baseline"))]
    for i, comparison in enumerate(list_of(data, "comparisons")):
        pair = [get(comparison, side) for side in ("system", "baseline")]
        sides += [(("comparisons", i, "system"), pair[0]), (("comparisons", i, "baseline"), pair[1])]
        if pair[0] is not None and pair[0] == pair[1]:
            sentence = f"{quoted(('comparisons', i))} compares '{pair[0]}' with itself."
            yield Problem(("comparisons", i), sentence, "self-reference", found=pair[0])
    others = get(get(data, "reordering"), "encodings")
    sides += [(("reordering", "encodings", name), name) for name in (others if isinstance(others, dict) else ())]
    for location, name in sides:
        if isinstance(name, str) and name not in own:
            yield foreign(location, name, "an encoding of this study", own, "study's encodings")


def _only_problems(data: Any) -> Iterator[Problem]:
    """Check that 'only' names sizes and encodings of the study, and that each encoding has a size."""
    only = get(data, "only")
    if not isinstance(only, dict):
        return
    sizes, encodings = ([name for _, name in texts_of(data, key)] for key in ("sizes", "encodings"))
    for size in only:
        if size not in sizes:
            yield foreign(("only", size), str(size), "a size of this study", sizes, "study's sizes")
        for i, name in enumerate(list_of(only, size)):
            if isinstance(name, str) and name not in encodings:
                yield foreign(("only", size, i), name, "an encoding of this study", encodings, "study's encodings")
    used = {name for size in sizes for name in (list_of(only, size) if size in only else encodings)}
    for i, name in enumerate(encodings):
        if name not in used:
            sentence = (
                f"'{name}' has no models, because 'only' leaves it out of all sizes; add it to a size, or remove it."
            )
            yield Problem(("encodings", i), sentence, "missing-entry", found=name)


def _test_problems(data: Any, tests: Mapping[str, list[str]]) -> Iterator[Problem]:
    """Check that each selected test set belongs to a dataset, and that each dataset has one."""
    known = {name for names in tests.values() for name in names}
    chosen = list(texts_of(data, "tests"))
    if not known or not chosen:
        return
    for location, name in chosen:
        if name not in known:
            yield unknown(location, name, "test set", known, "test sets of this study's datasets")
    for dataset, names in tests.items():
        if not {name for _, name in chosen} & set(names):
            sentence = f"'tests' names no test set of the dataset '{dataset}'; it has {', '.join(names)}."
            yield Problem(("tests",), sentence, "missing-entry", found=dataset, expected=names)


def _margin_problems(data: Any) -> Iterator[Problem]:
    """Check that each margin belongs to a metric of the study."""
    metrics = [next(iter(entry), None) if isinstance(entry, dict) else entry for entry in list_of(data, "metrics")]
    margins = get(data, "margin")
    for name in margins if isinstance(margins, dict) and metrics else ():
        if name not in metrics:
            known = [metric for metric in metrics if isinstance(metric, str)]
            yield foreign(("margin", name), str(name), "a metric of this study", known, "study's metrics")

"""Checks that types of single keys cannot make: names that must exist elsewhere, and keys that depend on each other.

The checks look at raw data of any shape, so that their findings appear together with those of the types.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from wordorder.config.base import NAME
from wordorder.config.document import Location, Problem, quoted, repeated
from wordorder.config.problems import unknown
from wordorder.errors import closest, nearest

# Folders in results/ that are not studies.
_RESERVED_STUDIES = {
    "data": "the datasets",
    "models": "the models",
    "reference": "the reference runs",
    "scores": "the scores of metrics with separate environments",
    "slices": "slices of jobs",
}
_RESERVED_TESTS = ("train", "valid")
# Codes of countries that are mistaken for codes of languages.
_LANGUAGES = {"jp": "ja", "cn": "zh"}
# The keys that name the original of a derived dataset.
DERIVED_KEYS = ("reverse_of", "variant_of")
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
    problems = list(_name_problems(data, stem, "study"))
    if stem in _RESERVED_STUDIES:
        holds = _RESERVED_STUDIES[stem]
        sentence = f"'{stem}' cannot be the name of a study, because results/{stem} holds {holds}."
        problems.append(Problem(("name",), sentence, "reserved-name", found=stem))
    for kind, names in known.items():
        used = _reorderers(data) if kind == "reorderers" else _texts(data, kind)
        problems += _unknown(used, kind, names)
    recipes = _get(data, "recipes")
    problems += _unknown(
        ((("recipes", name), name) for name in (recipes if isinstance(recipes, dict) else ())),
        "datasets",
        known["datasets"],
    )
    problems += _companion_problems(data, stem, studies)
    problems += _encoding_problems(data)
    problems += _only_problems(data)
    problems += _test_problems(data, tests)
    problems += _margin_problems(data)
    decoding = _get(data, "decoding")
    for name, settings in decoding.items() if isinstance(decoding, dict) else ():
        if isinstance(settings, dict):
            problems += _dot_problems(("decoding", name), "a decoding")
    for location, entries in _unique_lists(data):
        for i, _ in repeated(entries):
            sentence = f"{quoted((*location, i))} repeats an earlier entry of {quoted(location)}; remove it."
            problems.append(Problem((*location, i), sentence, "duplicate-entry"))
    return problems


def _unique_lists(data: Any) -> Iterator[tuple[Location, list[Any]]]:
    """Yield the lists of a study, and of the settings of its analyses, that may not contain duplicates."""
    for key in _LISTS:
        entries = _list(data, key)
        if key == "metrics":  # regardless of their settings
            entries = [next(iter(entry)) if isinstance(entry, dict) and entry else entry for entry in entries]
        yield (key,), entries
    analyses = _get(data, "analyses")
    for name, settings in analyses.items() if isinstance(analyses, dict) else ():
        for key in settings if isinstance(settings, dict) else ():
            yield ("analyses", name, key), _list(settings, key)


def _dot_problems(location: Location, what: str) -> Iterator[Problem]:
    """Refuse a dot, which separates this name from others in the names of files."""
    name = str(location[-1])
    if "." in name and re.match(NAME, name):
        sentence = f"the name of {what} cannot contain a dot, but is '{name}'; write '-' or '_' instead."
        yield Problem(location, sentence, "reserved-name", found=name)


def reorderer_problems(data: Any, aligners: Collection[str]) -> list[Problem]:
    """Find problems of reorderers.yaml; ``aligners`` are the names in aligners.yaml."""
    entries = data if isinstance(data, dict) else {}
    used = (((name, "aligner"), _get(entry, "aligner")) for name, entry in entries.items())
    return list(_unknown(used, "aligners", aligners))


def _unknown(used: Iterable[tuple[Location, Any]], kind: str, names: Collection[str]) -> Iterator[Problem]:
    for location, name in used:
        if isinstance(name, str) and name not in names:
            yield unknown(location, name, kind[:-1], names)


def _reorderers(data: Any) -> Iterator[tuple[Location, Any]]:
    """Yield the reorderers that a study names."""
    reordering = _get(data, "reordering")
    yield ("reordering", "reorderer"), _get(reordering, "reorderer")
    encodings = _get(reordering, "encodings")
    for name, positions in (encodings if isinstance(encodings, dict) else {}).items():
        yield ("reordering", "encodings", name, "reorderer"), _get(positions, "reorderer")


def _companion_problems(data: Any, stem: str, studies: Collection[str]) -> Iterator[Problem]:
    others = [name for name in studies if name != stem]
    for location, name in _texts(data, "companions"):
        if name == stem:
            sentence = f"{quoted(location)} is the study itself; remove it, or name another study."
            yield Problem(location, sentence, "self-reference", found=name)
        elif name not in others:
            yield unknown(location, name, "study", others, "other studies")


def _encoding_problems(data: Any) -> Iterator[Problem]:
    """Check that the baseline and the sides of each comparison are encodings of the study."""
    own = [name for _, name in _texts(data, "encodings")]
    sides: list[tuple[Location, Any]] = [(("baseline",), _get(data, "baseline"))]
    for i, comparison in enumerate(_list(data, "comparisons")):
        pair = [_get(comparison, side) for side in ("system", "baseline")]
        sides += [(("comparisons", i, "system"), pair[0]), (("comparisons", i, "baseline"), pair[1])]
        if pair[0] is not None and pair[0] == pair[1]:
            sentence = f"{quoted(('comparisons', i))} compares '{pair[0]}' with itself."
            yield Problem(("comparisons", i), sentence, "self-reference", found=pair[0])
    others = _get(_get(data, "reordering"), "encodings")
    sides += [(("reordering", "encodings", name), name) for name in (others if isinstance(others, dict) else ())]
    for location, name in sides:
        if isinstance(name, str) and name not in own:
            yield _foreign(location, name, "an encoding of this study", own, "study's encodings")


def _only_problems(data: Any) -> Iterator[Problem]:
    """Check that 'only' names sizes and encodings of the study, and that each encoding has a size."""
    only = _get(data, "only")
    if not isinstance(only, dict):
        return
    sizes, encodings = ([name for _, name in _texts(data, key)] for key in ("sizes", "encodings"))
    for size in only:
        if size not in sizes:
            yield _foreign(("only", size), str(size), "a size of this study", sizes, "study's sizes")
        for i, name in enumerate(_list(only, size)):
            if isinstance(name, str) and name not in encodings:
                yield _foreign(("only", size, i), name, "an encoding of this study", encodings, "study's encodings")
    used = {name for size in sizes for name in (_list(only, size) if size in only else encodings)}
    for i, name in enumerate(encodings):
        if name not in used:
            sentence = (
                f"'{name}' has no models, because 'only' leaves it out of all sizes; add it to a size, or remove it."
            )
            yield Problem(("encodings", i), sentence, "missing-entry", found=name)


def _test_problems(data: Any, tests: Mapping[str, list[str]]) -> Iterator[Problem]:
    """Check that each selected test set belongs to a dataset, and that each dataset has one."""
    known = {name for names in tests.values() for name in names}
    chosen = list(_texts(data, "tests"))
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
    metrics = [next(iter(entry), None) if isinstance(entry, dict) else entry for entry in _list(data, "metrics")]
    margins = _get(data, "margin")
    for name in margins if isinstance(margins, dict) and metrics else ():
        if name not in metrics:
            known = [metric for metric in metrics if isinstance(metric, str)]
            yield _foreign(("margin", name), str(name), "a metric of this study", known, "study's metrics")


def dataset_problems(data: Any, stem: str) -> list[Problem]:
    """Find problems of a dataset in a file named ``stem``."""
    if not isinstance(data, dict):
        return []
    problems = list(_name_problems(data, stem, "dataset"))
    generated = _get(data, "generator") is not None
    for key in ("train", "valid", "tests"):
        if not generated and not _get(data, key):
            sentence = f"'{key}' is missing or empty; a dataset has it, or a 'generator'."
            problems.append(Problem((key,), sentence, "missing-key"))
    for key in ("downloads", "train", "valid", "tests"):
        if generated and _get(data, key):
            sentence = f"'{key}' cannot be given with 'generator', which creates all sentences."
            problems.append(Problem((key,), sentence, "inconsistent-keys"))
    if generated and _get(_get(data, "preprocessing"), "remove_overlap") is True:
        sentence = (
            "'preprocessing.remove_overlap' cannot be given with 'generator': gold positions are of all generated "
            "sentences. Remove it."
        )
        problems.append(Problem(("preprocessing", "remove_overlap"), sentence, "inconsistent-keys"))
    if _get(data, "tokenised") is True and _get(_get(data, "preprocessing"), "tokenise") is not False:
        sentence = "'tokenised' text is not tokenised again: set 'tokenise' to false."
        problems.append(Problem(("tokenised",), sentence, "inconsistent-keys"))
    problems += _language_problems(data)
    problems += _split_problems(data)
    for location in _test_locations(data):
        problems += _test_name_problems(location)
    for location, parts in _parts(data):
        if parts == [] and location[0] == "tests":
            sentence = f"{quoted(location)} has no parts; write its source and target files."
            problems.append(Problem(location, sentence, "wrong-length"))
    problems += _same_text_problems(data)
    downloads = _get(data, "downloads")
    names = downloads if isinstance(downloads, dict) else {}
    for location, file in _files(data):
        if file not in names:
            problems.append(_foreign(location, file, "a key of 'downloads'", names, "downloads"))
    return problems


def _language_problems(data: Any) -> Iterator[Problem]:
    """Check language codes, because tokenisers, segmenters and scores silently ignore unknown ones."""
    languages = []
    for key in ("source_language", "target_language"):
        language = _get(data, key)
        if not isinstance(language, str):
            continue
        languages.append(language)
        code = re.split("[-_]", language.lower())[0]
        if code in _LANGUAGES:
            right = _LANGUAGES[code]
            sentence = f"'{key}' is '{language}', which is not a language; did you mean '{right}'?"
            yield Problem((key,), sentence, "unknown-language", found=language, suggestion=right)
        elif not re.fullmatch(r"[a-z]{2,3}(-\w+)*", language):
            sentence = f"'{key}' must be the code of a language, such as 'de', 'qaa' or 'zh-TW', but is '{language}'."
            yield Problem((key,), sentence, "unknown-language", found=language)
    for location, name in _preprocessed(_get(data, "preprocessing")) if len(languages) == 2 else ():
        if name not in languages:
            yield _foreign(location, name, "a language of this dataset", languages, "dataset's languages")


def _preprocessed(preprocessing: Any) -> Iterator[tuple[Location, str]]:
    """Yield every language with its own preprocessing."""
    for key in ("segment", "replace", "join"):
        value = _get(preprocessing, key)
        places = (
            {name: name for name in value}.items() if isinstance(value, dict) else enumerate(_list(preprocessing, key))
        )
        yield from ((("preprocessing", key, place), name) for place, name in places if isinstance(name, str))


def _same_text_problems(data: Any) -> Iterator[Problem]:
    """Check that no other split has pairs of the training set, and that the two sides of a part differ.

    A test set may be the validation set, whose scores some papers report, too.
    """
    without_overlap = _get(_get(data, "preprocessing"), "remove_overlap") is True
    trained: list[tuple[Location, list[Any], Any]] = []
    for split, parts in _parts(data):
        for i, part in enumerate(parts if isinstance(parts, list) else ()):
            location, sides = (*split, i), [_text(_get(part, side)) for side in ("source", "target")]
            if None in sides:
                continue
            if sides[0] == sides[1]:
                sentence = (
                    f"'source' and 'target' of {quoted(location)} are the same text. Name another file, or another "
                    "column or language of it."
                )
                yield Problem(location, sentence, "duplicate-entry")
            if split == ("train",):
                trained.append((location, sides, part))
                continue
            for place, texts, other in trained:
                if without_overlap or texts != sides or not _overlap(part, other):
                    continue
                sentence = (
                    f"{quoted(location)} has pairs that {quoted(place)} has, too. Name another file, or give both a "
                    "'choose' with the same 'by' and 'of' and different buckets, or 'words' without a common length, "
                    "or set 'preprocessing.remove_overlap' to true."
                )
                yield Problem(location, sentence, "duplicate-entry")
                break


def _text(side: Any) -> dict[str, Any] | None:
    """Return the keys that determine which sentences one side of a part has; None if it has no file."""
    if not isinstance(_get(side, "file"), str):
        return None
    return {"format": "text"} | {key: value for key, value in side.items() if key != "unescape" and value is not None}


def _overlap(part: Any, other: Any) -> bool:
    """Return whether two parts of the same text use some of the same pairs; False if that is not known."""
    for side in ("source", "target"):
        (least, most), (others_least, others_most) = _lengths(part, side), _lengths(other, side)
        if most < others_least or others_most < least:
            return False
    return _choices_overlap(_get(part, "choose"), _get(other, "choose"))


def _lengths(part: Any, side: str) -> tuple[float, float]:
    """Return the smallest and largest number of words of one side; no limits if they are missing or malformed."""
    match _get(_get(part, "words"), side):
        case [int() as least, int() as most]:
            return least, most
        case _:
            return 0, math.inf


def _choices_overlap(one: Any, other: Any) -> bool:
    """Return whether two values of 'choose' select some of the same pairs; False if that is not known."""
    if one is None or other is None:
        return True
    if any(_get(one, key) != _get(other, key) for key in ("by", "of")):
        return False
    kept, others_kept, dropped, others_dropped = (
        {number for number in _list(choice, key) if isinstance(number, int)}
        for key in ("keep", "drop")
        for choice in (one, other)
    )
    if kept and others_kept:
        return bool(kept & others_kept)
    if kept or others_kept:
        return bool((kept or others_kept) - (dropped | others_dropped))
    return isinstance(of := _get(one, "of"), int) and len(dropped | others_dropped) < of


def _split_problems(data: Any) -> Iterator[Problem]:
    """Check that published numbers of pairs belong to existing splits."""
    tests = _get(data, "tests")
    splits = ["train", "valid", *(tests if isinstance(tests, dict) else ())]
    published = _get(data, "published_pairs")
    for name in published if isinstance(published, dict) else ():
        if name not in splits:
            location = ("published_pairs", name)
            yield _foreign(location, name, "a split of this dataset", splits, "splits")


def derived_problems(data: Any, stem: str, names: Collection[str], originals: Mapping[str, Any]) -> list[Problem]:
    """Find problems of a dataset that is derived from another one.

    Args:
        data: The dataset.
        stem: The name of its file without the suffix.
        names: The names of all datasets.
        originals: The named originals, as they are written.

    Returns:
        The problems.
    """
    used = [((key,), _get(data, key)) for key in DERIVED_KEYS]
    problems = [*_name_problems(data, stem, "dataset"), *_unknown(used, "datasets", names)]
    for location, name in used:
        original = originals.get(name) if isinstance(name, str) else None
        if isinstance(original, dict) and set(DERIVED_KEYS) & original.keys():
            sentence = f"{quoted(location)} is '{name}', which is itself derived. Name a dataset that is not derived."
            problems.append(Problem(location, sentence, "derived-twice", found=name))
        elif location == ("reverse_of",) and _get(original, "generator") is not None:
            sentence = (
                f"'reverse_of' is '{name}', whose sentences a generator makes, and in one direction only. Name a "
                "dataset of files, or derive this one with 'variant_of'."
            )
            problems.append(Problem(location, sentence, "inconsistent-keys", found=name))
        elif isinstance(original, dict):
            problems += _derived_split_problems(data, name, original)
    return problems


def _derived_split_problems(data: Any, name: str, original: dict[str, Any]) -> Iterator[Problem]:
    """Check that derived splits are made from splits of the original, and no held-out set from training pairs."""
    splits = _get(data, "splits")
    if not isinstance(splits, dict) or not splits:
        return
    if _get(original, "generator") is not None:
        sentence = (
            f"'splits' selects sentences from files, but a generator makes those of '{name}'. Set "
            "'generator.lengths' in a copy of its file instead."
        )
        yield Problem(("splits",), sentence, "inconsistent-keys", found=name)
        return
    known = [str(location[-1]) for location, _ in _parts(original)]
    for split, derived in splits.items():
        location = ("splits", split)
        if split not in ("train", "valid"):
            yield from _test_name_problems(location)
        sources = _list(derived, "of") or [split]
        for place, source in enumerate(sources):
            here = (*location, "of", place) if _list(derived, "of") else location
            if source not in known:
                yield _foreign(here, str(source), f"a split of '{name}'", known, "splits")
            elif (source == "train") != (split == "train"):
                sentence = (
                    f"{quoted(location)} is made from '{source}' of '{name}'. Make 'train' from training pairs, and "
                    "the others from held-out ones."
                )
                yield Problem(here, sentence, "inconsistent-keys", found=source)


def _test_name_problems(location: Location) -> Iterator[Problem]:
    if location[-1] in _RESERVED_TESTS:
        sentence = f"a test set cannot have the name '{location[-1]}'; choose another name."
        yield Problem(location, sentence, "reserved-name", found=location[-1])
    yield from _dot_problems(location, "a test set")


def _test_locations(data: Any) -> Iterator[Location]:
    for group, location in ((data, ("tests",)), (_get(data, "generator"), ("generator", "tests"))):
        tests = _get(group, "tests")
        yield from ((*location, name) for name in (tests if isinstance(tests, dict) else ()))


def _parts(data: Any) -> Iterator[tuple[Location, Any]]:
    """Yield the list of parts of every split."""
    yield ("train",), _get(data, "train")
    yield ("valid",), _get(data, "valid")
    tests = _get(data, "tests")
    yield from ((("tests", name), parts) for name, parts in (tests.items() if isinstance(tests, dict) else ()))


def _files(data: Any) -> Iterator[tuple[Location, str]]:
    """Yield every file that a part names."""
    for location, parts in _parts(data):
        for i, part in enumerate(parts if isinstance(parts, list) else ()):
            for side in ("source", "target"):
                file = _get(_get(part, side), "file")
                if isinstance(file, str):
                    yield (*location, i, side, "file"), file


def _name_problems(data: Any, stem: str, kind: str) -> Iterator[Problem]:
    name = _get(data, "name")
    if isinstance(name, str) and name != stem:
        sentence = f"'name' is '{name}', but the file is '{stem}.yaml'. The two names of a {kind} must be equal."
        yield Problem(("name",), sentence, "wrong-name", found=name, expected=stem)


def _foreign(location: Location, name: str, role: str, known: Iterable[str], plural: str) -> Problem:
    """Create the problem that a name is not among those that ``role`` allows."""
    sentence = f"{quoted(location)} is '{name}', which is not {role}{nearest(name, known, plural)}"
    suggestion = closest(name, known)
    return Problem(location, sentence, "unknown-name", found=name, expected=sorted(known), suggestion=suggestion)


def _get(data: Any, key: Any) -> Any:
    return data.get(key) if isinstance(data, dict) else None


def _list(data: Any, key: str) -> list[Any]:
    value = _get(data, key)
    return value if isinstance(value, list) else []


def _texts(data: Any, key: str) -> Iterator[tuple[Location, str]]:
    return (((key, i), value) for i, value in enumerate(_list(data, key)) if isinstance(value, str))

"""What the types of single keys cannot say: names that must exist elsewhere, and keys that depend on one another.

The checks look at raw data, which may be of any shape, so that their findings stand beside those of the types.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from wordorder.config.document import Location, Problem, quoted, repeated
from wordorder.config.problems import nearest

# What else lies in results/ beside the studies.
_RESERVED_STUDIES = {
    "data": "the datasets",
    "models": "the models",
    "reference": "the reference runs",
    "scores": "what was scored by metrics with environments of their own",
    "slices": "slices of jobs",
}
_RESERVED_TESTS = ("train", "valid")
# What is taken for the code of a language, and is that of a country.
_LANGUAGES = {"jp": "ja", "cn": "zh"}
# The keys by which a dataset says of which other one it is derived.
DERIVED_KEYS = ("reverse_of", "variant_of")
# The lists of a study in which nothing may stand twice.
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
    """Problems of a study written in a file called ``stem``.

    ``known`` holds the names of all datasets, encodings and sizes; ``tests`` those of each used dataset's test sets;
    ``studies`` are the names of all studies.
    """
    if not isinstance(data, dict):
        return []
    problems = list(_name_problems(data, stem, "study"))
    if stem in _RESERVED_STUDIES:
        holds = _RESERVED_STUDIES[stem]
        problems.append(
            Problem(("name",), f"'{stem}' cannot be the name of a study, because results/{stem} holds {holds}.")
        )
    for kind, names in known.items():
        used = _reorderers(data) if kind == "reorderers" else _texts(data, kind)
        problems += _unknown(used, kind, names)
    problems += _companion_problems(data, stem, studies)
    problems += _encoding_problems(data)
    problems += _test_problems(data, tests)
    for key in _LISTS:
        entries = _list(data, key)
        if key == "metrics":  # whatever their settings
            entries = [next(iter(entry)) if isinstance(entry, dict) and entry else entry for entry in entries]
        for i, _ in repeated(entries):
            problems.append(Problem((key, i), f"{quoted((key, i))} repeats an earlier entry of '{key}'; remove it."))
    return problems


def reorderer_problems(data: Any, aligners: Collection[str]) -> list[Problem]:
    """Problems of reorderers.yaml; ``aligners`` are the names in aligners.yaml."""
    entries = data if isinstance(data, dict) else {}
    used = (((name, "aligner"), _get(entry, "aligner")) for name, entry in entries.items())
    return list(_unknown(used, "aligners", aligners))


def _unknown(used: Iterable[tuple[Location, Any]], kind: str, names: Collection[str]) -> Iterator[Problem]:
    for location, name in used:
        if isinstance(name, str) and name not in names:
            hint = nearest(name, names, f"known {kind}")
            yield Problem(location, f"{quoted(location)} is the unknown {kind[:-1]} '{name}'{hint}")


def _reorderers(data: Any) -> Iterator[tuple[Location, Any]]:
    """The reorderers that a study names."""
    reordering = _get(data, "reordering")
    yield ("reordering", "reorderer"), _get(reordering, "reorderer")
    encodings = _get(reordering, "encodings")
    for name, positions in (encodings if isinstance(encodings, dict) else {}).items():
        yield ("reordering", "encodings", name, "reorderer"), _get(positions, "reorderer")


def _companion_problems(data: Any, stem: str, studies: Collection[str]) -> Iterator[Problem]:
    others = [name for name in studies if name != stem]
    for location, name in _texts(data, "companions"):
        if name == stem:
            yield Problem(location, f"{quoted(location)} is the study itself; remove it, or name another study.")
        elif name not in others:
            hint = nearest(name, others, "other studies")
            yield Problem(location, f"{quoted(location)} is the unknown study '{name}'{hint}")


def _encoding_problems(data: Any) -> Iterator[Problem]:
    """The baseline and the sides of each comparison must be encodings of the study."""
    own = [name for _, name in _texts(data, "encodings")]
    sides: list[tuple[Location, Any]] = [(("baseline",), _get(data, "baseline"))]
    for i, comparison in enumerate(_list(data, "comparisons")):
        pair = [_get(comparison, side) for side in ("system", "baseline")]
        sides += [(("comparisons", i, "system"), pair[0]), (("comparisons", i, "baseline"), pair[1])]
        if pair[0] is not None and pair[0] == pair[1]:
            yield Problem(("comparisons", i), f"{quoted(('comparisons', i))} compares '{pair[0]}' with itself.")
    others = _get(_get(data, "reordering"), "encodings")
    sides += [(("reordering", "encodings", name), name) for name in (others if isinstance(others, dict) else ())]
    for location, name in sides:
        if isinstance(name, str) and name not in own:
            hint = nearest(name, own, "study's encodings")
            yield Problem(location, f"{quoted(location)} is '{name}', which is no encoding of this study{hint}")


def _test_problems(data: Any, tests: Mapping[str, list[str]]) -> Iterator[Problem]:
    """Each selected test set must belong to a dataset, and each dataset must keep one."""
    known = {name for names in tests.values() for name in names}
    chosen = list(_texts(data, "tests"))
    if not known or not chosen:
        return
    for location, name in chosen:
        if name not in known:
            hint = nearest(name, known, "test sets of this study's datasets")
            yield Problem(location, f"{quoted(location)} is the unknown test set '{name}'{hint}")
    for dataset, names in tests.items():
        if not {name for _, name in chosen} & set(names):
            yield Problem(
                ("tests",), f"'tests' names no test set of the dataset '{dataset}'; it has {', '.join(names)}."
            )


def dataset_problems(data: Any, stem: str) -> list[Problem]:
    """Problems of a dataset written in a file called ``stem``."""
    if not isinstance(data, dict):
        return []
    problems = list(_name_problems(data, stem, "dataset"))
    generated = _get(data, "generator") is not None
    for key in ("train", "valid", "tests"):
        if not generated and not _get(data, key):
            problems.append(Problem((key,), f"'{key}' is missing or empty; a dataset has it, or a 'generator'."))
    for key in ("downloads", "train", "valid", "tests"):
        if generated and _get(data, key):
            problems.append(Problem((key,), f"'{key}' cannot be given beside 'generator', which makes all sentences."))
    if _get(data, "tokenised") is True and _get(_get(data, "preprocessing"), "tokenise") is not False:
        problems.append(Problem(("tokenised",), "'tokenised' text is not tokenised again: set 'tokenise' to false."))
    problems += _language_problems(data)
    problems += _split_problems(data)
    for location in _test_locations(data):
        if location[-1] in _RESERVED_TESTS:
            problems.append(Problem(location, f"a test set cannot be called '{location[-1]}'; give it another name."))
    for location, parts in _parts(data):
        if parts == [] and location[0] == "tests":
            problems.append(Problem(location, f"{quoted(location)} has no parts; write its source and target files."))
    downloads = _get(data, "downloads")
    names = downloads if isinstance(downloads, dict) else {}
    for location, file in _files(data):
        if file not in names:
            hint = nearest(file, names, "downloads")
            problems.append(Problem(location, f"{quoted(location)} is '{file}', which is no key of 'downloads'{hint}"))
    return problems


def _language_problems(data: Any) -> Iterator[Problem]:
    """Tokenisers, segmenters and scores go by the languages' codes, and say nothing of one that they do not know."""
    languages = []
    for key in ("source_language", "target_language"):
        language = _get(data, key)
        if not isinstance(language, str):
            continue
        languages.append(language)
        code = re.split("[-_]", language.lower())[0]
        if code in _LANGUAGES:
            sentence = f"'{key}' is '{language}', which is no language; did you mean '{_LANGUAGES[code]}'?"
            yield Problem((key,), sentence)
        elif not re.fullmatch(r"[a-z]{2,3}(-\w+)*", language):
            sentence = f"'{key}' must be the code of a language, such as 'de', 'qaa' or 'zh-TW', but is '{language}'."
            yield Problem((key,), sentence)
    segment = _get(_get(data, "preprocessing"), "segment")
    for name in segment if isinstance(segment, dict) and len(languages) == 2 else ():
        if name not in languages:
            location = ("preprocessing", "segment", name)
            hint = nearest(name, languages, "dataset's languages")
            yield Problem(location, f"{quoted(location)} is no language of this dataset{hint}")


def _split_problems(data: Any) -> Iterator[Problem]:
    """Pairs can only be counted of a split that there is."""
    tests = _get(data, "tests")
    splits = ["train", "valid", *(tests if isinstance(tests, dict) else ())]
    published = _get(data, "published_pairs")
    for name in published if isinstance(published, dict) else ():
        if name not in splits:
            location = ("published_pairs", name)
            yield Problem(location, f"{quoted(location)} is no split of this dataset{nearest(name, splits, 'splits')}")


def derived_problems(data: Any, stem: str, names: Collection[str], originals: Mapping[str, Any]) -> list[Problem]:
    """Problems of a dataset that is derived from another one, written in a file called ``stem``.

    ``names`` are those of all datasets; ``originals`` holds the named ones of them, as they are written.
    """
    used = [((key,), _get(data, key)) for key in DERIVED_KEYS]
    problems = [*_name_problems(data, stem, "dataset"), *_unknown(used, "datasets", names)]
    for location, name in used:
        original = originals.get(name) if isinstance(name, str) else None
        if isinstance(original, dict) and set(DERIVED_KEYS) & original.keys():
            sentence = (
                f"{quoted(location)} is '{name}', which is itself derived. Name a dataset that is written in full."
            )
            problems.append(Problem(location, sentence))
        elif location == ("reverse_of",) and _get(original, "generator") is not None:
            sentence = (
                f"'reverse_of' is '{name}', whose sentences a generator makes, and in one direction only. Name a "
                "dataset of files, or derive this one with 'variant_of'."
            )
            problems.append(Problem(location, sentence))
    return problems


def _test_locations(data: Any) -> Iterator[Location]:
    for group, location in ((data, ("tests",)), (_get(data, "generator"), ("generator", "tests"))):
        tests = _get(group, "tests")
        yield from ((*location, name) for name in (tests if isinstance(tests, dict) else ()))


def _parts(data: Any) -> Iterator[tuple[Location, Any]]:
    """The list of parts of every split."""
    yield ("train",), _get(data, "train")
    yield ("valid",), _get(data, "valid")
    tests = _get(data, "tests")
    yield from ((("tests", name), parts) for name, parts in (tests.items() if isinstance(tests, dict) else ()))


def _files(data: Any) -> Iterator[tuple[Location, str]]:
    """Every file that a part names."""
    for location, parts in _parts(data):
        for i, part in enumerate(parts if isinstance(parts, list) else ()):
            for side in ("source", "target"):
                file = _get(_get(part, side), "file")
                if isinstance(file, str):
                    yield (*location, i, side, "file"), file


def _name_problems(data: Any, stem: str, kind: str) -> Iterator[Problem]:
    name = _get(data, "name")
    if isinstance(name, str) and name != stem:
        yield Problem(
            ("name",),
            f"'name' is '{name}', but the file is called '{stem}.yaml'; the two must be the same for a {kind}.",
        )


def _get(data: Any, key: Any) -> Any:
    return data.get(key) if isinstance(data, dict) else None


def _list(data: Any, key: str) -> list[Any]:
    value = _get(data, key)
    return value if isinstance(value, list) else []


def _texts(data: Any, key: str) -> Iterator[tuple[Location, str]]:
    return (((key, i), value) for i, value in enumerate(_list(data, key)) if isinstance(value, str))

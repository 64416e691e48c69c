"""Checks of datasets that types of single keys cannot make: names that must exist, and keys that depend on each other.

The checks look at raw data of any shape, so that their findings appear together with those of the types.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from wordorder.config.document import Location, Problem, quoted
from wordorder.config.raw import dot_problems, foreign, get, list_of, name_problems, unknown_names

_RESERVED_TESTS = ("train", "valid")
# Codes of countries that are mistaken for codes of languages.
_LANGUAGES = {"jp": "ja", "cn": "zh"}
_TAR = re.compile(r"\.(tar(\.\w+)?|tgz|tbz2?|txz)$")
# The keys that name the original of a derived dataset.
DERIVED_KEYS = ("reverse_of", "variant_of")


def dataset_problems(data: Any, stem: str) -> list[Problem]:
    """Find problems of a dataset in a file named ``stem``."""
    if not isinstance(data, dict):
        return []
    problems = list(name_problems(data, stem, "dataset"))
    generated = get(data, "generator") is not None
    for key in ("train", "valid", "tests"):
        if not generated and not get(data, key):
            sentence = f"'{key}' is missing or empty; a dataset has it, or a 'generator'."
            problems.append(Problem((key,), sentence, "missing-key"))
    for key in ("downloads", "train", "valid", "tests"):
        if generated and get(data, key):
            sentence = f"'{key}' cannot be given with 'generator', which creates all sentences."
            problems.append(Problem((key,), sentence, "inconsistent-keys"))
    if generated and get(get(data, "preprocessing"), "remove_overlap") is True:
        sentence = (
            "'preprocessing.remove_overlap' cannot be given with 'generator': gold positions are of all generated "
            "sentences. Remove it."
        )
        problems.append(Problem(("preprocessing", "remove_overlap"), sentence, "inconsistent-keys"))
    if get(data, "tokenised") is True and get(get(data, "preprocessing"), "tokenise") is not False:
        sentence = "'tokenised' text is not tokenised again: set 'tokenise' to false."
        problems.append(Problem(("tokenised",), sentence, "inconsistent-keys"))
    if get(get(data, "preprocessing"), "tokenise") is False:
        for key in ("segment", "aggressive_dash_splits"):
            if get(get(data, "preprocessing"), key):
                sentence = f"'preprocessing.{key}' has no effect if 'tokenise' is false. Remove one of them."
                problems.append(Problem(("preprocessing", key), sentence, "inconsistent-keys"))
    problems += _language_problems(data)
    problems += _split_problems(data)
    for location in _test_locations(data):
        problems += _test_name_problems(location)
    for location, parts in _parts(data):
        if parts == [] and location[0] == "tests":
            sentence = f"{quoted(location)} has no parts; write its source and target files."
            problems.append(Problem(location, sentence, "wrong-length"))
    problems += _same_text_problems(data)
    downloads = get(data, "downloads")
    names = downloads if isinstance(downloads, dict) else {}
    for name, entry in names.items():
        if get(entry, "lines") is not None and _TAR.search(str(name)):
            sentence = f"'lines' is the number of lines of a text, but {name} is an archive of files. Give a checksum."
            problems.append(Problem(("downloads", name, "lines"), sentence, "inconsistent-keys"))
    for location, file in _files(data):
        if file not in names:
            problems.append(foreign(location, file, "a key of 'downloads'", names, "downloads"))
    return problems


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
    used = [((key,), get(data, key)) for key in DERIVED_KEYS]
    problems = [*name_problems(data, stem, "dataset"), *unknown_names(used, "datasets", names)]
    for location, name in used:
        original = originals.get(name) if isinstance(name, str) else None
        if isinstance(original, dict) and set(DERIVED_KEYS) & original.keys():
            sentence = f"{quoted(location)} is '{name}', which is itself derived. Name a dataset that is not derived."
            problems.append(Problem(location, sentence, "derived-twice", found=name))
        elif location == ("reverse_of",) and get(original, "generator") is not None:
            sentence = (
                f"'reverse_of' is '{name}', whose sentences a generator makes, and in one direction only. Name a "
                "dataset of files, or derive this one with 'variant_of'."
            )
            problems.append(Problem(location, sentence, "inconsistent-keys", found=name))
        elif isinstance(original, dict):
            problems += _derived_split_problems(data, name, original)
    return problems


def leaking_splits(splits: Collection[str], dataset: Any) -> list[Problem]:
    """Find splits of a derived dataset that bring held-out pairs into training.

    Args:
        splits: The names of the splits that the dataset makes from those of its original.
        dataset: The complete dataset, as raw data.

    Returns:
        The problems.
    """
    found = _same_text_problems(dataset) if splits else ()
    return [
        Problem(("splits", next((name for name in location if name in splits), "train")), sentence, code)
        for location, sentence, code, *_ in found
    ]


def _language_problems(data: Any) -> Iterator[Problem]:
    """Check language codes, because tokenisers, segmenters and scores silently ignore unknown ones."""
    languages = []
    for key in ("source_language", "target_language"):
        language = get(data, key)
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
    for location, name in _preprocessed(get(data, "preprocessing")) if len(languages) == 2 else ():
        if name not in languages:
            yield foreign(location, name, "a language of this dataset", languages, "dataset's languages")


def _preprocessed(preprocessing: Any) -> Iterator[tuple[Location, str]]:
    """Yield every language with its own preprocessing."""
    for key in ("segment", "replace", "join"):
        value = get(preprocessing, key)
        places = (
            {name: name for name in value}.items()
            if isinstance(value, dict)
            else enumerate(list_of(preprocessing, key))
        )
        yield from ((("preprocessing", key, place), name) for place, name in places if isinstance(name, str))


def _split_problems(data: Any) -> Iterator[Problem]:
    """Check that published numbers of pairs belong to existing splits."""
    tests = get(data, "tests")
    splits = ["train", "valid", *(tests if isinstance(tests, dict) else ())]
    published = get(data, "published_pairs")
    for name in published if isinstance(published, dict) else ():
        if name not in splits:
            location = ("published_pairs", name)
            yield foreign(location, name, "a split of this dataset", splits, "splits")


def _same_text_problems(data: Any) -> Iterator[Problem]:
    """Check that no other split has pairs of the training set, and that the two sides of a part differ.

    A test set may be the validation set, whose scores some papers report, too.
    """
    without_overlap = get(get(data, "preprocessing"), "remove_overlap") is True
    trained: list[tuple[Location, list[Any], Any]] = []
    for split, parts in _parts(data):
        for i, part in enumerate(parts if isinstance(parts, list) else ()):
            location, sides = (*split, i), [_text(get(part, side)) for side in ("source", "target")]
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
    if not isinstance(get(side, "file"), str):
        return None
    keys = {key: value for key, value in side.items() if key != "unescape" and value is not None}
    if isinstance(keys.get("member"), str):
        keys["member"] = keys["member"].removeprefix("./")
    return {"format": "text"} | keys


def _overlap(part: Any, other: Any) -> bool:
    """Return whether two parts of the same text use some of the same pairs; False if that is not known."""
    for side in ("source", "target"):
        (least, most), (others_least, others_most) = _lengths(part, side), _lengths(other, side)
        if most < others_least or others_most < least:
            return False
    return _choices_overlap(get(part, "choose"), get(other, "choose"))


def _lengths(part: Any, side: str) -> tuple[float, float]:
    """Return the smallest and largest number of words of one side; no limits if they are missing or malformed."""
    match get(get(part, "words"), side):
        case [int() as least, int() as most]:
            return least, most
        case _:
            return 0, math.inf


def _choices_overlap(one: Any, other: Any) -> bool:
    """Return whether two values of 'choose' select some of the same pairs; False if that is not known."""
    if one is None or other is None:
        return True
    buckets, others_buckets = get(one, "of"), get(other, "of")
    if get(one, "by") != get(other, "by") or not _is_number(buckets) or not _is_number(others_buckets):
        return False
    # Numbers that leave the remainders r and s divided by n and m exist if r and s are equal modulo gcd(n, m).
    classes = math.gcd(buckets, others_buckets)
    kept, others_kept = (_classes(choice, "keep", classes).keys() for choice in (one, other))
    dropped, others_dropped = (
        {each for each, count in _classes(choice, "drop", classes).items() if count == of // classes}
        for choice, of in ((one, buckets), (other, others_buckets))
    )
    if kept and others_kept:
        return bool(kept & others_kept)
    if kept or others_kept:
        return bool((kept or others_kept) - (dropped | others_dropped))
    return len(dropped | others_dropped) < classes


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and value > 0


def _classes(choice: Any, key: str, classes: int) -> Counter[int]:
    """Count the named buckets by their remainders modulo ``classes``."""
    return Counter(number % classes for number in {each for each in list_of(choice, key) if isinstance(each, int)})


def _derived_split_problems(data: Any, name: str, original: dict[str, Any]) -> Iterator[Problem]:
    """Check that derived splits are made from splits of the original, and no held-out set from training pairs."""
    splits = get(data, "splits")
    if not isinstance(splits, dict) or not splits:
        return
    if get(original, "generator") is not None:
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
        sources = list_of(derived, "of") or [split]
        for place, source in enumerate(sources):
            here = (*location, "of", place) if list_of(derived, "of") else location
            if source not in known:
                yield foreign(here, str(source), f"a split of '{name}'", known, "splits")
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
    yield from dot_problems(location, "a test set")


def _test_locations(data: Any) -> Iterator[Location]:
    for group, location in ((data, ("tests",)), (get(data, "generator"), ("generator", "tests"))):
        tests = get(group, "tests")
        yield from ((*location, name) for name in (tests if isinstance(tests, dict) else ()))


def _parts(data: Any) -> Iterator[tuple[Location, Any]]:
    """Yield the list of parts of every split."""
    yield ("train",), get(data, "train")
    yield ("valid",), get(data, "valid")
    tests = get(data, "tests")
    yield from ((("tests", name), parts) for name, parts in (tests.items() if isinstance(tests, dict) else ()))


def _files(data: Any) -> Iterator[tuple[Location, str]]:
    """Yield every file that a part names."""
    for location, parts in _parts(data):
        for i, part in enumerate(parts if isinstance(parts, list) else ()):
            for side in ("source", "target"):
                file = get(get(part, side), "file")
                if isinstance(file, str):
                    yield (*location, i, side, "file"), file

"""The cases of fuzzers: few and always the same in 'make test', many and random in 'make fuzz MINUTES=…'."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Iterator
from typing import Any

_MINUTES = float(os.environ.get("WORDORDER_FUZZ_MINUTES", 0))
_SEED = os.environ.get("WORDORDER_FUZZ_SEED") or (secrets.token_hex(4) if _MINUTES else "0")
_SCALE = max(1.0, 3 * _MINUTES)  # the short form takes about 20 seconds


def cases(count: int) -> Iterator[tuple[str, random.Random]]:
    """Yield the names and the generators of ``count`` cases, in the long form of more.

    A case comes again with WORDORDER_FUZZ_SEED=… from the part of its name before the slash.
    """
    for number in range(int(count * _SCALE)):
        yield f"{_SEED}/{number}", random.Random(f"{_SEED}/{number}")


def damaged(content: bytes, generator: random.Random) -> tuple[str, bytes]:
    """Return a name and the result of one damage: a flipped bit, a block of other bytes, a cut, or appended bytes."""
    while True:
        place = generator.randrange(len(content) + 1)
        length = generator.choice((1, 8, 64, 512))
        noise = generator.choice((bytes(length), generator.randbytes(length)))
        kind = generator.choice(("flip", "overwrite", "cut", "append"))
        if kind == "flip" and place < len(content):
            flipped = content[place] ^ 1 << generator.randrange(8)
            result = content[:place] + bytes([flipped]) + content[place + 1 :]
        elif kind == "overwrite":
            result = (content[:place] + noise + content[place + length :])[: len(content)]
        elif kind == "cut":
            result = content[:place]
        else:
            kind, result = "append", content + noise
        if result != content:
            return f"{kind} at {place}", result


STRANGE: list[Any] = [None, "", "x" * 300, "é\u2028", [], {}, [[]], {"type": []}, 0, -1, 1e400, True, "type", 10**30]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, own in inside for place in places(own, (*at, key)))]


def changed(value: Any, generator: random.Random) -> Any:
    """Replace, remove or rename one value."""
    *parents, last = generator.choice([place for place in places(value) if place])
    where = value
    for key in parents:
        where = where[key]
    action = generator.choice(("replace", "remove", "rename"))
    if action == "replace":
        where[last] = generator.choice(STRANGE)
    elif action == "remove":
        del where[last]
    elif isinstance(where, dict):
        where[generator.choice(STRANGE[1:4])] = where.pop(last)
    return value

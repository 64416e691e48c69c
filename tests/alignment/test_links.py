"""Links in memory and in files."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from raises import raises
from wordorder.alignment.links import GoldLinks, Links, read_gold, read_links, write_links
from wordorder.data.sampling import spread

Rows = list[list[tuple[int, int]]]


def rows(links: Links) -> Rows:
    return [[(i, j) for i, j in pair.tolist()] for pair in links]


def file(folder: Path, *lines: str) -> Path:
    path = folder / "links"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def test_links_are_sorted_and_each_once() -> None:
    links = Links.of([[(2, 0), (0, 1), (0, 0), (2, 0)], [], [(1, 1)]])
    assert rows(links) == [[(0, 0), (0, 1), (2, 0)], [], [(1, 1)]]
    assert links.source.tolist() == [0, 0, 2, 1]
    assert links.target.tolist() == [0, 1, 0, 1]
    assert links.offsets.tolist() == [0, 3, 3, 4]
    assert len(links) == 3 and links[1].shape == (0, 2)
    assert (links.source.dtype, links.target.dtype, links.offsets.dtype) == (np.int32, np.int32, np.int64)


@pytest.mark.parametrize("index", [-1, 2])
def test_there_is_no_other_pair(index: int) -> None:
    with pytest.raises(IndexError):
        Links.of([[], []])[index]


def test_the_file_is_written_as_aligners_write_it(tmp_path: Path) -> None:
    write_links(tmp_path / "links", Links.of([[(2, 0), (0, 1)], [], [(10, 9)]]))
    assert (tmp_path / "links").read_bytes() == b"0-1 2-0\n\n10-9\n"


def test_what_was_written_is_read(tmp_path: Path) -> None:
    draw = random.Random(1)
    pairs = [sorted({(draw.randrange(9), draw.randrange(7)) for _ in range(draw.randrange(8))}) for _ in range(40)]
    write_links(tmp_path / "links", Links.of(pairs))
    assert rows(read_links(tmp_path / "links", source_lengths=[9] * 40, target_lengths=[7] * 40)) == pairs
    chosen = spread(40, 13)
    found = read_links(tmp_path / "links", chosen=chosen, source_lengths=[9] * 13)
    assert rows(found) == [pairs[index] for index in range(40) if chosen[index]]
    with raises("unequal-lines"):
        read_links(tmp_path / "links", chosen=spread(41, 13))


def test_links_in_any_order(tmp_path: Path) -> None:
    assert rows(read_links(file(tmp_path, " 2-0  0-1 2-0 ", ""))) == [[(0, 1), (2, 0)], []]


@pytest.mark.parametrize("link", ["1", "1-", "-1-2", "1-2-3", "1:2", "a-b", "1p2", "1.0-2", "１-2", "0-99999999999"])
def test_a_malformed_link_is_refused(tmp_path: Path, link: str) -> None:
    with raises("malformed-line", path=tmp_path / "links", line=2, found=link):
        read_links(file(tmp_path, "0-0", f"0-1 {link} 1-1"))


@pytest.mark.parametrize("link", ["3-0", "0-2", "9-9"])
def test_a_link_beyond_its_sentence_is_refused(tmp_path: Path, link: str) -> None:
    path = file(tmp_path, "9-9", f"2-1 {link}")
    with raises("outside-sentence", path=path, line=2, found=link):
        read_links(path, source_lengths=[10, 3], target_lengths=[10, 2])


def test_one_side_may_be_known(tmp_path: Path) -> None:
    path = file(tmp_path, "2-7")
    assert rows(read_links(path, source_lengths=[3])) == [[(2, 7)]]
    with raises("outside-sentence", line=1):
        read_links(path, source_lengths=[2])
    with raises("outside-sentence", line=1):
        read_links(path, target_lengths=np.array([7]))


def test_nothing_is_inside_an_empty_sentence(tmp_path: Path) -> None:
    with raises("outside-sentence", line=1):
        read_links(file(tmp_path, "0-0"), source_lengths=[0], target_lengths=[1])


@pytest.mark.parametrize(("sentences", "lines"), [(1, "more than 1"), (3, "2")])
def test_another_number_of_lines_is_refused(tmp_path: Path, sentences: int, lines: str) -> None:
    with raises("unequal-lines"):
        read_links(file(tmp_path, "0-0", "0-0"), source_lengths=[1] * sentences)


def test_two_sides_of_different_length_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"source .*target"):
        read_links(file(tmp_path, "0-0"), source_lengths=[1], target_lengths=[1, 1])


def gold(found: GoldLinks) -> tuple[Rows, Rows, int]:
    return rows(found.sure), rows(found.possible), found.dropped


def test_sure_links_are_possible_too(tmp_path: Path) -> None:
    path = file(tmp_path, "1-2 0p1", "", "3-3")
    assert gold(read_gold(path)) == ([[(1, 2)], [], [(3, 3)]], [[(0, 1), (1, 2)], [], [(3, 3)]], 0)


def test_gold_links_may_count_from_one(tmp_path: Path) -> None:
    path = file(tmp_path, "1-2 3p1")
    assert gold(read_gold(path, first=1, source_lengths=[3], target_lengths=[2])) == ([[(0, 1)]], [[(0, 1), (2, 0)]], 0)


@pytest.mark.parametrize("link", ["0-1", "1p0"])
def test_a_gold_link_below_the_first_unit_is_never_dropped(tmp_path: Path, link: str) -> None:
    path = file(tmp_path, "1-1", link)
    with raises("outside-sentence", path, 2, found=link, says="'first'"):
        read_gold(path, first=1, source_lengths=[2, 2], target_lengths=[2, 2], drop_outside=True)


def test_gold_links_beyond_the_sentence_are_dropped_on_demand(tmp_path: Path) -> None:
    path = file(tmp_path, "1-1 3-1 1p3", "2-2 1-3")
    lengths = {"source_lengths": [2, 2], "target_lengths": [2, 2]}
    found = read_gold(path, first=1, drop_outside=True, **lengths)
    assert gold(found) == ([[(0, 0)], [(1, 1)]], [[(0, 0)], [(1, 1)]], 3)
    with raises("outside-sentence", line=1):
        read_gold(path, first=1, **lengths)
    with raises("outside-sentence", line=1):
        read_gold(path, **lengths)

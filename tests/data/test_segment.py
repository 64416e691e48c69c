"""Tests of the segmentation of Japanese and Chinese; skipped if the segmenters are not installed."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest

from raises import raises
from wordorder.config.datasets import TextPreprocessing
from wordorder.data.clean import preprocessor
from wordorder.data.segment import Segmenter, segmenter
from wordorder.data.tokenise import detokeniser, tokeniser

needs_mecab = pytest.mark.skipif(importlib.util.find_spec("ipadic") is None, reason="MeCab is not installed")
needs_jieba = pytest.mark.skipif(importlib.util.find_spec("jieba") is None, reason="jieba is not installed")

JAPANESE = [
    ("テニス部員です。", "テニス 部員 です 。"),
    ("GPUは3.5%、x-y「Tom Smith」だ。", "GPU は 3.5 % 、 x-y 「 Tom Smith 」 だ 。"),
    ("テニス 部員 です", "テニス 部員 です"),
    ("", ""),
]
CHINESE = [
    ("两个人在滑雪。", "两个 人 在 滑雪 。"),
    ("他在New York花了9,000美元（约合）", "他 在 New York 花 了 9,000 美元 （ 约合 ）"),
]
CASES = [
    *(pytest.param("mecab", "ja", *case, marks=needs_mecab) for case in JAPANESE),
    *(pytest.param("jieba", "zh", *case, marks=needs_jieba) for case in CHINESE),
]


@pytest.mark.parametrize(("name", "language", "line", "words"), CASES)
def test_words(name: Segmenter, language: str, line: str, words: str) -> None:
    assert segmenter(name, tokeniser(language))(line) == words


@pytest.mark.parametrize(("name", "language", "line", "words"), CASES)
def test_translations_lose_the_spaces_again(name: Segmenter, language: str, line: str, words: str) -> None:
    wanted = line.replace(" ", "") if " " in line and "Tom" not in line and "New" not in line else line
    assert detokeniser(language)(words) == wanted


@needs_mecab
def test_only_the_language_that_a_dataset_names_is_segmented() -> None:
    preprocessing = TextPreprocessing(segment={"ja": "mecab"})
    assert preprocessor("ja", preprocessing)("“本”です。") == "“ 本 ” です 。"  # the punctuation is kept
    assert preprocessor("en", preprocessing)("“A book” is") == '" A book " is'


@pytest.mark.parametrize("language", ["ja", "zh", "zh-TW"])
def test_spaces_between_latin_words_stay(language: str) -> None:
    assert detokeniser(language)("我 爱 New York , “ OK ” （ 2 ） 。") == "我爱New York,“OK”（2）。"
    assert detokeniser("en")("我 爱 New York .") != "我爱New York."


@pytest.mark.parametrize(("name", "extra"), [("mecab", "ja"), ("jieba", "zh")])
def test_a_segmenter_that_is_not_installed_is_told(monkeypatch: Any, name: Segmenter, extra: str) -> None:
    for module in ("MeCab", "ipadic", "jieba"):
        monkeypatch.setitem(sys.modules, module, None)
    with raises("missing-package"):
        segmenter(name, str)

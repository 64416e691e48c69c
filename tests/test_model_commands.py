from __future__ import annotations

from pathlib import Path

import pytest

from wordorder.cli import main


def test_params_of_the_published_base_model(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (config / "encodings.yaml").write_text(
        "none: {type: none}\nlearned: {type: learned}\nrelative: {type: relative, clip: 15, share_heads: false}\n"
    )
    assert main(["params", "--size", "base", "--vocabulary", "37000", "--root", str(config)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0][:3] == ["encoding", "total", "encoding"]
    assert rows[1:] == [["none", "63.08", "0.00"], ["learned", "64.13", "1.05"], ["relative", "63.37", "0.29"]]


@pytest.mark.parametrize(
    ("size", "vocabulary", "sentence"),
    [
        ("bass", "100", "There is no size 'bass' in "),
        ("base", "4", "--vocabulary must be above 4, the number of special"),
    ],
)
def test_mistakes(config: Path, capsys: pytest.CaptureFixture[str], size: str, vocabulary: str, sentence: str) -> None:
    assert main(["params", "--size", size, "--vocabulary", vocabulary, "--root", str(config)]) == 1
    assert sentence in capsys.readouterr().err

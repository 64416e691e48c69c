"""wordorder.drawing.small_svg: smaller files that show the same picture."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from wordorder.drawing.small_svg import raster_svg, small_svg

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"


def drawing(folder: Path) -> Path:
    draw = np.random.default_rng(3)
    figure = Figure(figsize=(6, 3), layout="constrained")
    lines, heat = figure.subplots(1, 2)
    for number in range(4):
        lines.errorbar(range(30), draw.normal(size=30), draw.random(30), label=f"line {number} & more", marker="o")
    lines.legend()
    heat.imshow(draw.normal(size=(20, 30)), interpolation="nearest")
    heat.set_ylabel("upright")
    for end in ("svg", "png"):
        figure.savefig(folder / f"drawing.{end}")
    return folder / "drawing.svg"


def images(text: str) -> list[np.ndarray]:  # type: ignore[type-arg]
    found = [element.attrib[HREF] for element in ElementTree.fromstring(text).iter(f"{SVG}image")]
    read = [Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))) for address in found]
    return [np.asarray(image.convert("RGBA")) for image in read]


def shapes(text: str) -> list[tuple[str, list[float], str | None]]:
    """Kind, coordinates and text of everything that is drawn."""
    found = []
    for element in ElementTree.fromstring(text).iter():
        kind = element.tag.removeprefix(SVG)
        if kind in ("path", "use", "text", "rect", "image"):
            keys = ("d", "x", "y", "width", "height")
            values = " ".join(element.attrib.get(key, "") for key in keys)
            found.append((kind, [float(number) for number in re.findall(r"-?\d+\.?\d*", values)], element.text))
    return found


def test_the_same_things_are_drawn_at_the_same_places(tmp_path: Path) -> None:
    before = drawing(tmp_path).read_text(encoding="utf-8")
    after = small_svg(before)
    assert len(after) < 0.6 * len(before)
    for (kind, old, said), (same, new, now) in zip(shapes(before), shapes(after), strict=True):
        assert kind == same and (said or "").strip() == (now or "").strip()
        assert np.allclose(old, new, rtol=0, atol=0.0051)
    for old, new in zip(images(before), images(after), strict=True):
        assert (old == new).all(), "no pixel of a heat map has another colour"


def test_every_reference_and_class_has_what_it_names(tmp_path: Path) -> None:
    before, after = (ElementTree.fromstring(text) for text in each(tmp_path))
    ids = [element.attrib["id"] for element in after.iter() if "id" in element.attrib]
    named = [name for element in after.iter() for name in re.findall(r"#([\w-]+)", " ".join(element.attrib.values()))]
    assert len(set(ids)) == len(ids) and set(named) <= set(ids)
    rules = dict(re.findall(r"\.(\w+)\{([^}]*)\}", next(after.iter(f"{SVG}style")).text or ""))
    styles = [
        element.attrib["style"].replace(" ", "").strip(";") for element in before.iter() if "style" in element.attrib
    ]
    classes = [element.attrib["class"] for element in after.iter() if "class" in element.attrib]
    assert [rules[name].replace(" ", "").strip(";") for name in classes] == styles


def each(folder: Path) -> tuple[str, str]:
    before = drawing(folder).read_text(encoding="utf-8")
    return before, small_svg(before)


def test_an_image_in_place_of_a_drawing_has_its_proportions(tmp_path: Path) -> None:
    png = drawing(tmp_path).with_suffix(".png")
    root = ElementTree.fromstring(raster_svg(png))
    (image,) = images(raster_svg(png))
    with Image.open(png) as old:
        assert np.abs(np.asarray(old.convert("RGB")).astype(float) - image[:, :, :3]).mean() < 8
        assert root.attrib["viewBox"] == f"0 0 {old.width} {old.height}"

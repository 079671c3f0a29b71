"""Colours by computation: told apart without red and green, and legible words on what is marked."""

from __future__ import annotations

import itertools
import re

import pytest

from inspector.palette import FATE_COLOURS, SERIES
from langchain_context_engine.cli.inspect import _THEME
from tests.conftest import ROOT

# Deuteranopia of full strength (Machado, Oliveira and Fernandes 2009), on linear RGB.
DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
LEAST_DISTANCE, LEAST_CONTRAST, MOST_HUES = 11.0, 4.5, 8
CSS = "".join((ROOT / "inspector" / name).read_text(encoding="utf-8") for name in ("app.css", "grid.css"))


def linear(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def as_lab(rgb):
    x = (0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.9505
    y = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
    z = (0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.089
    fx, fy, fz = (max(0.0, c) ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def seen_without_green(colour):
    rgb = linear(colour)
    return [min(1.0, max(0.0, sum(a * b for a, b in zip(row, rgb, strict=True)))) for row in DEUTERANOPIA]


def distance(first, second):
    pair = zip(as_lab(seen_without_green(first)), as_lab(seen_without_green(second)), strict=True)
    return sum((a - b) ** 2 for a, b in pair) ** 0.5


def luminance(colour):
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


def contrast(first, second):
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def laid_over(colour, share, ground):
    parts = [
        round(int(colour[i : i + 2], 16) * share + int(ground[i : i + 2], 16) * (1 - share))
        for i in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in parts)


@pytest.mark.parametrize("colours", [SERIES, tuple(dict.fromkeys(FATE_COLOURS.values()))])
def test_colours_are_told_apart_under_deuteranopia(colours):
    assert len(colours) <= MOST_HUES
    near = {pair: round(distance(*pair), 1) for pair in itertools.combinations(colours, 2)}
    assert {pair: d for pair, d in near.items() if d < LEAST_DISTANCE} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_on_what_is_marked_have_enough_contrast(theme):
    words, *grounds = (
        str(_THEME[f"theme.{theme}.{name}"])
        for name in ("textColor", "backgroundColor", "secondaryBackgroundColor")
    )
    marks = re.findall(r"background: rgba\((\d+),(\d+),(\d+),([.\d]+)\)", CSS)
    assert len(marks) > 4
    for ground in grounds:
        assert contrast(words, ground) >= LEAST_CONTRAST
        for red, green, blue, share in marks:
            colour = f"#{int(red):02x}{int(green):02x}{int(blue):02x}"
            assert contrast(words, laid_over(colour, float(share), ground)) >= LEAST_CONTRAST

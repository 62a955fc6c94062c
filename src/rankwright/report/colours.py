"""Colours for light and dark grounds, by how the eye sees them (OKLCH)."""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import accumulate, pairwise

# Lightness, chroma and hue (OKLCH) of the first and the last line. Lightness never turns back, so the eye sees the
# order of the lines; the ends keep a contrast of at least 3 : 1 to the background.
_LIGHT_RAMP = ((0.34, 0.20, 310.0), (0.66, 0.17, 45.0))
_DARK_RAMP = ((0.56, 0.20, 310.0), (0.90, 0.15, 70.0))
_SAMPLES = 256

# Text in any of these but grid and frame has a contrast of at least 4.5 : 1 to paper and wash.
LIGHT = {
    "paper": "#ffffff",
    "wash": "#f6f8fa",
    "ink": "#1f2328",
    "faint": "#59636e",
    "grid": "#e4e7eb",
    "frame": "#b6bdc6",
    "accent": "#6a2c9c",
    "better": "#0b6b6b",
    "worse": "#a8440b",
}
DARK = {
    "paper": "#0d1117",
    "wash": "#161b22",
    "ink": "#e6edf3",
    "faint": "#9198a1",
    "grid": "#21262d",
    "frame": "#444c56",
    "accent": "#c59cff",
    "better": "#4fc3ba",
    "worse": "#f0a060",
}


def colour_ramp(count: int, *, dark: bool = False) -> list[str]:
    """``count`` colours as #rrggbb, from the first to the last in steps that look even, for a light or dark ground."""
    first, last = _DARK_RAMP if dark else _LIGHT_RAMP
    shares = [i / (_SAMPLES - 1) for i in range(_SAMPLES)]
    fine = [_oklab(*((1 - t) * a + t * b for a, b in zip(first, last, strict=True))) for t in shares]
    # Distances in OKLab are differences as the eye sees them.
    length = [0.0, *accumulate(math.dist(*pair) for pair in pairwise(fine))]
    places = [length[-1] * i / max(count - 1, 1) for i in range(count)]
    return [_hex_of(fine[min(bisect_left(length, place), _SAMPLES - 1)]) for place in places]


def _oklab(lightness: float, chroma: float, hue: float) -> tuple[float, float, float]:
    """A colour with as much of its chroma as sRGB can show."""
    angle = math.radians(hue)
    while True:
        colour = lightness, chroma * math.cos(angle), chroma * math.sin(angle)
        if all(0 <= channel <= 1 for channel in _linear_rgb(*colour)):
            return colour
        chroma *= 0.98


def _hex_of(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * _with_gamma(channel)):02x}" for channel in _linear_rgb(*colour))


def _linear_rgb(lightness: float, a: float, b: float) -> tuple[float, float, float]:
    """OKLab to linear sRGB (Ottosson, 2020)."""
    l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    )


def _with_gamma(channel: float) -> float:
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055

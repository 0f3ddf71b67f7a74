"""Compute the coordinates of a chart or a graph, for a template that draws it as SVG."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = 0.25  # of a bar's width


def bars(values: Sequence[float], width: int, height: int) -> list[dict[str, float]]:
    """Return a bar for each value; the largest has the whole height, and a value above 0 is visible."""
    most = max(values, default=0) or 1
    step = width / max(len(values), 1)
    sizes = [max(value / most * height, 2 if value else 0) for value in values]
    return [
        {
            "x": round(place * step, 2),
            "y": round(height - size, 2),
            "w": round(step * (1 - _GAP), 2),
            "h": round(size, 2),
        }
        for place, size in enumerate(sizes)
    ]


def circle(names: Sequence[str], width: int, height: int) -> list[dict[str, Any]]:
    """Return a point on an ellipse for each name, with the side of its label."""
    around = []
    for place, name in enumerate(names):
        angle = 2 * math.pi * place / max(len(names), 1) - math.pi / 2
        x, y = width / 2 + width * 0.3 * math.cos(angle), height / 2 + height * 0.4 * math.sin(angle)
        around.append({"name": name, "x": round(x, 1), "y": round(y, 1), "end": x < width / 2 - 1})
    return around

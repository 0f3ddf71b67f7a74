"""Compute the coordinates of a chart or a graph, for a template that draws it as SVG.

Tested through `tests/web/test_app.py`.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

_GAP = 0.25  # of a bar's width
_WIDTH, _HEIGHT = 780, 120  # of a chart
_LEAST_BARS, _MOST_BARS = 12, 52


def bars(values: Sequence[float], width: int, height: int) -> list[dict[str, float]]:
    """Return a bar for each value; the largest has the whole height, and a value above 0 is visible."""
    most = max(values, default=0) or 1
    step = width / max(len(values), 1)
    sizes = [max(value / most * height, 2 if value else 0) for value in values]
    return [
        {
            "x": round((place + _GAP / 2) * step, 2),
            "y": round(height - size, 2),
            "w": round(step * (1 - _GAP), 2),
            "h": round(size, 2),
        }
        for place, size in enumerate(sizes)
    ]


def columns(title: str, starts: Sequence[str], series: Mapping[str, Sequence[int]], each: str = "") -> dict[str, Any]:
    """Return a chart with a column for each start, in which the values of the series stand on each other.

    `each` says what a column is. The table beside it has the same values.
    """
    values = list(zip(*series.values(), strict=True))
    drawn = []
    for start, column, bar in zip(starts, values, bars([sum(one) for one in values], _WIDTH, _HEIGHT), strict=True):
        whole, below, pieces = sum(column) or 1, bar["y"] + bar["h"], []
        for value in column:
            size = bar["h"] * value / whole
            below -= size
            pieces.append({"y": round(below, 2), "h": round(size, 2)})
        drawn.append({"start": start, "values": column, "x": bar["x"], "w": bar["w"], "pieces": pieces})
    most = max(map(sum, values), default=0)
    size = {"width": _WIDTH, "height": _HEIGHT, "most": most}
    return {"title": title, "each": each, "names": list(series), **size, "columns": drawn}


def over_time(title: str, name: str, days: Mapping[date, int], first: date, last: date) -> dict[str, Any]:
    """Return a chart of the sums of some days in each week from the first to the last, or in several weeks."""
    monday = min(first, last - timedelta(weeks=_LEAST_BARS - 1))
    monday -= timedelta(days=monday.weekday())
    step = 7 * ((last - monday).days // 7 // _MOST_BARS + 1)
    counts = [0] * ((last - monday).days // step + 1)
    for day, number in days.items():
        if monday <= day <= last:
            counts[(day - monday).days // step] += number
    starts = [(monday + timedelta(days=step * place)).isoformat() for place in range(len(counts))]
    return columns(title, starts, {name: counts}, "week" if step == 7 else f"{step // 7} weeks")  # noqa: PLR2004


def circle(names: Sequence[str], width: int, height: int) -> list[dict[str, Any]]:
    """Return a point on an ellipse for each name, with the side of its label."""
    around = []
    for place, name in enumerate(names):
        angle = 2 * math.pi * place / max(len(names), 1) - math.pi / 2
        x, y = width / 2 + width * 0.3 * math.cos(angle), height / 2 + height * 0.4 * math.sin(angle)
        around.append({"name": name, "x": round(x, 1), "y": round(y, 1), "end": x < width / 2 - 1})
    return around

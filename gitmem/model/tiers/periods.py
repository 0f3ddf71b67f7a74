"""The weeks and months that days belong to, and their documents. Pure.

Tested through `tests/model/tiers/test_consolidation.py`.
"""

from __future__ import annotations

from gitmem.machine.moment import date, timedelta
from gitmem.model.paths import monthly_path, weekly_path


def week_of(day: date) -> str:
    """Return the ISO week of a day, `YYYY-Www`."""
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def month_of(last: date) -> str:
    """Return the month of the week that ends on a Sunday: its Thursday's, `YYYY-MM`."""
    return (last - timedelta(days=3)).strftime("%Y-%m")


def holders_of(day: date) -> tuple[str, str]:
    """Return the documents that can hold a consolidated day: its week's and its month's."""
    last = day + timedelta(days=7 - day.isoweekday())
    return weekly_path(week_of(day)), monthly_path(month_of(last))

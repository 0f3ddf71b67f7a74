"""Tests that wait for git however busy the machine is."""

from __future__ import annotations

from tests.patient import _patient

__all__ = ["_patient"]

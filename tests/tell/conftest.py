"""Tests that wait for git however busy the machine is."""

from tests.patient import _patient

__all__ = ["_patient"]

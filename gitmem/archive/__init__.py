"""Rotate `memory.md`, consolidate days into weeks and months, summarize archives, clear old memory."""

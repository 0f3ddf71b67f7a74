"""The lines of guidance, from episodes and from project knowledge.

Tested through `tests/memory/guide/test_advice.py` and `tests/memory/guide/test_guide.py`.
"""

"""Parse a sentence into a claim: its subject, the value it prescribes, and values it rejects or ends.

Tested through `tests/model/fact/test_compare.py`.
"""

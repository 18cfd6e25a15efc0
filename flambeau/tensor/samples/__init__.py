"""Samples of a batch: operators on them wait, and are computed once for the whole batch, without recording.

Known values (``known.py``) are computed at once likewise.
"""

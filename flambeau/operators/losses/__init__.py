"""Losses."""

from . import by_number, ctc, loss, margins, regression, similarity

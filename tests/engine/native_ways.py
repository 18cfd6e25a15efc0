"""What native code takes the place of when it records, and what it puts there, by name."""

from __future__ import annotations

import importlib

import pytest

pytest.importorskip("llvmlite")
importlib.import_module("flambeau.executors.native.run")
native_record = importlib.import_module("flambeau.tensor.recording.native.record")
WAYS = native_record.native_ways()
PYTHON = {function.__name__: function for function in WAYS}
NATIVE = {function.__name__: native for function, native in WAYS.items()}

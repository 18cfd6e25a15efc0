"""What a geometry says of its elements holds of their addresses."""

from __future__ import annotations

from collections import Counter
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from flambeau import dtypes
from flambeau.devices import CPU
from flambeau.graph.geometry import Geometry, intern
from flambeau.size import Size

dimension = st.tuples(st.sampled_from((0, 1, 1, 2, 3, 4)), st.sampled_from((0, 1, 2, 3, 4, 6, 8, 12, 24)))


def addresses(g: Geometry) -> Counter[int]:
    """How often each element of the storage is read."""
    return Counter(g.offset + sum(i * s for i, s in zip(place, g.strides))
                   for place in product(*map(range, g.shape)))


@given(dims=st.lists(dimension, max_size=4), offset=st.integers(0, 3))
def test_gaps_and_overlaps(dims: list[tuple[int, int]], offset: int) -> None:
    g = intern(Size(n for n, _ in dims), tuple(s for _, s in dims), offset, dtypes.float32, CPU)
    read = addresses(g)
    adjacent = [*sorted(read)] == [*range(offset, offset + len(read))]
    repeats = 1
    for n, s in dims:
        repeats *= n if s == 0 else 1
    assert g.extent == (max(read) + 1 if read else 0)
    assert g.is_dense == (adjacent and {*read.values()} <= {1})
    if g.numel:
        assert g.has_no_gaps == (adjacent and {*read.values()} == {repeats})

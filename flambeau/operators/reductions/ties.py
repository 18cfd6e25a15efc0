"""In which order equal elements come out of a sort or a selection that keeps no order.

PyTorch's order is that of published algorithms, as C++ libraries have them:

* *introsort* (Musser, *Introspective sorting and selection algorithms*, 1997), for ``sort`` and ``mode``:
  split at the median of the second, middle and last element down to 16, then sort by insertion;
* *introselect* (the same paper) for ``topk``; where few elements are wanted of many, a heap of the best so
  far;
* Hoare's selection as in *Numerical Recipes* (Press et al., 8.5), for ``kthvalue``.

Elements are ranks here: integers, equal where elements are. All rows go through the same step at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SHORT = 16          # introsort leaves parts up to this to insertion
FEW = 64            # of so many times as many elements a heap selects


def ranks(ordered: Any, order: Any) -> Any:
    """The ranks of rows' elements, given the rows in order and where each element was."""
    found = np.zeros(order.shape, np.int64)
    np.put_along_axis(found, order, np.cumsum(_different(ordered), -1), -1)
    return found


def _different(ordered: Any) -> Any:
    """Whether an element of a row in order differs from the one before it."""
    different = np.zeros(ordered.shape, bool)
    different[..., 1:] = _differ(ordered)
    return different


def _differ(ordered: Any) -> Any:
    """The same of all but the first ones; NaNs are equal."""
    left, right = ordered[..., :-1], ordered[..., 1:]
    return (left != right) & ((left == left) | (right == right))


def tied(ordered: Any) -> Any:
    """Which rows, given in order, have equal elements."""
    return ~_differ(ordered).all(-1)


def are_there(ordered: Any) -> bool:
    """Whether any row, given in order, may have equal elements; NaNs come last."""
    last = ordered[..., -1]
    return bool((ordered[..., :-1] == ordered[..., 1:]).any() or (last != last).any())


def sorted_places(rank: Any) -> Any:
    """(R, n) ranks give the places of elements in introsort's order."""
    rows = _Rows(rank)
    rows.sort(rows.starts, rows.starts + rank.shape[1])
    return rows.places.reshape(rank.shape)


def top_places(rank: Any, k: int, in_order: bool) -> Any:
    """(R, n) ranks give (R, k) places of the smallest."""
    n = rank.shape[1]
    if k * FEW <= n:
        return np.array([_heap_select(row, k) for row in rank.tolist()], np.int64).reshape(-1, k)
    rows = _Rows(rank)
    rows.select(k - 1)
    if in_order:
        rows.sort(rows.starts, rows.starts + k - 1)
    return rows.places.reshape(rank.shape)[:, :k]


def place_at_rank(rank: Any, k: int) -> Any:
    """(R, n) ranks give (R,) the places of elements that ``kthvalue`` names."""
    rows = _Rows(rank)
    rows.partition_at(k)
    return rows.places.reshape(rank.shape)[:, k]


class _Rows:
    """Rows that are permuted. A *part* is all from one position up to another, counted through all rows."""

    def __init__(self, rank: Any) -> None:
        count, n = rank.shape
        self.ranks = rank.reshape(-1).copy()
        self.places = np.tile(np.arange(n), count)
        self.starts = np.arange(count) * n
        self.size = n

    def swap(self, i: Any, j: Any) -> None:
        for own in (self.ranks, self.places):
            own[i], own[j] = own[j], own[i]

    def swap_if(self, i: Any, j: Any) -> None:
        """Swap where the first is larger."""
        larger = self.ranks[i] > self.ranks[j]
        self.swap(i[larger], j[larger])

    def settle(self, first: Any, last: Any) -> None:
        """What insertion makes of parts: equal elements keep their order."""
        owner, at = _positions(first, last)
        order = at[np.lexsort((self.ranks[at], owner))]
        self.ranks[at], self.places[at] = self.ranks[order], self.places[order]

    # --- introsort and introselect --------------------------------------------------------------------------

    def sort(self, first: Any, last: Any) -> None:
        begin, end = first, last
        depth = _depth(int((last - first).max(initial=0)))
        while True:
            long = last - first > SHORT
            first, last = first[long], last[long]
            if not first.size:
                break
            if not depth:
                for a, b in zip(first.tolist(), last.tolist()):
                    self._sort_heap(a, b)
                break
            depth -= 1
            cut = self._split(first, last)
            first, last = np.concatenate([first, cut]), np.concatenate([cut, last])
        self.settle(begin, end)

    def select(self, k: int) -> None:
        """All before position k of a row are not larger than what is there, all behind it not smaller."""
        first, last = self.starts.copy(), self.starts + self.size
        target = self.starts + k
        depth = _depth(self.size)
        while (rows := np.flatnonzero(last - first > 3)).size:
            if not depth:
                for a, at, b in zip(first[rows].tolist(), target[rows].tolist(), last[rows].tolist()):
                    self._select_heap(a, at, b)
                last[rows] = first[rows]
                break
            depth -= 1
            cut = self._split(first[rows], last[rows])
            upper = cut <= target[rows]
            first[rows[upper]] = cut[upper]
            last[rows[~upper]] = cut[~upper]
        self.settle(first, last)

    def _split(self, first: Any, last: Any) -> Any:
        """Split parts at a median of three; where their upper halves begin."""
        second, middle, end = first + 1, first + (last - first) // 2, last - 1
        a, b, c = (self.ranks[i] for i in (second, middle, end))
        # The middle one of three; of equal ones the one that comparisons in the published order lead to.
        rising = np.where(b < c, middle, np.where(a < c, end, second))
        falling = np.where(a < c, second, np.where(b < c, end, middle))
        self.swap(first, np.where(a < b, rising, falling))
        return self._cross((first + 1, last), (first + 1, last), self.ranks[first], past=False)[0]

    def _cross(self, upwards: Any, downwards: Any, pivot: Any, past: bool) -> tuple[Any, Any]:
        """Hoare's partition: what is not smaller, looked for upwards in a part, and what is not larger,
        looked for downwards in another, are swapped until they meet. The two positions that are reached;
        ``past``: both go on where they meet at one element."""
        left, left_start, left_count = self._stops(upwards, pivot, np.greater_equal)
        right, right_start, right_count = self._stops(downwards, pivot, np.less_equal)
        right_end = right_start + right_count
        owner, k = _positions(np.zeros_like(left_count), np.minimum(left_count, right_count))
        i, j = left[left_start[owner] + k], right[right_end[owner] - 1 - k]
        crossing = i < j
        self.swap(i[crossing], j[crossing])
        done = np.bincount(owner[crossing], minlength=pivot.size)
        swapped_left = np.where(done > 0, left.take(left_start + done - 1, mode="clip"), -1)
        swapped_right = np.where(done > 0, right.take(right_end - done, mode="clip"), self.ranks.size)
        if past:
            done += np.bincount(owner[i == j], minlength=pivot.size)
        more_left, more_right = done < left_count, done < right_count
        next_left = np.where(more_left, left.take(left_start + done, mode="clip"), self.ranks.size)
        next_right = np.where(more_right, right.take(right_end - 1 - done, mode="clip"), -1)
        return np.minimum(next_left, swapped_right), np.maximum(next_right, swapped_left)

    def _stops(self, part: Any, pivot: Any, compare: Any) -> tuple[Any, Any, Any]:
        """Positions that compare so with the pivot; where each part's begin, and how many they are."""
        owner, at = _positions(*part)
        stops = compare(self.ranks[at], pivot[owner])
        count = np.bincount(owner[stops], minlength=pivot.size)
        return at[stops], np.cumsum(count) - count, count

    # --- heaps, where splitting went too deep ---------------------------------------------------------------

    def _sort_heap(self, first: int, last: int) -> None:
        order = _heap_select(self.ranks[first:last].tolist(), last - first)
        self._permute(first, order)

    def _select_heap(self, first: int, target: int, last: int) -> None:
        order = _heap(self.ranks[first:last].tolist(), target + 1 - first)
        order[0], order[target - first] = order[target - first], order[0]
        self._permute(first, order)

    def _permute(self, first: int, order: list[int]) -> None:
        at = first + np.array(order)
        for own in (self.ranks, self.places):
            own[first:first + len(order)] = own[at]

    # --- Hoare's selection ----------------------------------------------------------------------------------

    def partition_at(self, k: int) -> None:
        """Bring the elements of rank k to position k of their rows."""
        first, last = self.starts.copy(), self.starts + self.size - 1
        target = self.starts + k
        while (rows := np.flatnonzero(last > first)).size:
            two = rows[last[rows] == first[rows] + 1]
            self.swap_if(first[two], last[two])
            last[two] = first[two]
            rows = rows[last[rows] > first[rows]]
            low, high, at = first[rows], last[rows], target[rows]
            self.swap((low + high) >> 1, low + 1)
            self.swap_if(low + 1, high)
            self.swap_if(low, high)
            self.swap_if(low + 1, low)
            i, j = self._cross((low + 2, high + 1), (low + 1, high), self.ranks[low], past=True)
            self.swap(low, j)
            first[rows] = np.where(j <= at, i, low)
            last[rows] = np.where(j >= at, j - 1, high)


def _positions(first: Any, last: Any) -> tuple[Any, Any]:
    """Of which part each position of all parts is, and the position."""
    sizes = last - first
    owner = np.repeat(np.arange(sizes.size), sizes)
    return owner, np.arange(owner.size) + (first - np.cumsum(sizes) + sizes)[owner]


def _depth(size: int) -> int:
    return 2 * max(size.bit_length() - 1, 0)


# --- heaps --------------------------------------------------------------------------------------------------


def _heap(rank: list[int], k: int) -> list[int]:
    """Places in an order that has the k smallest first, as a heap."""
    order = list(range(len(rank)))
    for hole in range((k - 2) // 2, -1, -1):
        _sift(order, rank, hole, k, order[hole])
    top = rank[order[0]]
    for i in range(k, len(rank)):
        if rank[i] < top:
            order[i] = order[0]
            _sift(order, rank, 0, k, i)
            top = rank[order[0]]
    return order


def _heap_select(rank: list[int], k: int) -> list[int]:
    """Places of the k smallest, in order."""
    order = _heap(rank, k)[:k] if k else []
    for last in range(k - 1, 0, -1):
        place, order[last] = order[last], order[0]
        _sift(order, rank, 0, last, place)
    return order


def _sift(order: list[int], rank: list[int], hole: int, size: int, place: int) -> None:
    """Down to a leaf along the larger child, then up to where the place belongs (Floyd)."""
    top = hole
    while (child := 2 * hole + 2) < size:
        if rank[order[child]] < rank[order[child - 1]]:
            child -= 1
        order[hole] = order[child]
        hole = child
    if child == size:
        order[hole] = order[child - 1]
        hole = child - 1
    while hole > top and rank[order[(hole - 1) // 2]] < rank[place]:
        order[hole] = order[(hole - 1) // 2]
        hole = (hole - 1) // 2
    order[hole] = place

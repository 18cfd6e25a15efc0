"""Einstein summation: an equation is parsed, then operands are contracted two by two as (batched) matrix
products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from itertools import count
from math import prod
from typing import Any

from ...tensor import Tensor
from ..calls.arguments import type_in_words
from ..calls.complaints import not_all_tensors
from ..declaration.registry import api
from .contraction_steps import Contraction, Noted, noted

ELLIPSIS = -1
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_Labels = list[int]
_NOTHING = ("einsum(): must specify the equation string and at least one operand, or at least one operand "
            "and its subscripts list")


@api("torch")
def einsum(*args: Any) -> Tensor:
    """Sums of products named by subscripts: repeated ones that the result lacks are summed over.

    The equation is a string, or each operand is followed by a list of numbers below 52 (and ``...``).

    >>> import flambeau as torch
    >>> torch.einsum("ij,kj->ik", torch.ones(2, 3), torch.ones(4, 3)).shape
    torch.Size([2, 4])
    """
    if len(args) < 2:
        raise ValueError(_NOTHING)
    if isinstance(args[0], Tensor):
        operands, inputs, output = _parse_lists(args)
        return _contraction([x.shape for x in operands], inputs, output).take(operands)
    operands = list(args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else list(args[1:])
    if not operands:
        raise ValueError(_NOTHING)
    if (wrong := not_all_tensors(operands, 1)) is not None:
        raise wrong
    if not isinstance(args[0], str):
        raise TypeError("einsum(): argument 'equation' (position 1) must be str, not "
                        f"{type_in_words(args[0])}")
    return _of_equation(args[0], tuple([x.shape for x in operands])).take(operands)


@lru_cache(maxsize=1024)
def _of_equation(equation: str, shapes: tuple[tuple[int, ...], ...]) -> Contraction:
    return _contraction(shapes, *_parse_equation(equation, len(shapes)))


def _contraction(shapes: Sequence[tuple[int, ...]], inputs: list[_Labels],
                 output: _Labels | None) -> Contraction:
    operands = noted(shapes)
    result = _contract_all(operands, *_resolve(operands, inputs, output))
    return Contraction(result.view(result.shape) if result in operands else result)


# --- parsing ------------------------------------------------------------------------------------------------


def _parse_lists(args: Sequence[Any]) -> tuple[list[Tensor], list[_Labels], _Labels | None]:
    operands, inputs = list(args[0 : len(args) // 2 * 2 : 2]), [_labels_of(x) for x in args[1::2]]
    return operands, inputs, _labels_of(args[-1]) if len(args) % 2 else None


def _labels_of(subscripts: Sequence[Any]) -> _Labels:
    labels = []
    for s in subscripts:
        if s is Ellipsis:
            labels.append(ELLIPSIS)
        elif not 0 <= s < 52:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        else:
            labels.append(int(s))
    return labels


def _parse_equation(equation: str, operands: int) -> tuple[list[_Labels], _Labels | None]:
    arrow = equation.find("->")
    left = equation if arrow < 0 else equation[:arrow]
    inputs: list[_Labels] = []
    start = 0
    for term in left.split(","):
        inputs.append(_parse_term(term, start, f"operand {len(inputs)}"))
        start += len(term) + 1
    if len(inputs) > operands:
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(inputs) < operands:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    return inputs, None if arrow < 0 else _parse_term(equation[arrow + 2 :], arrow + 2, "the output")


def _parse_term(term: str, start: int, where: str) -> _Labels:
    labels: _Labels = []
    i = 0
    while i < len(term):
        letter = term[i]
        if letter == ".":
            if term[i : i + 3] != "..." or ELLIPSIS in labels:
                if ELLIPSIS in labels:
                    raise RuntimeError(
                        f"einsum(): found '.' for {where} for which an ellipsis was already found"
                    )
                raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis")
            labels.append(ELLIPSIS)
            i += 2
        elif letter in _LETTERS:
            labels.append(_LETTERS.index(letter))
        elif letter != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + i} in the equation string, subscripts "
                "must be in [a-zA-Z]"
            )
        i += 1
    return labels


def _name(label: int) -> str:
    return _LETTERS[label]


def _resolve(
    operands: Sequence[Noted], inputs: list[_Labels], output: _Labels | None
) -> tuple[list[_Labels], _Labels]:
    """Spell the ellipses out as labels from 52 on, check extents; labels of operands and result."""
    width = 0
    for i, (x, labels) in enumerate(zip(operands, inputs)):
        named = sum([label != ELLIPSIS for label in labels])
        if ELLIPSIS in labels:
            if named > x.ndim:
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({named}) is more than the number "
                    f"of dimensions ({x.ndim}) for operand {i}"
                )
            width = max(width, x.ndim - named)
        elif named != x.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the number of "
                f"dimensions ({x.ndim}) for operand {i} and no ellipsis was given"
            )
    hidden = list(range(52, 52 + width))
    terms = [_spell(labels, hidden, x.ndim) for x, labels in zip(operands, inputs)]
    _check_extents(operands, terms)
    return terms, _output_labels(inputs, output, hidden)


def _spell(labels: _Labels, hidden: _Labels, ndim: int) -> _Labels:
    if ELLIPSIS not in labels:
        return labels
    at = labels.index(ELLIPSIS)
    covered = ndim - len(labels) + 1
    return labels[:at] + hidden[len(hidden) - covered :] + labels[at + 1 :]


def _output_labels(
    inputs: list[_Labels], output: _Labels | None, hidden: _Labels
) -> _Labels:
    used = [label for labels in inputs for label in labels if label != ELLIPSIS]
    if output is None:
        return hidden + sorted(label for label in set(used) if used.count(label) == 1)
    wanted: _Labels = []
    for label in output:
        if label == ELLIPSIS:
            wanted += hidden
            continue
        if label in wanted:
            raise RuntimeError(
                f"einsum(): output subscript {_name(label)} appears more than once in the output"
            )
        if label not in used:
            raise RuntimeError(
                f"einsum(): output subscript {_name(label)} does not appear in the equation for any input "
                "operand"
            )
        wanted.append(label)
    return wanted


def _check_extents(operands: Sequence[Noted], terms: list[_Labels]) -> None:
    extents: dict[int, int] = {}
    for i, (x, labels) in enumerate(zip(operands, terms)):
        own: dict[int, int] = {}
        for label, n in zip(labels, x.shape):
            if own.setdefault(label, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {_name(label)} is repeated for operand {i} but the sizes don't "
                    f"match, {n} != {own[label]}"
                )
            have = extents.get(label, 1)
            if n != 1 and have != 1 and n != have:
                if label >= 52:
                    raise RuntimeError(
                        f"einsum(): dimension {label - 52} covered by ellipsis in operand {i}has size {n} "
                        f"which does not broadcast with previously seen ellipsis with size {have} for the "
                        "respective dimension"
                    )
                raise RuntimeError(
                    f"einsum(): subscript {_name(label)} has size {n} for operand {i} which does not "
                    f"broadcast with previously seen size {have}"
                )
            extents[label] = max(n, have) if n and have else 0


# --- contraction --------------------------------------------------------------------------------------------


def _contract_all(operands: Sequence[Noted], terms: list[_Labels], wanted: _Labels) -> Noted:
    left = [_diagonal(x, labels) for x, labels in zip(operands, terms)]
    for pair in _path(left, wanted):
        chosen = [left[i] for i in pair]
        left = [term for i, term in enumerate(left) if i not in pair]
        keep = set(wanted).union(*[labels for _, labels in left])
        result = chosen[0]
        for other in chosen[1:]:
            result = _pair(result, other, keep, wanted, len(terms) == 2)
        left.append(result)
    x, labels = _summed(left[0][0], left[0][1], set(wanted))
    order = [labels.index(label) for label in wanted]
    return x.permute(order)


def _path(terms: list[tuple[Noted, _Labels]], wanted: _Labels) -> Sequence[tuple[int, ...]]:
    """Which operands to contract, in turn; from left to right unless opt_einsum is there to find something
    better."""
    n = len(terms)
    if n > 2:
        try:
            contract_path = import_module("opt_einsum").contract_path
        except ImportError:
            pass
        else:
            symbol = [chr(97 + i) if i < 26 else chr(192 + i) for i in range(60 + max(wanted, default=0))]
            equation = ",".join("".join(symbol[label] for label in labels) for _, labels in terms)
            shapes = [tuple(x.shape) for x, _ in terms]
            return list(
                contract_path(
                    equation + "->" + "".join(symbol[label] for label in wanted), *shapes, shapes=True
                )[0]
            )
    if n == 1:
        return []
    return [(0, 1)] + [(k, 0) for k in range(n - 2, 0, -1)]


def _diagonal(x: Noted, labels: _Labels) -> tuple[Noted, _Labels]:
    """Dimensions with the same label become one."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = x.diagonal(0, first, second)
            labels = [one for d, one in enumerate(labels) if d not in (first, second)] + [label]
    return x, labels


def _summed(x: Noted, labels: _Labels, keep: set[int]) -> tuple[Noted, _Labels]:
    """Sum over the dimensions whose labels nobody needs."""
    gone = [d for d, label in enumerate(labels) if label not in keep]
    if not gone:
        return x, labels
    return x.sum(gone), [label for label in labels if label in keep]


def _without(x: Noted, labels: _Labels, single: set[int]) -> tuple[Noted, _Labels]:
    """Without the dimensions of one element with these labels."""
    kept = [d for d, label in enumerate(labels) if label not in single]
    return x.reshape([x.shape[d] for d in kept]), [labels[d] for d in kept]


def _pair(
    first: tuple[Noted, _Labels], second: tuple[Noted, _Labels], keep: set[int], wanted: _Labels, alone: bool
) -> tuple[Noted, _Labels]:
    """Contract two operands; labels in ``keep`` stay, in the order in which they are ``wanted``."""
    (a, la), (b, lb) = first, second
    single = {n for n in la if n in lb and n not in keep
              and a.shape[la.index(n)] == b.shape[lb.index(n)] == 1}
    if single:      # is not summed: products of single elements are taken in their common type
        (a, la), (b, lb) = _without(a, la, single), _without(b, lb, single)
    # A label that must go and of which only one operand has more than one element is summed there.
    lone_a = {n for n in la if n in lb and n not in keep and a.shape[la.index(n)] != b.shape[lb.index(n)]}
    if lone_a:
        a, la = _summed(a, la, set(la) - lone_a)
        b, lb = _summed(b, lb, set(lb) - lone_a)
    a, la = _summed(a, la, keep | set(lb))
    b, lb = _summed(b, lb, keep | set(la))
    shared = [n for n in la if n in lb]
    batch, inner = [n for n in shared if n in keep], [n for n in shared if n not in keep]
    only_a, only_b = [n for n in la if n not in lb], [n for n in lb if n not in la]
    place = {label: i for i, label in enumerate(wanted)}
    for group in (batch, only_a, only_b):
        group.sort(key=lambda label: place.get(label, len(place)))
    if alone and inner and _before(only_b, only_a, place):
        # The other way round the product lies as it is wanted; PyTorch turns only products of two operands.
        a, la, only_a, b, lb, only_b = b, lb, only_b, a, la, only_a
    labels = batch + only_a + only_b
    if not inner:
        labels.sort(key=lambda label: place.get(label, len(place)))
        shape = [_extent(n, (a, la), (b, lb)) for n in labels]
        return _aligned(a, la, labels).times(_aligned(b, lb, labels), shape), labels
    extents = {n: _extent(n, (a, la), (b, lb)) for n in labels + inner}
    a, b = _expanded(a, la, batch, extents), _expanded(b, lb, batch, extents)

    def size(names: _Labels) -> int:
        return prod([extents[n] for n in names])

    left = a.permute([la.index(n) for n in batch + only_a + inner])
    right = b.permute([lb.index(n) for n in batch + inner + only_b])
    if batch:
        product = left.reshape([size(batch), size(only_a), size(inner)]).product(
            right.reshape([size(batch), size(inner), size(only_b)]))
    else:
        product = left.reshape([size(only_a), size(inner)]).product(
            right.reshape([size(inner), size(only_b)]))
    return product.view([extents[n] for n in labels]), labels


def _extent(label: int, *terms: tuple[Noted, _Labels]) -> int:
    extents = [x.shape[labels.index(label)] for x, labels in terms if label in labels]
    return max(extents) if all(extents) else 0


def _before(first: _Labels, second: _Labels, place: dict[int, int]) -> bool:
    """Whether all of the first labels, and all of the second, are wanted, and those stand before these."""
    if not first or not second or not all(label in place for label in (*first, *second)):
        return False
    return max(place[label] for label in first) < min(place[label] for label in second)


def _expanded(x: Noted, own: _Labels, batch: _Labels, extents: dict[int, int]) -> Noted:
    return x.expand([extents[n] if n in batch else x.shape[d] for d, n in enumerate(own)])


def _aligned(x: Noted, own: _Labels, labels: _Labels) -> Noted:
    """x with its dimensions in the order of ``labels``, of extent 1 where it has none."""
    present = [n for n in labels if n in own]
    order = [own.index(n) for n in present]
    turned = x.permute(order)
    if len(present) == len(labels):
        return turned
    position = count()
    return turned.reshape([turned.shape[next(position)] if n in own else 1 for n in labels])

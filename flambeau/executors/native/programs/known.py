"""Which graph is this, and has it a program?

Note: known graphs. A graph is looked for in three ways, the cheapest first. (1) ``replays``, before anything
is sorted out: the signatures of all that is pending are a key. (2) The graph that came after the latest one
the last time is compared, list by list (Note: replay). (3) ``_find``: its *family*, all graphs of the same
operators connected in the same way, and in there the *entry* of its own shapes. What is new gets an entry,
and a family where it is the first (``families.py``). An entry has a program (``making.py``) once it has been
interpreted often enough (Note: rent or buy); its family has what programs for several shapes share, the
``Pattern``.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from operator import attrgetter
from typing import Any
from weakref import ref

from ....graph.node import Node, Signature
from ...measure import ran
from ..tiers import ledger, newcomers
from .book import Book, was_used
from .execution.program import Program
from .families import Entry, Family
from .glances.glance import none
from .glances.kin import Kin, kin_of
from .making import made_program, without_collections
from .moving import (
    apart,
    are_apart,
    are_grouped,
    group,
    groups,
    read_apart,
    settle,
    settle_nodes,
    without_places,
)
from .patterns.outline import Outline, Reading
from .pieces import strangers

_LIMIT = 50_000     # nodes in all graphs that are remembered
_CHANCES = 3        # families that differ in which operands are the same, before none is taken for another
_COMPARED = 8       # of them, with a new one
_PASSED = 1 << 14   # graphs that came once in shapes without an entry
_OFTEN, _AGAIN = 8, 1 << 40     # times that a joint formula held until it gets kin, which it gets once
_WORTH_CODE = 64    # that any held, until it is worth to load the code
_PLACELESS = 4096   # graphs of one family that are compared with the next one
_signature = attrgetter("signature")
_log = logging.getLogger("flambeau")

_families: dict[tuple[Any, ...], Family] = {}
_alike: dict[tuple[Any, ...], list[Family]] = {}    # those of the same operators, used as often
_entries: deque[Entry] = deque()    # of all families
# Those that have programs, by signatures in the order of recording: of several, the latest.
replays: dict[tuple[Signature, ...], Entry] = {}
book: Book[Entry] = Book()
_passed: set[int] = set()
_latest: Entry | None = None
_remembered = 0
_held = 0


def program_of(nodes: list[Node], reading: Reading, forced: bool) -> Program | None:
    """The program of a graph (last node first); None while it is to be interpreted (unless ``forced``)."""
    global _latest
    at_once = forced or ledger.at_once
    expected = _latest.following() if _latest is not None else None
    alike = _latest.family.following() if _latest is not None else None
    if (expected is not None and expected.family.moves) or (alike is not None and alike.moves):
        settle(reading)
    if expected is not None and expected.signatures == reading.signatures \
            and expected.family.outline.fits(reading.counts, nodes, reading.flat):
        entry = expected
    else:
        family = _known_family(reading, alike)
        if family is not None and family.joints.can_hold() and ledger.lets_pass(nodes) \
                and (program := _passing(family, reading)) is not None:
            return program
        if family is None and not at_once and ledger.is_first(reading.forms(), nodes) \
                and not ledger.buys_at_once(nodes) \
                and not (at_once := newcomers.will_return(nodes[0].site, reading.signatures)):
            return None
        entry = _find(reading, family)
        if _latest is not None:
            _latest.following = ref(entry)
            _latest.family.following = ref(entry.family)
    entry.used = True
    _latest = entry
    if entry.program is None and entry.native \
            and (at_once or ledger.buys(entry.rent, entry.family.rent, nodes,
                                        entry.family.pattern is not None, entry.family.joints.can_hold())
                 or newcomers.will_stay(nodes[0].site, reading.signatures)):
        reading.flat.clear()    # planning asks who refers to a node
        _buy(entry, nodes, forced)
        reading.read_operands()
    if entry.program is not None:
        replays[tuple(entry.signatures[::-1])] = entry
    return entry.program


def _buy(entry: Entry, nodes: list[Node], forced: bool) -> None:
    """Have the program of an entry made; where that fails, it is interpreted from now on, or (``forced``)
    the error raised.
    """
    if entry.family.pattern is None:
        ran.append("new")
        ledger.pay(entry.family.outline.forms)
    else:
        ran.append("new shapes")
    try:
        with without_collections():
            entry.program = _held_program(entry)
            if entry.program is None:
                entry.program = made_program(entry, nodes)
    except Exception:
        if forced:
            raise
        entry.native = False
        ran.clear()
        _log.warning("a graph has no native program, and is interpreted: please report this", exc_info=True)


def _held_program(entry: Entry) -> Program | None:
    """The program of an entry by a joint formula of its family, should one hold."""
    family = entry.family
    if family.joints.can_hold():
        family.returns.count_new()
    program = family.joints.program(entry.signatures)
    if program is not None:
        _consider_kin(family, entry.signatures)
    return program


def _passing(family: Family, reading: Reading) -> Program | None:
    """The program of a graph in new shapes that hardly come back, by a joint formula of its family."""
    global _latest
    if _latest is None or not family.returns.are_rare():
        return None
    if family.moves:
        settle(reading)
        if not family.outline.is_of(reading):
            return None
    signatures = tuple(reading.signatures)
    shapes = hash(signatures)
    if shapes in _passed:
        family.returns.count_back()
        return None
    if signatures in family.entries:
        return None
    program = family.joints.passing(reading.signatures)
    if program is None:
        return None
    if len(_passed) >= _PASSED:
        _passed.clear()
    _passed.add(shapes)
    family.returns.count_new()
    family.passed = True
    _latest.following = ref(family.passer)
    _latest.family.following = ref(family)
    _latest = family.passer
    _latest.program = program
    _consider_kin(family, reading.signatures)
    ran.append("new shapes")
    return program


def _consider_kin(family: Family, signatures: list[Signature]) -> None:
    """A joint formula held: should it do so often, it gets kin (Note: kin)."""
    global _held
    _held += 1
    joint, numbers = family.joints.latest or (None, ())
    if joint is None or joint.held < _OFTEN or _held < _WORTH_CODE or are_apart(signatures):
        return
    joint.held = -_AGAIN
    kin = kin_of(family.outline, joint, signatures, numbers, family.moves)
    if kin is not None:
        family.kin.append(kin)
        book.enter_kin(kin)


def failed_kin(kin: Kin, pending: list[Node]) -> Entry:
    """An entry for kin in which a kernel has failed for the shapes of the first pending nodes."""
    nodes = pending[:len(kin.program.signatures)]
    signatures = [*map(_signature, nodes)]
    if kin.moves:
        settle_nodes(nodes, signatures)
    nodes.clear()       # it is asked who refers to a node
    signatures.reverse()
    family = next(family for family in _families.values() if kin in family.kin)
    entry = Entry(family, signatures)
    entry.program, entry.glance = kin.become(signatures), none
    return entry


def moved(pending: list[Node]) -> Entry | None:
    """The entry of pending nodes, should operands lie elsewhere than before (Note: moving operands)."""
    global _latest
    expected = _latest.following() if _latest is not None else None
    if expected is None or not expected.family.moves:
        return None
    signatures: list[Any] = [*map(_signature, pending)]
    settle_nodes(pending, signatures)
    entry = replays.get(tuple(signatures))
    if entry is not None:
        _latest = entry
    return entry


def is_strange(reading: Reading) -> bool:
    """Whether a large graph is to be cut, as it hardly comes back (Note: pieces)."""
    expected = _latest.following() if _latest is not None else None
    as_expected = expected is not None and expected.signatures == reading.signatures
    forms = reading.forms()
    if as_expected or (ledger.has_met(forms) and not strangers.are_of_many_kinds(forms)):
        strangers.count_known()
        return False
    return strangers.take(forms, reading.signatures)


def _find(reading: Reading, known: Family | None) -> Entry:
    """The entry of a graph, of this family if it is known."""
    global _remembered
    family = known or _family_of(reading)
    if family.moves or _only_places_differ(family, reading):
        family = _moving(reading, family)
        if family.key not in _families and len(_alike.get(family.key[:2], ())) >= _CHANCES:
            read_apart(reading.signatures)
    alike = _alike.get(family.key[:2], [])
    if family.key not in _families and len(alike) >= _CHANCES:
        family = _apart(reading, family, alike)
    signatures = tuple(reading.signatures)
    entry = family.entries.get(signatures)
    if entry is None:
        _remembered += len(signatures)
        _make_room()
        if family.key not in _families:
            _families[family.key] = family
            _alike.setdefault(family.key[:2], []).append(family)
        entry = family.entries[signatures] = Entry(family, reading.signatures)
        _entries.append(entry)
    return entry


def _moving(reading: Reading, family: Family) -> Family:
    """The family of a graph whose moving operands are tensors of their own, of which one had this family."""
    family.moves = True
    settle(reading)
    family = _known_family(reading, family) or _family_of(reading)   # what was one leaf may be several now
    family.moves = True
    return family


def _apart(reading: Reading, family: Family, alike: Sequence[Family]) -> Family:
    """The same of a new graph, if it differs from others in what is one tensor (Note: the same by chance)."""
    outlines = [family.outline, *[other.outline for other in alike[-_COMPARED:]]]
    found = _moving(reading, family) if are_grouped(reading.signatures) else family
    if found.key in _families or not group(reading, outlines):
        return found
    return _moving(reading, found)


def _only_places_differ(family: Family, reading: Reading) -> bool:
    """Whether a new graph of this family has come before, with its operands in other places.

    As long as all leaves were read from where they begin, there is nothing to tell apart.
    """
    if tuple(reading.signatures) in family.entries:
        return False
    if family.placeless is None:
        if not family.outline.reads_parts(reading.signatures):
            return False
        family.placeless = {without_places(entry.signatures) for entry in family.entries.values()}
    placeless = without_places(reading.signatures)
    if placeless in family.placeless:
        return True
    if len(family.placeless) >= _PLACELESS:
        family.placeless.clear()
    family.placeless.add(placeless)
    return False


def _known_family(reading: Reading, expected: Family | None) -> Family | None:
    if expected is not None and expected.outline.is_of(reading):
        return expected
    for family in _alike.get((tuple(reading.forms()), tuple(reading.counts)), ()):
        if family.outline.fits(reading.counts, reading.nodes, reading.flat):
            return family
    return None


def _family_of(reading: Reading) -> Family:
    """The family of a graph of which none is known."""
    outline = Outline(reading)
    key = outline.key()
    return _families.get(key) or Family(key, outline, ledger.spent_on(outline.forms))


def _make_room() -> None:
    """Forget the oldest graphs; one that came since this was last considered gets a second chance.

    So does the last one of a family of which others passed: with it, their formulas would be forgotten.
    """
    global _remembered
    while _remembered > _LIMIT and _entries:
        entry = _entries.popleft()
        family, signatures = entry.family, tuple(entry.signatures)
        keeps_family = len(family.entries) == 1 and (family.passed or any(x.was_used() for x in family.kin))
        if entry.used or keeps_family or (entry.glance is not None and was_used(entry.glance)):
            entry.used = False
            family.passed = family.passed and not keeps_family
            _entries.append(entry)
            continue
        _remembered -= len(signatures)
        recorded = signatures[::-1]
        if replays.get(recorded) is entry:
            del replays[recorded]
        book.drop(entry)
        del family.entries[signatures]
        if not family.entries:
            book.drop_kin(family.kin)
            del _families[family.key]
            alike = _alike[family.key[:2]]
            alike.remove(family)
            if not alike:
                del _alike[family.key[:2]]


def clear() -> None:
    """Forget all programs."""
    global _latest, _remembered, _held
    _families.clear()
    _alike.clear()
    _entries.clear()
    replays.clear()
    book.clear()
    ledger.met.clear()
    newcomers.clear()
    strangers.clear()
    apart.clear()
    groups.clear()
    _passed.clear()
    _latest = None
    _remembered = _held = 0

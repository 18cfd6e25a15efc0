"""The native loop over a program's steps, and the protocol by which helping threads share a step.

Note: sharing. The thread that looks drives: it runs the steps in order. A step of one task it just calls. For
a larger one it publishes the step's position, and whoever is there takes tasks, a few at a time, until the
step's counter says that there are none; the driver goes on when all are finished. It takes the first half,
helpers take the second one: so it mostly finds in its core's cache what it computed in the step before, and
they do in theirs. Both go upwards, as prefetching does; who is through with a half takes what is left of the
other from its end. A helper that comes late, or never, costs nothing but its help, and a busy machine
balances itself. Results do not depend on who runs which task.

Note: driving ahead. A program may also be *launched*: the first helper that is awake drives it, while the
thread that launched it goes on, and helps once it *joins*. If no helper has begun by then, it drives. To be
woken takes as long as a small program: so a helper that drove one stays awake for a moment, as it does after
the next program, and after one that soon followed the one before. Otherwise nobody waits in a loop while
there is nothing to do.

Memory that both sides know, in 64-bit words:

    program:  PATCHES, PATCH_TABLE, ARRAYS, STEPS, FIRST, LAST, SCRATCH, ARRAY_TYPE, FAILED, COMPLETED, TEAM,
              OWNED (from this position on, arrays are overwritten), COUNT (of arrays),
              BOUND (where the arena was when addresses in it were written)
    step:     FUNCTION, WORDS, TASKS, GRAIN, TAKEN, FINISHED, STATUS (an address or 0), HELPED
    patch:    address of a word, position in ARRAYS, bytes to add
    team:     POSITION (-1: over), PROGRAM, ACTIVE, LIMIT, ROUND, QUIT, LAUNCHED (nobody drives the program
              yet), KEPT_OFF (the processor that helpers keep off, ``places.py``), then a mutex and a
              condition

``ARRAYS`` is the address of a list of NumPy array objects; the pointers to their data are read here (Note:
array objects).
"""

from __future__ import annotations

import time
from typing import Any

from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernels
from ...llvm.compiling.effort import Effort
from ...products.microkernel import local_array
from . import places
from .new_arrays import Memory, handler, new_array, new_arrays
from .objects import BASE_AT, DATA_AT, FLAGS_AT, ITEMS_AT, TYPE_AT, WRITEABLE

(PATCHES, PATCH_TABLE, ARRAYS, STEPS, FIRST, LAST, SCRATCH, ARRAY_TYPE, FAILED, COMPLETED, TEAM,
 OWNED, COUNT, BOUND) = range(14)
PROGRAM_WORDS = 16
FUNCTION, WORDS, TASKS, GRAIN, TAKEN, FINISHED, STATUS, HELPED = range(8)
STEP_WORDS = 8
POSITION, PROGRAM, ACTIVE, LIMIT, ROUND, QUIT, LAUNCHED, KEPT_OFF = range(8)
TEAM_WORDS = 64
MUTEX, CONDITION = 16, 40

_SPINS = 4000  # rounds of waiting before a thread offers its core to others
_SOON = 150_000     # nanoseconds after which a program follows another one soon
_LINGERS = 12000    # the same before such a helper sleeps: a tenth of a millisecond or two


def _field(f: Function, base: str, k: int) -> str:
    return f.at(base, k, "i64")


def _get(f: Function, base: str, k: int, kind: str = "i64") -> str:
    return f.read(kind, _field(f, base, k), 8)


def _bind(module: Module) -> Function:
    """``i64 bind(program)``: write the addresses of arrays into the words; nothing has failed yet.

    0; or 1 + the position of a value that is no array of elements in order; or -1: one that is to be
    overwritten is a view, or must not be written.
    """
    with module.function("bind", [("ptr", "%program")], "i64") as f:
        f.write("i64", 0, _field(f, "%program", FAILED), 8)
        f.write("i64", 0, _field(f, "%program", COMPLETED), 8)
        arrays = f.read("ptr", f.at(_get(f, "%program", ARRAYS, "ptr"), ITEMS_AT, "i8"), 8)
        table = _get(f, "%program", PATCH_TABLE, "ptr")
        wanted = _get(f, "%program", ARRAY_TYPE)
        with f.loop(0, _get(f, "%program", PATCHES)) as i:
            patch = f.at(table, f.mul(i, 3), "i64")
            position = _get(f, patch, 1)
            array = f.read("ptr", f.at(arrays, position, "i64"), 8)
            kind = f.read("i64", f.at(array, TYPE_AT, "i8"), 8)
            with f.when(f.compare("ne", kind, wanted)):
                f.give(f.add(position, 1))
            flags = f.read("i32", f.at(array, FLAGS_AT, "i8"), 4)
            ordered = f.emit(f"trunc i32 {flags} to i1")
            with f.otherwise(ordered):
                f.give(f.add(position, 1))
            data = f.read("i64", f.at(array, DATA_AT, "i8"), 8)
            f.write("i64", f.add(data, _get(f, patch, 2)), _get(f, patch, 0, "ptr"), 8)
        with f.loop(_get(f, "%program", OWNED), _get(f, "%program", COUNT)) as i:
            array = f.read("ptr", f.at(arrays, i, "i64"), 8)
            with f.when(f.compare("ne", f.read("i64", f.at(array, BASE_AT, "i8"), 8), 0)):
                f.give(-1)
            flags = f.read("i32", f.at(array, FLAGS_AT, "i8"), 4)
            with f.when(f.emit(f"icmp eq i32 {f.emit(f'and i32 {flags}, {WRITEABLE}')}, 0")):
                f.give(-1)
        f.give(0)
    return f


def _call(f: Function, step: str, begin: str | int, end: str | int, scratch: str) -> None:
    function, words = _get(f, step, FUNCTION, "ptr"), _get(f, step, WORDS, "ptr")
    f.effect(f"call void {function}(i64 {begin}, i64 {end}, ptr {words}, ptr {scratch})")


def _share(module: Module, helps: bool) -> Function:
    """Take portions of a step's tasks until there are none: from the middle on, if it ``helps``."""
    with module.helper("help" if helps else "share", [("ptr", "%step"), ("ptr", "%scratch")]) as f:
        tasks, grain = _get(f, "%step", TASKS), _get(f, "%step", GRAIN)
        portions = f.div(f.add(tasks, f.sub(grain, 1)), grain)
        taken, helped = _field(f, "%step", TAKEN), _field(f, "%step", HELPED)
        finished = _field(f, "%step", FINISHED)
        middle = f.div(f.add(portions, 1), 2)
        mine = f.variable("i64", 0)
        with f.forever() as leave:
            count = f.emit(f"atomicrmw add ptr {taken}, i64 1 acq_rel")
            leave(f.compare("sge", count, portions))
            if helps:
                before = f.emit(f"atomicrmw add ptr {helped}, i64 1 acq_rel")
                up, down = f.add(middle, before), f.sub(f.sub(portions, before), 1)
                portion = f.choose(f.compare("slt", up, portions), "i64", up, down)
            else:
                before = mine.get()
                mine.set(f.add(before, 1))
                down = f.sub(f.add(middle, f.sub(portions, before)), 1)
                portion = f.choose(f.compare("slt", before, middle), "i64", before, down)
            begin = f.mul(portion, grain)
            end = f.least(f.add(begin, grain), tasks)
            _call(f, "%step", begin, end, "%scratch")
            f.effect(f"{f.name()} = atomicrmw add ptr {finished}, i64 {f.sub(end, begin)} acq_rel")
    return f


def _pause(f: Function, spins: Any) -> None:
    """One round of waiting: a hint to the core, and now and then the core for somebody else."""
    f.pause()
    count = f.add(spins.get(), 1)
    spins.set(count)
    with f.when(f.compare("sgt", count, _SPINS)):
        f.call("sched_yield", "i32", [], [])


def _drive(module: Module, share: Function) -> Function:
    """Run steps FIRST to LAST; FAILED is 1 + the step whose status was set; then COMPLETED."""
    with module.helper("drive", [("ptr", "%program"), ("ptr", "%scratch")]) as f:
        steps, scratch = _get(f, "%program", STEPS, "ptr"), "%scratch"
        team = _get(f, "%program", TEAM, "ptr")
        shared = f.emit(f"icmp ne ptr {team}, null")
        at = f.variable("i64", _get(f, "%program", FIRST))
        last = _get(f, "%program", LAST)
        with f.forever() as leave:
            s = at.get()
            leave(f.compare("sge", s, last))
            step = f.at(steps, f.mul(s, STEP_WORDS), "i64")
            tasks = _get(f, step, TASKS)
            several = f.emit(f"and i1 {shared}, {f.compare('sgt', tasks, _get(f, step, GRAIN))}")
            with f.when(several):
                for counter in (TAKEN, HELPED, FINISHED):
                    f.effect(f"store i64 0, ptr {_field(f, step, counter)}, align 8")
                f.effect(f"store atomic i64 {s}, ptr {_field(f, team, POSITION)} release, align 8")
                f.run(share, step, scratch)
                spins = f.variable("i64", 0)
                with f.forever() as done:
                    count = f.emit(f"load atomic i64, ptr {_field(f, step, FINISHED)} acquire, align 8")
                    done(f.compare("sge", count, tasks))
                    _pause(f, spins)
            with f.otherwise(several):
                _call(f, step, 0, tasks, scratch)
            at.set(f.add(s, 1))
            status = _get(f, step, STATUS, "ptr")
            with f.when(f.emit(f"icmp ne ptr {status}, null")):
                with f.when(f.compare("ne", f.read("i64", status, 8), 0)):
                    f.write("i64", f.add(s, 1), _field(f, "%program", FAILED), 8)
                    at.set(last)
        f.write("i64", 1, _field(f, "%program", COMPLETED), 8)
        with f.when(shared):
            f.effect(f"store atomic i64 -1, ptr {_field(f, team, POSITION)} release, align 8")
    return f


def _start(module: Module, bind: Function, drive: Function) -> None:
    """``run(program)``; ``i64 start(program)``: bind, and run if that went well; what ``bind`` gives."""
    with module.function("run", [("ptr", "%program")]) as f:
        f.run(drive, "%program", _get(f, "%program", SCRATCH, "ptr"))
    with module.function("start", [("ptr", "%program")], "i64") as f:
        bound = f.run(bind, "%program")
        assert bound is not None
        with f.when(f.compare("eq", bound, 0)):
            f.run(drive, "%program", _get(f, "%program", SCRATCH, "ptr"))
        f.give(bound)


def _team(module: Module, share: Function, drive: Function) -> None:
    """What ``Team`` calls (``team.py``): ``prepare(team)``, ``quit(team)``, and ``serve`` for a helper.

    For a program ``open(team, program, helpers)`` and ``close(team)``, by who drives it; or ``launch(team,
    program, helpers)``, by who does not, and later ``join(team, program)``.
    """
    help_with = _help(module, share)
    _calls(module)
    _ends(module, help_with, drive)
    with module.function("quit", [("ptr", "%team")]) as f:
        _locked(f, "lock")
        f.write("i64", 1, _field(f, "%team", QUIT), 8)
        _wake(f)
        _locked(f, "unlock")
    _serve(module, help_with, drive)
    with module.function("prepare", [("ptr", "%team")]) as f:
        mutex, condition = _field(f, "%team", MUTEX), _field(f, "%team", CONDITION)
        f.call("pthread_mutex_init", "i32", ["ptr", "ptr"], [mutex, "null"])
        f.call("pthread_cond_init", "i32", ["ptr", "ptr"], [condition, "null"])


def _calls(module: Module) -> None:
    """``open`` and ``launch``: call the helpers to a program.

    0; or 1 + the processor that this thread runs on, if helpers are to keep off it first: nobody was called.
    """
    for name, word in (("open", 0), ("launch", 1)):
        parameters = [("ptr", "%team"), ("ptr", "%program"), ("i64", "%helpers")]
        with module.function(name, parameters, "i64") as f:
            if places.KNOWN:
                _give_if_moved(f)
            _locked(f, "lock")
            f.write("i64", "%helpers", _field(f, "%team", LIMIT), 8)
            f.write("ptr", "%program", _field(f, "%team", PROGRAM), 8)
            f.write("i64", word, _field(f, "%team", LAUNCHED), 8)
            f.effect(f"store atomic i64 -2, ptr {_field(f, '%team', POSITION)} release, align 8")
            f.write("i64", f.add(_get(f, "%team", ROUND), 1), _field(f, "%team", ROUND), 8)
            _wake(f)
            _locked(f, "unlock")
            f.give(0)


def _give_if_moved(f: Function) -> None:
    here = f.emit(f"sext i32 {f.call('sched_getcpu', 'i32', [], [])} to i64")
    kept_off = _get(f, "%team", KEPT_OFF)
    moved, minded = f.compare("ne", here, kept_off), f.compare("ne", kept_off, places.NOBODY_MINDS)
    with f.when(f.emit(f"and i1 {moved}, {minded}")):
        f.give(f.add(here, 1))


def _ends(module: Module, help_with: Function, drive: Function) -> None:
    """``close`` and ``join``: go on once no helper is at the program any more."""
    with module.helper("finish", [("ptr", "%team")]) as finish:
        f = finish
        _locked(f, "lock")
        f.write("ptr", "null", _field(f, "%team", PROGRAM), 8)
        f.effect(f"store atomic i64 -1, ptr {_field(f, '%team', POSITION)} release, align 8")
        _locked(f, "unlock")
        spins = f.variable("i64", 0)
        with f.forever() as leave:
            active = f.emit(f"load atomic i64, ptr {_field(f, '%team', ACTIVE)} acquire, align 8")
            leave(f.compare("sle", active, 0))
            _pause(f, spins)
    with module.function("close", [("ptr", "%team")]) as f:
        f.run(finish, "%team")
    with module.function("join", [("ptr", "%team"), ("ptr", "%program")]) as f:
        _locked(f, "lock")
        launched = _take_launched(f)
        _locked(f, "unlock")
        scratch = _get(f, "%program", SCRATCH, "ptr")
        with f.when(launched):
            f.run(drive, "%program", scratch)
        with f.otherwise(launched):
            f.run(help_with, "%team", scratch, "%program")
        f.run(finish, "%team")


def _locked(f: Function, action: str) -> None:
    f.call(f"pthread_mutex_{action}", "i32", ["ptr"], [_field(f, "%team", MUTEX)])


def _wake(f: Function) -> None:
    f.call("pthread_cond_broadcast", "i32", ["ptr"], [_field(f, "%team", CONDITION)])


def _take_launched(f: Function) -> str:
    """Whether nobody drives the program yet: whoever asks (the mutex is locked) does now."""
    launched = f.compare("ne", _get(f, "%team", LAUNCHED), 0)
    f.write("i64", 0, _field(f, "%team", LAUNCHED), 8)
    return launched


def _serve(module: Module, help_with: Function, drive: Function) -> None:
    with module.function("serve", [("ptr", "%team"), ("ptr", "%scratch"), ("i64", "%size")], "i64") as f:
        seen, ahead = f.variable("i64", 0), f.variable("i64", -2)
        ended, clock = f.variable("i64", 0), _Clock(f)
        with f.forever():
            _locked(f, "lock")
            with f.forever() as ready:
                with f.when(f.compare("ne", _get(f, "%team", QUIT), 0)):
                    _locked(f, "unlock")
                    f.give(0)
                program = _get(f, "%team", PROGRAM, "ptr")
                fresh = f.compare("ne", _get(f, "%team", ROUND), seen.get())
                room = f.compare("slt", _get(f, "%team", ACTIVE), _get(f, "%team", LIMIT))
                some = f.emit(f"icmp ne ptr {program}, null")
                ready(f.emit(f"and i1 {some}, {f.emit(f'and i1 {fresh}, {room}')}"))
                f.call("pthread_cond_wait", "i32", ["ptr", "ptr"],
                       [_field(f, "%team", CONDITION), _field(f, "%team", MUTEX)])
            seen.set(_get(f, "%team", ROUND))
            f.effect(f"{f.name()} = atomicrmw add ptr {_field(f, '%team', ACTIVE)}, i64 1 acq_rel")
            launched = _take_launched(f)
            _locked(f, "unlock")
            soon = f.compare("slt", f.sub(clock.now(), ended.get()), _SOON)
            with f.when(launched):
                ahead.set(seen.get())
                f.run(drive, program, "%scratch")
            with f.otherwise(launched):
                f.run(help_with, "%team", "%scratch", program)
            f.effect(f"{f.name()} = atomicrmw sub ptr {_field(f, '%team', ACTIVE)}, i64 1 acq_rel")
            ended.set(clock.now())
            after_ahead = f.compare("sle", f.sub(seen.get(), ahead.get()), 1)
            with f.when(f.emit(f"or i1 {soon}, {after_ahead}")):
                _linger(f, seen.get())


class _Clock:
    """The system's monotonic clock, in nanoseconds."""

    def __init__(self, f: Function) -> None:
        self.f = f
        self.at = local_array(f, 2, "i64")

    def now(self) -> str:
        f = self.f
        f.call("clock_gettime", "i32", ["i32", "ptr"], [str(time.CLOCK_MONOTONIC), self.at])
        return f.add(f.mul(f.read("i64", self.at, 8), 10**9), f.read("i64", f.at(self.at, 1, "i64"), 8))


def _linger(f: Function, seen: str) -> None:
    """Stay awake for a moment: what comes next will come soon."""
    spins = f.variable("i64", 0)
    with f.forever() as leave:
        current = f.emit(f"load atomic i64, ptr {_field(f, '%team', ROUND)} acquire, align 8")
        leave(f.compare("ne", current, seen))
        leave(f.compare("sge", spins.get(), _LINGERS))
        f.pause()
        spins.set(f.add(spins.get(), 1))


def _help(module: Module, share: Function) -> Function:
    """Take part in a program's large steps until it is over."""
    with module.helper("help_with", [("ptr", "%team"), ("ptr", "%scratch"), ("ptr", "%program")]) as f:
        steps = _get(f, "%program", STEPS, "ptr")
        before, spins = f.variable("i64", -2), f.variable("i64", 0)
        with f.forever() as leave:
            at = f.emit(f"load atomic i64, ptr {_field(f, '%team', POSITION)} acquire, align 8")
            leave(f.compare("eq", at, -1))
            moved = f.compare("ne", at, before.get())
            with f.when(moved):
                before.set(at)
                spins.set(0)
                f.run(share, f.at(steps, f.mul(at, STEP_WORDS), "i64"), "%scratch")
            with f.otherwise(moved):
                _pause(f, spins)
    return f


@kernels("runtime", Effort.FEW)
def entries() -> str:
    """The addresses of the driver's ``bind``, ``run`` and ``start``; of the team's functions; of results'."""
    module = Module()
    memory = Memory(module)
    handler(module, memory)
    new_arrays(module, new_array(module, memory))
    drive = _drive(module, _share(module, False))
    _start(module, _bind(module), drive)
    _team(module, _share(module, True), drive)
    return module.text()

"""The native function that tells whether what is pending is kin, and makes its glance that of these shapes.

What lies in memory for it: ``kin_words.py``. It reads Python's objects as ``glancing.py`` does.
"""

from __future__ import annotations

from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernels
from ...llvm.compiling.effort import Effort
from ..runtime import runtime
from ..runtime.new_arrays import BYTES, ELEMENTS
from ..runtime.objects import DATA_AT, ITEMS_AT, SIZE_AT, TUPLE_AT, TYPE_AT
from . import kin_words as at
from . import words as glance
from .kin_words import KinCode
from .playing import play

# Where fields lie, by the names of what has them.
Slots = tuple[tuple[str, int], ...]


def _integer(module: Module) -> Function:
    """Whether a number is what is said of it; the first of its kind goes into its register."""
    with module.helper("integer", [("ptr", "%kin"), ("ptr", "%x"), ("ptr", "%said")], "i64") as f:
        c = KinCode(f, "%kin")
        mode, value, least = [c.get("%said", 8 * k, "i64") for k in range(3)]
        with f.when(c.equal(mode, at.NOTHING)):
            f.give(f.emit(f"zext i1 {c.same('%x', c.object(at.NONE))} to i64"))
        c.refuse_unless(c.same(c.get("%x", TYPE_AT), c.object(at.INT_TYPE)))
        n = c.whole("%x")
        with f.when(f.compare("ne", least, at.ANY)):
            c.refuse_unless(c.equal(f.least(n, 2), least))
        for case in f.cases(mode, at.NOTHING):
            if case == at.CONSTANT:
                c.refuse_unless(c.equal(n, value))
            elif case == at.FIRST:
                f.write("i64", n, c.register(value), 8)
            else:
                c.refuse_unless(c.equal(n, f.read("i64", c.register(value), 8)))
        f.give(1)
    return f


def _equals(module: Module) -> Function:
    """Whether two objects are equal."""
    with module.helper("equals", [("ptr", "%kin"), ("ptr", "%x"), ("ptr", "%y")], "i64") as f:
        c = KinCode(f, "%kin")
        with f.when(c.same("%x", "%y")):
            f.give(1)
        found = c.call(at.COMPARE, "ptr %x, ptr %y, i32 2", "i32")
        f.give(f.emit(f"zext i1 {c.equal(found, 1, 'i32')} to i64"))
    return f


def _geometry(module: Module, fields: dict[str, int], integer: Function) -> Function:
    """Whether the numbers of a geometry are as they should be; how far a moving operand has moved."""
    with module.helper("geometry", [("ptr", "%kin"), ("ptr", "%g"), ("ptr", "%row")], "i64") as f:
        c = KinCode(f, "%kin")
        shift, again = c.get("%row", 8 * at.SHIFT), c.get("%row", 8 * at.AGAIN)
        stays = c.same(shift, "null")
        f.write("ptr", "%g", f.at("%row", at.MET, "i64"), 8)
        with f.when(stays):
            with f.otherwise(c.same(again, "null")):
                with f.when(c.same(c.get(again, 8 * at.MET), "%g")):
                    f.give(1)
        said, ndim = c.get("%row", 8 * at.INTEGERS), c.get("%row", 8 * at.NUMBER, "i64")
        place = f.variable("ptr", said)

        def check(x: str) -> None:
            c.refuse_unless(c.equal(str(f.run(integer, "%kin", x, place.get())), 1))
            place.set(f.at(place.get(), at.INTEGER_WORDS, "i64"))
        for field in ("shape", "strides"):
            numbers = c.get("%g", fields[f"Geometry.{field}"])
            c.refuse_unless(c.equal(c.get(numbers, SIZE_AT, "i64"), ndim))
            with f.loop(0, ndim) as i:
                check(c.get(f.at(numbers, i, "ptr"), TUPLE_AT))
        offset = c.get("%g", fields["Geometry.offset"])
        with f.when(stays):
            check(offset)
        with f.otherwise(stays):
            moved = f.mul(c.call(at.AS_INTEGER, f"ptr {offset}", "i64"), c.get("%row", 8 * at.SIZE_OF, "i64"))
            kind = f.choose(c.equal(moved, 0), "i64", 0, c.get("%row", 8 * at.TYPE_OF, "i64"))
            f.write("i64", moved, shift, 8)
            f.write("i64", kind, f.at(shift, 1, "i64"), 8)
        f.give(1)
    return f


def _read(module: Module, fields: dict[str, int], equals: Function) -> Function:
    """Whether what a row says is to be read of a signature is as it should be."""
    integer = _integer(module)
    geometry = _geometry(module, fields, integer)
    with module.helper("read", [("ptr", "%kin"), ("ptr", "%row")], "i64") as f:
        c = KinCode(f, "%kin")
        signature = c.get(f.at(c.word(at.FOUND, "ptr"), c.get("%row", 0, "i64"), "ptr"), 0)
        field = c.get(signature, c.get("%row", 8 * at.FIELD, "i64"))
        x = c.get(field, c.get("%row", 8 * at.PLACE, "i64"))
        expected, said = c.get("%row", 8 * at.EXPECTED), c.get("%row", 8 * at.INTEGERS)
        for kind in f.cases(c.get("%row", 8 * at.KIND, "i64"), at.INTEGER + 1):
            if kind == at.GEOMETRY_SAID:
                own = c.get(c.get(x, fields["Geometry.family"]), fields["Family.kind"])
                c.refuse_unless(c.equal(str(f.run(equals, "%kin", own, expected)), 1))
            if kind in (at.GEOMETRY, at.GEOMETRY_SAID):
                f.give(str(f.run(geometry, "%kin", x, "%row")))
            elif kind == at.INTEGER:
                f.give(str(f.run(integer, "%kin", x, said)))
            else:
                count = c.get("%row", 8 * at.NUMBER, "i64")
                c.refuse_unless(c.same(c.get(x, TYPE_AT), expected))
                c.refuse_unless(c.equal(c.get(x, SIZE_AT, "i64"), count))
                with f.loop(0, count) as i:
                    each = f.at(said, f.mul(i, at.INTEGER_WORDS), "i64")
                    one = c.get(f.at(x, i, "ptr"), TUPLE_AT)
                    c.refuse_unless(c.equal(str(f.run(integer, "%kin", one, each)), 1))
        f.give(1)
    return f


def _said(module: Module, equals: Function) -> Function:
    """Whether something else of a signature is what it was."""
    with module.helper("said", [("ptr", "%kin"), ("ptr", "%row")], "i64") as f:
        c = KinCode(f, "%kin")
        signature = c.get(f.at(c.word(at.FOUND, "ptr"), c.get("%row", 0, "i64"), "ptr"), 0)
        x = f.variable("ptr", c.get(signature, c.get("%row", 8, "i64")))
        place, expected = c.get("%row", 16, "i64"), c.get("%row", 24)
        with f.when(c.equal(place, at.LENGTH)):
            f.give(f.emit(f"zext i1 {c.equal(c.get(x.get(), SIZE_AT, 'i64'), c.get('%row', 24, 'i64'))} "
                          "to i64"))
        with f.when(f.compare("ne", place, at.WHOLE_FIELD)):
            x.set(c.get(x.get(), place))
            c.refuse_unless(c.same(c.get(x.get(), TYPE_AT), c.get(expected, TYPE_AT)))
        f.give(str(f.run(equals, "%kin", x.get(), expected)))
    return f


def _is_kin(module: Module, fields: dict[str, int], equals: Function) -> Function:
    """Whether the signatures of pending nodes are those of kin; their numbers go into the registers."""
    read, said = _read(module, fields, equals), _said(module, equals)
    with module.helper("is_kin", [("ptr", "%kin"), ("ptr", "%pending")], "i64") as f:
        c = KinCode(f, "%kin")
        table, count = c.table(at.FORMS)
        c.refuse_unless(c.equal(c.get("%pending", SIZE_AT, "i64"), count))
        threads = c.get(c.object(at.SETTINGS), fields["_Settings.threads"])
        c.refuse_unless(c.equal(c.call(at.AS_INTEGER, f"ptr {threads}", "i64"), c.word(at.THREADS)))
        items, found = c.get("%pending", ITEMS_AT), c.word(at.FOUND, "ptr")
        with f.loop(0, count) as i:
            row = f.at(table, f.mul(i, 2), "i64")
            form = c.get(row, 0)
            signature = c.get(c.get(f.at(items, i, "ptr"), 0), glance.SIGNATURE_AT)
            f.write("ptr", signature, f.at(found, i, "ptr"), 8)
            with f.otherwise(c.same(form, "null")):
                c.refuse_unless(c.same(c.get(signature, fields["Signature.form"]), form))
        table, count = c.table(at.PAIRS)
        with f.loop(0, count) as i:
            both = [c.get(f.at(found, c.get(f.at(table, f.mul(i, 2), "i64"), 8 * k, "i64"), "ptr"), 0)
                    for k in range(2)]
            c.refuse_unless(c.same(*both))
        for which, check in ((at.SAID, said), (at.READS, read)):
            table, count = c.table(which)
            with f.loop(0, count) as i:
                row = f.at(table, f.mul(i, at.WIDTHS[which]), "i64")
                c.refuse_unless(c.equal(str(f.run(check, "%kin", row)), 1))
        f.give(1)
    return f


def _fill(module: Module) -> Function:
    """Put what follows from the numbers into the program and the glance; whether there is room for it."""
    with module.helper("fill_in", [("ptr", "%kin")], "i64") as f:
        c = KinCode(f, "%kin")

        def rows(which: int) -> None:
            table, count = c.table(which)
            with f.loop(0, count) as i:
                row = f.at(table, f.mul(i, at.WIDTHS[which]), "i64")
                n = f.read("i64", c.register(c.get(row, 0, "i64")), 8)
                if which == at.WORDS:
                    f.write("i64", n, c.get(row, 8), 8)
                elif which == at.MOVED:
                    f.write("i64", f.add(n, c.get(row, 16, "i64")), c.get(row, 8), 8)
                elif which == at.SIZES:
                    c.refuse_unless(f.compare("sle", n, c.get(row, 8, "i64")))
                else:
                    array = c.get(row, 16)
                    f.write("i64", n, f.at(array, ELEMENTS, "i64"), 8)
                    f.write("i64", f.mul(n, c.get(row, 8, "i64")), f.at(array, BYTES, "i64"), 8)
        rows(at.SIZES)
        bound = c.get(c.word(at.PROGRAM, "ptr"), 8 * runtime.BOUND)
        c.refuse_unless(c.same(c.get(c.word(at.ARENA, "ptr"), 0), bound))
        rows(at.WORDS)
        rows(at.MOVED)
        rows(at.COUNTS)
        table, count = c.table(at.FORMS)    # last, when all of it is that of these signatures
        with f.loop(0, count) as i:
            row = f.at(table, f.mul(i, at.WIDTHS[at.FORMS]), "i64")
            with f.otherwise(c.same(c.get(row, 0), "null")):
                f.write("ptr", c.get(f.at(c.word(at.FOUND, "ptr"), i, "ptr"), 0), c.get(row, 8), 8)
        f.give(1)
    return f


def _is_shared(module: Module) -> Function:
    """Whether the program is worth several threads: it is long, and a step of it has tasks for them."""
    with module.helper("is_shared", [("ptr", "%kin")], "i64") as f:
        c = KinCode(f, "%kin")
        time = f.read("double", c.register(c.word(at.NANOSECONDS)), 8)
        long = f.emit(f"fcmp oge double {time}, {f.emit(f'bitcast i64 {c.word(at.LONG_FROM)} to double')}")
        said = f.at(c.word(at.GLANCE, "ptr"), glance.LONG, "i64")
        f.write("i64", f.emit(f"zext i1 {long} to i64"), said, 8)
        c.refuse_unless(long)
        c.refuse_unless(f.compare("sgt", c.word(at.THREADS), 1))
        program = c.word(at.PROGRAM, "ptr")
        steps = c.get(program, 8 * runtime.STEPS)
        with f.loop(0, c.get(program, 8 * runtime.LAST, "i64")) as i:
            step = f.at(steps, f.mul(i, runtime.STEP_WORDS), "i64")
            tasks, grain = [c.get(step, 8 * k, "i64") for k in (runtime.TASKS, runtime.GRAIN)]
            with f.when(f.compare("sgt", tasks, grain)):
                f.give(1)
        f.give(0)
    return f


def _is_frequent(module: Module) -> Function:
    """Whether these numbers have come so often that a program of their own pays; counts them."""
    with module.helper("is_frequent", [("ptr", "%kin")], "i64") as f:
        c = KinCode(f, "%kin")
        registers, number = c.word(at.REGISTERS, "ptr"), f.variable("i64", 0)
        with f.loop(0, c.word(at.NUMBERS)) as i:
            added = f.emit(f"add i64 {number.get()}, {f.read('i64', f.at(registers, i, 'i64'), 8)}")
            mixed = f.emit(f"mul i64 {added}, {glance.MIXER}")
            number.set(f.emit(f"xor i64 {mixed}, {f.emit(f'lshr i64 {mixed}, 32')}"))
        place = f.emit(f"and i64 {number.get()}, {f.sub(c.word(at.COMINGS_SIZE), 1)}")
        row = f.at(c.word(at.COMINGS, "ptr"), f.mul(place, 2), "i64")
        same = c.equal(c.get(row, 0, "i64"), number.get())
        count = f.add(f.choose(same, "i64", c.get(row, 8, "i64"), 0), 1)
        f.write("i64", number.get(), row, 8)
        f.write("i64", count, f.at(row, 1, "i64"), 8)
        f.give(f.emit(f"zext i1 {f.compare('sgt', count, c.word(at.ENOUGH))} to i64"))
    return f


@kernels("kin", Effort.FEW)
def entries(fields: Slots) -> str:
    """``fit(kin, pending)``: what is said of pending nodes; ``fit_of(self, pending)``, a method, the same.

    REFUSED: they are no kin. READY: the glance is that of their shapes. SHARED: so it is, and helpers are
    worth to be called. WAITS: there is no room for their values yet. FREQUENT: their shapes came so often
    that they are to get a program of their own. RAISED: something else than arithmetic has raised an error
    while a function of Python's ran, as Ctrl-C does.
    """
    module = Module()
    equals = _equals(module)
    is_kin, played = _is_kin(module, dict(fields), equals), play(module, equals)
    fill, is_shared, is_frequent = _fill(module), _is_shared(module), _is_frequent(module)
    with module.function("fit", [("ptr", "%kin"), ("ptr", "%pending")], "i64") as f:
        c = KinCode(f, "%kin")
        fits = f.variable("i64", str(f.run(is_kin, "%kin", "%pending")))
        with f.when(c.equal(fits.get(), 1)):
            fits.set(str(f.run(played, "%kin")))
        with f.otherwise(f.emit(f"icmp eq ptr {c.call(at.OCCURRED, '')}, null")):
            own = c.call(at.IS_RAISED, f"ptr {c.object(at.ERRORS)}", "i32")
            with f.when(c.equal(own, 0, "i32")):
                f.give(at.RAISED)
            c.tell_nothing(at.FORGET)
            f.give(at.REFUSED)
        with f.otherwise(c.equal(fits.get(), 1)):
            f.give(at.REFUSED)
        with f.otherwise(c.equal(str(f.run(fill, "%kin")), 1)):
            f.give(at.WAITS)
        with f.when(c.equal(str(f.run(is_frequent, "%kin")), 1)):
            f.give(at.FREQUENT)
        with f.when(c.equal(str(f.run(is_shared, "%kin")), 1)):
            f.give(at.SHARED)
        f.give(at.READY)
    fit = module.functions[-1]
    with module.function("fit_of", [("ptr", "%self"), ("ptr", "%pending")], "ptr") as f:
        kin = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
        c = KinCode(f, kin)
        said = str(f.run(fit, kin, "%pending"))
        with f.when(c.equal(said, at.RAISED)):
            f.give("null")
        f.give(c.call(at.NEW_INTEGER, f"i64 {said}"))
    return module.text()

"""The Mersenne Twister in vectors: random words of a stream, handed to a kernel's formula in batches.

The engine (Matsumoto and Nishimura, 1998) keeps a block of 624 words. The next block is

    x[i] = x[i + 397] ^ f(x[i], x[i + 1])        indices modulo 624, old words above i, new ones below

so vectors of up to 227 words are independent of each other. The block is followed here by a copy of its first
words, so that no vector wraps around. Each word is tempered on its way out.

A kernel reads the stream's state (the layout: ``random_streams/state.py``), makes a few blocks at a time into
a queue in the first-level cache, turns whole batches of elements into results, keeps the few words that are
left over for the next batch, and writes the state that PyTorch would have after the same draws.

Note: two parts of a stream. Only the words that are drawn are tempered and made into results, which is most
of the work. So a thread that is to make the later elements goes through the blocks before them itself: two
threads need little more than half the time of one, and one that makes all of them wastes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from ..llvm.build import Function, Module, vector
from ..llvm.compiling.machine import LINE, machine

BLOCK = 624
_AHEAD = 397
_BEFORE = _AHEAD - BLOCK
_TWIST = 0x9908B0DF
_VECTOR = 16                    # words at most
_PADDED = BLOCK + _VECTOR       # the block and the copy of its first words
BLOCKS = 4                      # made at a time, or fewer
_BATCH = 64                     # batches but the last have a multiple of so many elements
PARTS = 2
QUEUE = (BLOCKS + 1) * BLOCK + 4 * _BATCH
SCRATCH = 4 * (_PADDED + _VECTOR + QUEUE)

# Bytes from the state's start. A value of a pair of normal numbers may be kept, which a flag tells.
_LEFT, _NEXT, _KEY, KEPT, IS_KEPT, STATE_BYTES = 8, 16, 24, 5024, 5040, 5056

# Words of every call: the state before, the state after, results, how many elements, then what follows them:
# so many words that are drawn and lost, and so many elements that start at a place of their own.
BEFORE, AFTER, RESULT, COUNT, LOST, LAST, PLACE, NUMBERS = range(8)

# ``formula(f, queue, result, first, count)``: elements ``first`` and following from the queue's words.
Formula = Callable[[Function, str, str, str, str], None]


class Draw(NamedTuple):
    """What a kernel makes of words: elements of LLVM type ``element``, each of ``per`` words.

    There are two parts, of which the first has ``share`` 64ths of the elements; or one, if ``count_of`` says
    how many elements there are. ``blocks``: so many are made at a time. ``tempers``: whether the queue's
    words are tempered; else the formula does that with those that it needs. ``finish(f, queue)`` comes last,
    when the state after is written. ``use(f, first, count)`` does something with elements that have just been
    drawn, and ``ahead(f, first, count)`` comes while their words are made.
    """

    formula: Formula
    per: Callable[[Function], str | int]
    element: str
    tempers: bool = True
    share: Callable[[Function], str | int] = lambda f: 36
    blocks: int = BLOCKS
    count_of: Callable[[Function], str] | None = None
    finish: Callable[[Function, str], None] | None = None
    ahead: Callable[[Function, str, str], None] | None = None
    use: Callable[[Function, str, str], None] | None = None


def draw_kernel(module: Module, name: str, draw: Draw) -> None:
    """A kernel that fills ``RESULT``, of ``PARTS`` tasks or one."""
    formula, per, element, tempers, share, most, count_of, finish, ahead, use = draw
    load, temper = define_load(module), define_temper_rest(module, tempers)
    following = define_following(module, Out.TEMPERED if tempers else Out.RAW)
    pass_over, save = define_following(module, Out.NONE), define_save(module)
    parameters = [("ptr noalias", "%queue"), ("ptr noalias", "%result"), ("i64", "%first"), ("i64", "%count"),
                  ("ptr noalias readonly", "%words")]
    with module.helper("elements", parameters) as g:
        formula(g, "%queue", "%result", "%first", "%count")
    with module.kernel(name) as f:
        block = f.scratch
        result, width = f.word(RESULT, "ptr"), per(f)
        start, stop, is_last = _part(f, share(f)) if count_of is None else ("0", count_of(f), "true")
        position = f.variable("i64", f.run(load, f.word(BEFORE, "ptr"), block))
        with f.when(f.compare("ne", start, 0)):
            there = f.add(position.get(), f.mul(start, width))
            with f.loop(0, f.div(there, BLOCK)):
                f.run(pass_over, block)
            position.set(f.rem(there, BLOCK))
        there = f.sub(BLOCK, position.get())
        # Whole batches are whole vectors: behind the block's last words the queue's blocks begin with lines.
        queue = f.at(f.scratch, f.add(_PADDED, f.rem(position.get(), _VECTOR)), "i32")
        f.run(temper, f.at(block, position.get(), "i32"), there, queue)
        after = f.add(f.word(LOST), f.mul(f.word(LAST), width))
        needed = f.add(f.mul(f.sub(stop, start), width), f.choose(is_last, "i64", after, 0))
        blocks = f.div(f.add(f.most(f.sub(needed, there), 0), BLOCK - 1), BLOCK)
        rounds = f.most(f.div(f.add(blocks, most - 1), most), 1)
        have, done, left = f.variable("i64", there), f.variable("i64", start), f.variable("i64", blocks)
        with f.loop(0, rounds) as r:
            made = f.least(left.get(), most)
            end = f.at(queue, have.get(), "i32")
            with f.loop(0, made) as b:
                if ahead is not None:
                    each = f.div(BLOCK, width)
                    ahead(f, f.add(done.get(), f.mul(b, each)), each)
                f.run(following, block, f.at(end, f.mul(b, BLOCK), "i32"))
            left.set(f.sub(left.get(), made))
            have.set(f.add(have.get(), f.mul(made, BLOCK)))
            missing = f.sub(stop, done.get())
            whole = f.emit(f"and i64 {f.div(have.get(), width)}, {-_BATCH}")
            final = f.compare("eq", r, f.sub(rounds, 1))
            take = f.choose(final, "i64", missing, f.least(whole, missing))
            f.run(g, queue, f.at(result, done.get(), element), done.get(), take, f.words)
            if use is not None:
                use(f, done.get(), take)
            used = f.mul(take, width)
            _move(f, queue, f.at(queue, used, "i32"), f.sub(have.get(), used))
            have.set(f.sub(have.get(), used))
            done.set(f.add(done.get(), take))
        with f.when(is_last):
            with f.when(f.compare("ne", f.word(LAST), 0)):
                place = f.word(PLACE)
                rest, to = f.at(queue, f.word(LOST), "i32"), f.at(result, place, element)
                f.run(g, rest, to, place, f.word(LAST), f.words)
            unused = f.sub(f.add(there, f.mul(blocks, BLOCK)), needed)
            drawn = f.add(f.mul(start, width), needed)
            f.run(save, f.word(BEFORE, "ptr"), block, f.sub(BLOCK, unused), drawn, f.word(AFTER, "ptr"))
            if finish is not None:
                finish(f, queue)
        if use is not None and machine().passes:
            f.settle()


def _part(f: Function, share: str | int) -> tuple[str, str, str]:
    """The elements of a task, or of both; whether they are the last ones (Note: two parts of a stream)."""
    count = f.word(COUNT)
    cut = f.emit(f"and i64 {f.div(f.mul(count, share), 64)}, {-_BATCH}")
    is_first, is_last = f.compare("eq", f.begin, 0), f.compare("eq", f.end, PARTS)
    return f.choose(is_first, "i64", 0, cut), f.choose(is_last, "i64", count, cut), is_last


# --- the engine ---------------------------------------------------------------------------------------------

def words_at_once() -> tuple[int, str]:
    """How many words there are in a vector, and its type."""
    lanes = machine().lanes()
    return lanes, vector(lanes, "i32")


def _constant(value: int) -> str:
    """A vector of equal words."""
    lanes, _ = words_at_once()
    signed = value - (1 << 32) if value >> 31 else value
    return "<" + ", ".join([f"i32 {signed}"] * lanes) + ">"


class Out(Enum):
    """What is made of a block's words, beside the block."""

    NONE, RAW, TEMPERED = range(3)


def define_following(module: Module, out: Out = Out.TEMPERED) -> Function:
    """``following(block, out)``: the next block, and a copy of its words; ``pass_over(block)``: it alone."""
    lanes, kind = words_at_once()
    parameters = [("ptr noalias", "%block"), *([("ptr noalias", "%out")] if out is not Out.NONE else [])]
    with module.helper("pass_over" if out is Out.NONE else "following", parameters) as f:
        step = _Steps(f, out)
        first = step("0", _AHEAD)
        f.write(kind, first, f.at("%block", BLOCK, "i32"), 4 * lanes)
        middle = (-_BEFORE - 1) // lanes * lanes + lanes
        with f.loop(lanes, middle, lanes) as i:
            step(i, _AHEAD)
        with f.loop(middle, BLOCK, lanes) as i:
            step(i, _BEFORE)
    return f


class _Steps:
    """Writes the steps of a block in their order: a vector of new words each.

    Words that are one further on than a vector lie in two lines. Where vectors are as long as lines, they are
    put together from two vectors, one of which the step before has read.
    """

    def __init__(self, f: Function, out: Out) -> None:
        self.f = f
        self.out = out
        self.lanes, self.kind = words_at_once()
        self.whole = 4 * self.lanes == LINE
        self.this = f.variable(self.kind, f.read(self.kind, "%block", 4 * self.lanes))

    def __call__(self, i: str, ahead: int) -> str:
        f, kind, lanes = self.f, self.kind, self.lanes
        place, this = f.at("%block", i, "i32"), self.this.get()
        if self.whole:
            following = f.read(kind, f.at(place, lanes, "i32"), LINE)
            order = ", ".join(f"i32 {k + 1}" for k in range(lanes))
            successor = f.emit(f"shufflevector {kind} {this}, {kind} {following}, <{lanes} x i32> <{order}>")
        else:
            this = f.read(kind, place, 4 * lanes)
            successor = f.read(kind, f.at(place, 1, "i32"))
        joined = f.emit(f"lshr {kind} {self._upper_and_lower(this, successor)}, {_constant(1)}")
        far = f.read(kind, f.at(place, ahead, "i32"))
        new = f.emit(f"xor {kind} {f.emit(f'xor {kind} {far}, {joined}')}, {self._twist(successor)}")
        f.write(kind, new, place, 4 * lanes)
        if self.whole:
            self.this.set(following)
        if self.out is not Out.NONE:
            f.write(kind, tempered(f, new) if self.out is Out.TEMPERED else new, f.at("%out", i, "i32"))
        return new

    def _upper_and_lower(self, x: str, y: str) -> str:
        """The uppermost bits of x with the others of y."""
        f, kind = self.f, self.kind
        if self.whole:      # LLVM would take two instructions
            operands = [x, y, _constant(1 << 31), "228"]    # x where the constant has ones, else y
            return f.call("llvm.x86.avx512.pternlog.d.512", kind, [kind, kind, kind, "i32"], operands, (3,))
        upper = f.emit(f"and {kind} {x}, {_constant(1 << 31)}")
        return f.emit(f"or {kind} {upper}, {f.emit(f'and {kind} {y}, {_constant((1 << 31) - 1)}')}")

    def _twist(self, x: str) -> str:
        """The matrix's constant where words are odd, else 0."""
        f, kind, lanes = self.f, self.kind, self.lanes
        if self.whole:      # looked up by the lowest bits, in one instruction
            table = ", ".join([f"i32 0, i32 {_TWIST - (1 << 32)}"] * (lanes // 2))
            return f.call("llvm.x86.avx512.permvar.si.512", kind, [kind, kind], [f"<{table}>", x])
        odd = f.emit(f"and {kind} {x}, {_constant(1)}")
        return f.emit(f"and {kind} {f.emit(f'sub {kind} zeroinitializer, {odd}')}, {_constant(_TWIST)}")


def tempered(f: Function, x: str) -> str:
    """A vector of words as they are handed out."""
    _, kind = words_at_once()
    for shift, count, mask in (("lshr", 11, 0xFFFFFFFF), ("shl", 7, 0x9D2C5680), ("shl", 15, 0xEFC60000),
                               ("lshr", 18, 0xFFFFFFFF)):
        moved = f.emit(f"{shift} {kind} {x}, {_constant(count)}")
        x = f.emit(f"xor {kind} {x}, {f.emit(f'and {kind} {moved}, {_constant(mask)}')}")
    return x


def define_temper_rest(module: Module, tempers: bool = True) -> Function:
    """``temper(words, count, out)``, or just a copy; up to a vector more is read and written."""
    lanes, kind = words_at_once()
    parameters = [("ptr noalias readonly", "%from"), ("i64", "%count"), ("ptr noalias", "%out")]
    with module.helper("temper", parameters) as f, f.loop(0, "%count", lanes) as i:
        words = f.read(kind, f.at("%from", i, "i32"))
        f.write(kind, tempered(f, words) if tempers else words, f.at("%out", i, "i32"))
    return f


def _move(f: Function, target: str, source: str, words: str) -> None:
    f.do("llvm.memmove.p0.p0.i64", ["ptr", "ptr", "i64", "i1"],
         [target, source, f.mul(words, 4), "false"], immediate=(3,))


# --- the state ----------------------------------------------------------------------------------------------

def define_load(module: Module) -> Function:
    """``load(state, block)``: the block, and the position of the next word in it."""
    parameters = [("ptr noalias readonly", "%state"), ("ptr noalias", "%block")]
    with module.helper("load_state", parameters, "i64") as f:
        key = f.at("%state", _KEY, "i8")
        with f.loop(0, BLOCK) as i:
            word = f.read("i64", f.at(key, i, "i64"), 8)
            f.write("i32", f.emit(f"trunc i64 {word} to i32"), f.at("%block", i, "i32"))
        fresh = f.emit(f"icmp eq i32 {f.read('i32', f.at('%state', _LEFT, 'i8'))}, 1")
        f.give(f.choose(fresh, "i64", BLOCK, f.read("i64", f.at("%state", _NEXT, "i8"), 8)))
    return f


def define_save(module: Module) -> Function:
    """``save(before, block, position, drawn, after)``: the state after so many words were drawn."""
    parameters = [("ptr noalias readonly", "%before"), ("ptr noalias readonly", "%block"),
                  ("i64", "%position"), ("i64", "%drawn"), ("ptr noalias", "%after")]
    with module.helper("save_state", parameters) as f:
        f.copy("%after", "%before", STATE_BYTES)
        with f.when(f.compare("ne", "%drawn", 0)):
            left = f.emit(f"trunc i64 {f.sub(BLOCK + 1, '%position')} to i32")
            f.write("i32", left, f.at("%after", _LEFT, "i8"))
            f.write("i64", "%position", f.at("%after", _NEXT, "i8"), 8)
            key = f.at("%after", _KEY, "i8")
            with f.loop(0, BLOCK) as i:
                word = f.emit(f"zext i32 {f.read('i32', f.at('%block', i, 'i32'))} to i64")
                f.write("i64", word, f.at(key, i, "i64"), 8)
    return f

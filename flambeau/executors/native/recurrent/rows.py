"""What recurrent layers do with each row of gates: functions of a row of one step, and their gradients.

Each is a counted loop without branches, which LLVM vectorizes: the pointers of a row never overlap. The
formulas: Note: sequences.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from ..llvm.build import Function, Module
from ..llvm.emitter import Dtype
from ..llvm.expressions import functions
from ..llvm.expressions.expression import Expression, compare, constant, select

Values = dict[str, Expression]


class Rows:
    """The row functions of a module, each made when it is first used."""

    def __init__(self, module: Module, dtype: Dtype) -> None:
        self.module = module
        self.dtype = dtype
        self._plain: dict[str, Function] = {}

    def _row(self, name: str, reads: str, writes: str, formula: Callable[[Values], Values]) -> Function:
        """``name(width, pointers...)``: what is read, then what is only written; names may be in both."""
        names = list(dict.fromkeys([*reads.split(), *writes.split()]))
        parameters = [("i64", "%width"), *[("ptr noalias", f"%{n}") for n in names]]
        size = self.dtype.itemsize
        element = "double" if size == 8 else "float"
        with self.module.helper(name, parameters) as f, f.loop(0, "%width") as k:
            values = {n: Expression(f, f.read(element, f.at(f"%{n}", k, element), size), self.dtype)
                      for n in reads.split()}
            results = formula(values)
            for n in writes.split():
                f.write(element, results[n].register, f.at(f"%{n}", k, element), size)
        return f

    @cached_property
    def lstm(self) -> Function:
        """(i, f, g, o before their functions, c, i, f, g, o, c before, h, output)."""
        def formula(x: Values) -> Values:
            i, f, o = (functions.sigmoid(x[n]) for n in ("ai", "af", "ao"))
            g = functions.tanh(x["ag"])
            c = f * x["c"] + i * g
            h = o * functions.tanh(c)
            return {"i": i, "f": f, "g": g, "o": o, "c": c, "before": x["c"], "h": h, "output": h}
        return self._row("lstm_row", "ai af ag ao c", "i f g o before h output c", formula)

    @cached_property
    def lstm_backward(self) -> Function:
        """(i, f, g, o, before, grad, dh, dc, di, df, dg, do): dh is zero afterwards."""
        def formula(x: Values) -> Values:
            i, f, g, o, before = (x[n] for n in ("i", "f", "g", "o", "before"))
            squashed = functions.tanh(f * before + i * g)
            d = x["dh"] + x["grad"]
            through = x["dc"] + d * o * (1 - squashed * squashed)
            return {"di": through * g * (i * (1 - i)), "df": through * before * (f * (1 - f)),
                    "dg": through * i * (1 - g * g), "do": d * squashed * (o * (1 - o)),
                    "dc": through * f, "dh": constant(d, 0.0)}
        return self._row("lstm_backward_row", "i f g o before grad dh dc", "di df dg do dh dc", formula)

    @cached_property
    def gru(self) -> Function:
        """(r, z, n before their functions, lifted, h, r, z, n, lifted, output)."""
        def formula(x: Values) -> Values:
            r, z = functions.sigmoid(x["ar"]), functions.sigmoid(x["az"])
            n = functions.tanh(x["an"] + r * x["al"])
            h = (x["h"] - n) * z + n
            return {"r": r, "z": z, "n": n, "lifted": x["al"], "h": h, "output": h}
        return self._row("gru_row", "ar az an al h", "r z n lifted output h", formula)

    @cached_property
    def gru_backward(self) -> Function:
        """(r, z, n, lifted, before, grad, dh, then the gradients of r, z, n for the input and the state)."""
        def formula(x: Values) -> Values:
            r, z, n = x["r"], x["z"], x["n"]
            d = x["dh"] + x["grad"]
            dn = d * (1 - z) * (1 - n * n)
            dr = dn * x["lifted"] * (r * (1 - r))
            dz = d * (x["before"] - n) * (z * (1 - z))
            return {"xr": dr, "xz": dz, "xn": dn, "hr": dr, "hz": dz, "hn": dn * r, "dh": d * z}
        return self._row("gru_backward_row", "r z n lifted before grad dh", "xr xz xn hr hz hn dh", formula)

    def plain(self, kind: str) -> Function:
        """(what tanh or relu is applied to, h, output, output once more)."""
        def formula(x: Values) -> Values:
            a = x["a"]
            y = functions.tanh(a) if kind == "tanh" else select(compare("<", a, 0), constant(a, 0.0), a)
            return {"output": y, "h": y, "kept": y}
        return self._once(f"{kind}_row", "a", "h output kept", formula)

    def plain_backward(self, kind: str) -> Function:
        """(output, grad, dh, da): dh is zero afterwards."""
        def formula(x: Values) -> Values:
            y, d = x["output"], x["dh"] + x["grad"]
            zero = constant(d, 0.0)
            da = d * (1 - y * y) if kind == "tanh" else select(compare("<=", y, 0), zero, d)
            return {"da": da, "dh": zero}
        return self._once(f"{kind}_backward_row", "output grad dh", "da dh", formula)

    def _once(self, name: str, reads: str, writes: str, formula: Callable[[Values], Values]) -> Function:
        if name not in self._plain:
            self._plain[name] = self._row(name, reads, writes, formula)
        return self._plain[name]

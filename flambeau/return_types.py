"""Named tuples of results, as ``torch.return_types`` has them: they print one field a line."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any


class Results(tuple[Any, ...]):
    """A tuple whose items are attributes too.

    >>> import flambeau as torch
    >>> torch.max(torch.tensor([3, 5]), 0).indices
    tensor(1)
    """

    _fields: tuple[str, ...] = ()

    def __new__(cls, *values: Any) -> Results:
        """From the fields' values, or from one sequence of them."""
        if len(values) == 1 and len(cls._fields) > 1:
            values = tuple(values[0])
        if len(values) != len(cls._fields):
            raise TypeError(
                f"{cls.__module__}.{cls.__name__}() takes a {len(cls._fields)}-sequence "
                f"({len(values)}-sequence given)"
            )
        return super().__new__(cls, values)

    def __repr__(self) -> str:
        fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
        return f"torch.return_types.{type(self).__name__}(\n{fields})"

    def __reduce__(self) -> Any:
        return type(self), tuple(self)


def _declare(name: str, fields: str) -> type[Results]:
    names = tuple(fields.split())
    body: dict[str, Any] = {field: property(itemgetter(i)) for i, field in enumerate(names)}
    return type(
        name,
        (Results,),
        {
            **body,
            "_fields": names,
            "n_fields": len(names),
            "n_sequence_fields": len(names),
            "n_unnamed_fields": 0,
            "__module__": "torch.return_types",
            "__slots__": (),
        },
    )


_FIELDS = {
    "max": "values indices",
    "min": "values indices",
    "median": "values indices",
    "nanmedian": "values indices",
    "mode": "values indices",
    "kthvalue": "values indices",
    "sort": "values indices",
    "topk": "values indices",
    "cummax": "values indices",
    "cummin": "values indices",
    "aminmax": "min max",
    "histogram": "hist bin_edges",
    "histogramdd": "hist bin_edges",
    "qr": "Q R",
    "svd": "U S V",
    "slogdet": "sign logabsdet",
    "geqrf": "a tau",
    "triangular_solve": "solution cloned_coefficient",
    "lu_unpack": "P L U",
    "frexp": "mantissa exponent",
    "linalg_slogdet": "sign logabsdet",
    "linalg_inv_ex": "inverse info",
    "linalg_cholesky_ex": "L info",
    "linalg_qr": "Q R",
    "linalg_svd": "U S Vh",
    "linalg_eigh": "eigenvalues eigenvectors",
    "linalg_eig": "eigenvalues eigenvectors",
    "linalg_lstsq": "solution residuals rank singular_values",
    "linalg_lu": "P L U",
    "linalg_lu_factor": "LU pivots",
    "linalg_lu_factor_ex": "LU pivots info",
    "linalg_solve_ex": "result info",
    "linalg_ldl_factor": "LD pivots",
    "linalg_ldl_factor_ex": "LD pivots info",
}
TYPES: dict[str, type[Results]] = {name: _declare(name, fields) for name, fields in _FIELDS.items()}
globals().update(TYPES)


def made(name: str, values: Iterable[Any]) -> Any:
    """The named tuple of an operator's results, as many as it has fields."""
    return _new(TYPES[name], values)


_new: Any = tuple.__new__


def __getattr__(name: str) -> type[Results]:
    raise AttributeError(f"module 'torch.return_types' has no attribute {name!r}")

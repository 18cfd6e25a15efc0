"""SparseTensor: a tensor that stores some of its elements, and where they are.

Note: sparse tensors. A sparse tensor has no storage: it is a pattern (where the elements are) and its
*entries*, an ordinary tensor with their values. Its history is that of the entries: a gradient of a sparse
tensor is a gradient of its entries, and what is computed from a sparse tensor is recorded on the entries, so
that autograd needs no rule for it. Public functions that meet a sparse tensor find what to do in ``HANDLERS``
(Note: overrides); one that is not there raises, and so does every operator that asks for the storage. The
functions are wrapped when the first sparse tensor is made, or an optimizer that expects some: programs
without one pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import layouts
from ..graph.geometry import contiguous
from ..tensor import Tensor, overrides
from ..tensor.attributes import blank, fields
from ..tensor.recording.history import detached

HANDLERS: dict[str, Callable[..., Any]] = {}
# Functions that only ask for facts which a sparse tensor has.
FACTS = frozenset(("dim", "size", "numel", "get_device", "is_floating_point", "is_complex", "is_signed",
                   "is_inference", "is_same_size", "is_conj", "is_neg", "is_nonzero", "_is_view",
                   "result_type"))
# Functions that say what they do by other public functions.
COMPOSED = frozenset(("movedim", "moveaxis", "adjoint"))


def handles(*names: str) -> Callable[[Any], Any]:
    """Let a function take the place of public functions and methods that are given a sparse tensor."""
    def declare(function: Any) -> Any:
        for name in names:
            HANDLERS[name] = function
            if hasattr(Tensor, name):
                setattr(SparseTensor, name, function)
        return function
    return declare


def unsupported(name: str, backend: str = "SparseCPU") -> NotImplementedError:
    """The error of an operator that has no sparse version."""
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. This could be because "
        "the operator doesn't exist for this backend, or was omitted during the selective/custom build "
        "process (if using custom build).")


class SparseTensor(Tensor):
    """What both sparse layouts share (Note: sparse tensors)."""

    _sparse = True
    _entries: Tensor
    _layout: layouts.layout

    # --- what a layout says ---------------------------------------------------------------------------------

    def _with(self, entries: Tensor) -> Any:
        """The same pattern with other entries."""
        raise unsupported("_with")

    def _places(self) -> Tensor:
        """Where the entries are: (sparse_dim, nnz)."""
        raise unsupported("indices")

    # --- facts ----------------------------------------------------------------------------------------------

    @property
    def _storage(self) -> Any:  # type: ignore[override]
        raise unsupported("storage")

    @property
    def layout(self) -> layouts.layout:
        """How the elements are stored."""
        return self._layout

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        raise RuntimeError("nbytes is not defined for sparse tensors.  If you want the size of the "
                           "constituent tensors, add the nbytes of the indices and values.  If you want the "
                           "size of the  equivalent dense tensor, multiply numel() by element_size()")

    @property
    def _version(self) -> int:
        return self._entries._version

    def type(self, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        """The name of the type, or this tensor with entries of another."""
        found = self._entries.type() if dtype is None else self._with(self._entries.type(dtype))
        return found.replace("torch.", "torch.sparse.") if dtype is None else found

    def expand(self, *sizes: Any, implicit: bool = False) -> Any:
        """Raises."""
        raise RuntimeError("expand is unsupported for Sparse tensors")

    expand_as = broadcast_to = expand

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        return False

    def data_ptr(self) -> int:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def tolist(self) -> Any:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def untyped_storage(self) -> Any:
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")

    storage = untyped_storage

    def numpy(self, *, force: bool = False) -> Any:
        name = "Sparse" if self.is_sparse else "SparseCsr"
        raise TypeError(f"can't convert {name} layout tensor to numpy. Use Tensor.to_dense() first.")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.numpy()

    def _nnz(self) -> int:
        """How many entries there are."""
        return self._entries.shape[0]

    def _elements(self) -> Tensor:
        """The entries in the order of ``_places``: (nnz, *dense)."""
        return self._entries

    # --- autograd: the entries' (Note: sparse tensors) ------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        return self._entries.requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if self._entries._base is not None and self._entries.grad_fn is None:
            self._entries = detached(self._entries)  # a leaf of its own
        self._entries.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        return self._entries.is_leaf

    @property
    def grad_fn(self) -> Any:
        return self._entries.grad_fn

    @property
    def grad(self) -> Any:
        found = self._entries.grad
        if found is None or found._sparse:
            return found
        made = self.__dict__.get("_grad_made")
        if made is None or made._entries is not found:
            made = self.__dict__["_grad_made"] = self._with(found)
            made.__dict__["_grad_of"] = self  # what is written to it in place is written to ours
        return made

    @grad.setter
    def grad(self, value: Any) -> None:
        self._entries.grad = None if value is None else self._entries_like_ours(value)

    @grad.deleter
    def grad(self) -> None:
        self._entries.grad = None

    _grad = grad  # which optimizers read

    def _entries_like_ours(self, x: Any) -> Tensor:
        """The entries of a tensor of the same pattern; of others its elements at our places."""
        same = isinstance(x, SparseTensor) and x._pattern() is self._pattern()
        found: Tensor = x._entries if same else x.sparse_mask(self)._entries
        return found

    def _pattern(self) -> Tensor:
        """A tensor that all tensors of one pattern share."""
        raise unsupported("indices")

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call ``hook`` with the gradient of this tensor, a sparse one; it may return another."""
        def on_entries(grad: Tensor) -> Any:
            changed = hook(self._with(grad))
            return None if changed is None else self._entries_like_ours(changed)
        return self._entries.register_hook(on_entries)

    def retain_grad(self) -> None:
        self._entries.retain_grad()

    def detach(self) -> Any:
        return self._with(detached(self._entries))

    def detach_(self) -> Any:
        self._entries = detached(self._entries)
        return self

    @property
    def data(self) -> Any:
        return self._with(self._entries.data)

    @data.setter
    def data(self, new: Any) -> None:
        if not isinstance(new, SparseTensor):
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` "
                               "have incompatible tensor type.")
        self._become(new)

    def backward(self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: Any = None) -> None:
        """Differentiate from the entries on."""
        if gradient is not None:
            gradient = self._entries_like_ours(gradient)
        self._entries.backward(gradient, retain_graph, create_graph, inputs)

    def _become(self, other: SparseTensor) -> None:
        """Be another sparse tensor from now on: what in-place methods do."""
        before, leaf = self._entries, self.requires_grad and self.is_leaf
        self._geometry = other._geometry
        fields(self).update({name: value for name, value in fields(other).items()
                           if name not in ("_grad_made", "_grad_of")})
        if leaf and not self.requires_grad:  # written without recording
            self._entries = detached(self._entries).requires_grad_()
            if before._grad is not None and before._grad.shape == self._entries.shape:
                self._entries._grad = before._grad
        owner = vars(self).get("_grad_of")
        if owner is not None:
            owner._entries._grad = owner._entries_like_ours(self)

    # --- copies ---------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the "
                               "deepcopy protocol at the moment.")
        if id(self) not in memo:
            memo[id(self)] = self._with(detached(self._entries).clone().requires_grad_(self.requires_grad))
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        from .._utils import _rebuild_sparse_tensor  # the name that files have, above this package
        return _rebuild_sparse_tensor, (self.layout, self._described())

    def _described(self) -> tuple[Any, ...]:
        """What the tensor is made of, as checkpoints have it."""
        raise unsupported("_described")

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._entries.sum().item())

    def __eq__(self, other: Any) -> Any:
        raise unsupported("eq.Tensor")

    def __ne__(self, other: Any) -> Any:
        raise unsupported("ne.Tensor")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, spec: str) -> str:
        return format(self.to_dense().item(), spec) if self.ndim == 0 else object.__format__(self, spec)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from .printing import sparse_repr  # made of this class's values
        return sparse_repr(self)


def make(cls: type, shape: Sequence[int], entries: Tensor, **own: Any) -> Any:
    """A sparse tensor of a class."""
    expect_sparse_tensors()
    out: Any = blank(cls)
    out._geometry = contiguous(shape, entries.dtype, entries.device)
    out._entries = entries
    fields(out).update(own)
    return out


class CooTensor(SparseTensor):
    """Coordinates (sparse_dim, nnz) and entries (nnz, *dense extents)."""

    is_sparse = True
    _layout = layouts.sparse_coo
    _indices_: Tensor
    _coalesced: bool

    def _with(self, entries: Tensor) -> Any:
        return coo(self._indices_, entries, self.shape, self._coalesced)

    def _places(self) -> Tensor:
        return self._indices_

    def _pattern(self) -> Tensor:
        return self._indices_

    def _described(self) -> tuple[Any, ...]:
        return self._indices_, detached(self._entries), self.shape, self._coalesced

    def stride(self, dim: int | None = None) -> Any:
        return (0,) * self.ndim if dim is None else 0

    def storage_offset(self) -> int:
        return 0


def coo(indices: Tensor, entries: Tensor, shape: Sequence[int], coalesced: bool = False) -> CooTensor:
    """A tensor in coordinates, nothing checked."""
    coalesced = coalesced or entries.shape[0] < 2
    found: CooTensor = make(CooTensor, shape, entries, _indices_=indices, _coalesced=coalesced)
    return found


def _handle(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a public function does that was given a sparse tensor."""
    name = func.__name__
    found = HANDLERS.get(name)
    if found is not None:
        return found(*args, **(kwargs or {}))
    if name in FACTS or name in COMPOSED:
        with overrides.DisableTorchFunction():
            return func(*args, **(kwargs or {}))
    everything = (*args, *(kwargs or {}).values())
    if any(isinstance(x, SparseTensor) and x._layout is not layouts.sparse_coo for x in everything):
        raise unsupported(name, "SparseCsrCPU")
    raise unsupported(name)


def expect_sparse_tensors() -> None:
    """Have public functions ask sparse arguments what to do, from now on (Note: sparse tensors)."""
    if SparseTensor._overrides:
        return
    SparseTensor.__torch_function__ = classmethod(_handle)  # type: ignore[method-assign, assignment]
    kinds: list[type[SparseTensor]] = [SparseTensor, *SparseTensor.__subclasses__()]
    for cls in kinds:
        cls._overrides = True
    overrides.activate()

"""The pickle in a checkpoint: globals under PyTorch's names, storages as references to records."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

from .. import _utils
from ..dtypes import dtype, uint8
from ..graph.storage import Storage
from ..layouts import layout
from ..nn.parameter import Parameter
from ..operators.interop.protocols import PRIVATE
from ..tensor import Tensor
from ..tensor.aliasing.turned import is_turned, root
from ..tensor.handle import warn_if_has_hooks
from ..tensor.storage_view import TypedStorage, UntypedStorage
from .locations import location_tag
from .names import STORAGE_NAMES, STORAGE_TYPES, UNTYPED, StorageType, _get_layout, public_name

_Pickler: Any = pickle._Pickler  # written in Python


class StorageReferences:
    """The storages that a pickle refers to, each once, in the order in which they are met."""

    def __init__(self, legacy: bool) -> None:
        self.legacy = legacy
        self.keys: dict[int, str] = {}
        self.found: list[tuple[Storage, dtype]] = []

    def refer(self, storage: UntypedStorage, of: dtype) -> tuple[Any, ...]:
        """The persistent id of a storage."""
        held = storage._storage
        key = self.keys.get(id(held))
        if key is None:
            key = self.keys[id(held)] = str(len(self.found))
            self.found.append((held, of))
        elif self.found[int(key)][1] is not of:  # a file says the type of a storage once
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
            )
        kind = STORAGE_TYPES[STORAGE_NAMES.get(of, UNTYPED)]
        saved_id = "storage", kind, key, location_tag(storage), storage.nbytes() // kind.dtype.itemsize
        return (*saved_id, None) if self.legacy else saved_id


def reduce(obj: Any) -> Any:
    """How tensors and what belongs to them are written; NotImplemented for all else."""
    if isinstance(obj, Tensor):
        return reduce_tensor(obj) if obj._sparse or _is_reduced_here(type(obj)) else NotImplemented
    if isinstance(obj, layout):
        return _get_layout, (str(obj),)
    if isinstance(obj, (dtype, StorageType)):
        return public_name(obj)[1]
    return NotImplemented


def _is_reduced_here(cls: type) -> bool:
    """Whether a class of tensors leaves it to us how it is written: no subclass says it itself."""
    owner = next(kind for kind in cls.__mro__ if "__reduce_ex__" in vars(kind) or "__reduce__" in vars(kind))
    return owner is Tensor or owner is Parameter


def reduce_tensor(x: Tensor) -> Any:
    """The call that makes a tensor again; tensors that share a storage share it afterwards."""
    if x._sparse:
        return x.__reduce_ex__(2)
    extras = {name: value for name, value in vars(x).items() if name not in PRIVATE}
    slots = {name: getattr(x, name) for name in _slots(type(x)) if hasattr(x, name)}
    state: Any = (extras, slots) if slots else extras
    warn_if_has_hooks(x)
    hooks: OrderedDict[Any, Any] = OrderedDict()
    if type(x) is Parameter:
        if state:
            return _utils._rebuild_parameter_with_state, (x.detach(), x.requires_grad, hooks, state)
        return _utils._rebuild_parameter, (x.detach(), x.requires_grad, hooks)
    function, arguments = _reduce_values(x, hooks)
    if type(x) is not Tensor or state:
        return _utils._rebuild_from_type_v2, (function, type(x), arguments, state)
    return function, arguments


def _slots(cls: type) -> list[str]:
    """Names of attributes that a subclass of Tensor keeps in slots."""
    own = cls.__mro__[: cls.__mro__.index(Tensor)]
    declared = [kind.__dict__.get("__slots__", ()) for kind in own]
    names = [name for slots in declared for name in ((slots,) if isinstance(slots, str) else slots)]
    return [name for name in names if name not in PRIVATE and not name.startswith("__")]


def _reduce_values(x: Tensor, hooks: Any) -> tuple[Any, tuple[Any, ...]]:
    requires_grad = x.requires_grad
    g = x._geometry
    if g.device.type == "meta":
        return _utils._rebuild_meta_tensor_no_storage, (g.dtype, tuple(g.shape), g.strides, requires_grad)
    typed = g.dtype in STORAGE_NAMES
    storage = TypedStorage(
        wrap_storage=UntypedStorage(_storage=root(x._storage)), dtype=g.dtype if typed else uint8
    )
    arguments = (storage, g.offset, tuple(g.shape), g.strides, requires_grad, hooks)
    turned = {name: True for name, is_so in zip(("conj", "neg"), is_turned(x)) if is_so}
    metadata = (turned,) if turned else ()
    return (
        (_utils._rebuild_tensor_v2, (*arguments, *metadata))
        if typed
        else (_utils._rebuild_tensor_v3, (*arguments, g.dtype, *metadata))
    )


class CheckpointPickler(_Pickler):
    """Writes globals under PyTorch's names.

    The pure-Python pickler is used because only it lets a global's name be chosen.
    """

    def __init__(self, file: Any, protocol: int, references: StorageReferences) -> None:
        super().__init__(file, protocol)
        self.references = references

    def persistent_id(self, obj: Any) -> Any:
        """The id of a storage; other objects have none."""
        return _persistent_id(self.references, obj)

    def reducer_override(self, obj: Any) -> Any:
        """How flambeau's objects are written."""
        return reduce(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """A global under the name it has in PyTorch."""
        module, qualified = public_name(obj, name)
        if module.split(".")[0] != "torch":
            self._save_foreign(obj, name, module, qualified)
            return
        self.write(pickle.GLOBAL + f"{module}\n{qualified}\n".encode())
        self.memoize(obj)

    def _save_foreign(self, obj: Any, name: str | None, module: str, qualified: str) -> None:
        """A global of another package, or the error of the pickler written in C."""
        if "<locals>" in qualified:
            raise AttributeError(f"Can't pickle local object '{qualified}'")
        try:
            super().save_global(obj, name)
        except pickle.PicklingError as error:
            if "it's not found as" not in str(error):
                raise
            raise pickle.PicklingError(
                f"Can't pickle {obj!r}: attribute lookup {qualified} on {module} failed"
            ) from None

    dispatch = dict(_Pickler.dispatch)


def _save_type(self: CheckpointPickler, obj: Any) -> None:
    if obj in (type(None), type(NotImplemented), type(...)):
        _Pickler.save_type(self, obj)
    else:
        self.save_global(obj)


CheckpointPickler.dispatch[type] = _save_type
CheckpointPickler.dispatch[type(_save_type)] = CheckpointPickler.save_global


def _persistent_id(references: StorageReferences, obj: Any) -> Any:
    if isinstance(obj, TypedStorage):
        return references.refer(obj.untyped(), obj.dtype)
    return references.refer(obj, uint8) if isinstance(obj, UntypedStorage) else None


def _foreign_pickler(module: Any) -> type:
    """The pickler of another module (dill, cloudpickle), taught to refer to storages."""

    class Pickler(module.Pickler):
        references: StorageReferences

        def persistent_id(self, obj: Any) -> Any:
            """The id of a storage; other objects have none."""
            return _persistent_id(self.references, obj)

        def reducer_override(self, obj: Any) -> Any:
            """Tensors are written as ever, all else as the module does."""
            if isinstance(obj, Tensor):
                return reduce(obj)
            inherited = getattr(super(), "reducer_override", None)
            return NotImplemented if inherited is None else inherited(obj)

    return Pickler


def pickled(obj: Any, module: Any, protocol: int, legacy: bool) -> tuple[bytes, list[tuple[Storage, dtype]]]:
    """The pickle of an object, and the storages that it refers to."""
    buffer = io.BytesIO()
    references = StorageReferences(legacy)
    if module is pickle:
        pickler = CheckpointPickler(buffer, protocol, references)
    else:
        pickler = _foreign_pickler(module)(buffer, protocol=protocol)
        pickler.references = references
    pickler.dump(obj)
    return buffer.getvalue(), references.found

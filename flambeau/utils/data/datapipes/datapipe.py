"""The two kinds of pipes: streams, and maps from keys to samples; operations are chained as methods."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from ..dataset import Dataset, IterableDataset
from .iterating import SnapshotState, checked

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class _Pipe:
    """What both kinds share: operations by name, and hooks into pickling and printing."""

    functions: ClassVar[dict[str, Callable[..., Any]]]
    reduce_ex_hook: ClassVar[Callable[[Any], Any] | None] = None
    getstate_hook: ClassVar[Callable[[Any], Any] | None] = None
    str_hook: ClassVar[Callable[..., str] | None] = None
    repr_hook: ClassVar[Callable[..., str] | None] = None

    def __getattr__(self, attribute_name: str) -> Any:
        function = type(self).functions.get(attribute_name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}")
        bound = functools.partial(function, self)
        functools.update_wrapper(bound, function, assigned=("__doc__",))
        return bound

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Let all pipes have a method."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False
    ) -> None:
        """Let all pipes have a method that makes a pipe of a class from them."""
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )

        def make(source: Any, *args: Any, **kwargs: Any) -> Any:
            return cls_to_register(source, *args, **kwargs)

        function = functools.partial(make)
        functools.update_wrapper(function, cls_to_register, assigned=("__doc__",), updated=())
        cls.functions[function_name] = function

    def __getstate__(self) -> Any:
        return hooked_state(self, self.__dict__)

    def __reduce_ex__(self, *args: Any, **kwargs: Any) -> Any:
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Let a function have the say about the state that is pickled; None ends it."""
        base: Any = cls
        if base.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        base.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Callable[[Any], Any] | None) -> None:
        """Let a function have the say about how pipes are pickled; None ends it."""
        base: Any = cls
        if base.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        base.reduce_ex_hook = hook_fn

    def __repr__(self) -> str:
        return type(self).__qualname__ if self.repr_hook is None else str(self.repr_hook(self))

    def __str__(self) -> str:
        return type(self).__qualname__ if self.str_hook is None else str(self.str_hook(self))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]


def hooked_state(pipe: Any, state: Any) -> Any:
    """The state of a pipe for pickle, once the hook has had its say."""
    hook = type(pipe).getstate_hook
    return state if hook is None else hook(state)


class IterDataPipe(_Pipe, IterableDataset[T_co]):
    """A stream of samples that can be chained with others: a subclass implements ``__iter__``.

    Only the newest iterator of a pipe is valid (Note: one iterator); ``reset``, which a subclass may define,
    runs whenever one begins.

    >>> import flambeau as torch
    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper("a1b23")
    >>> list(pipe.filter(str.isdigit).map(int).batch(2))
    [[1, 2], [3]]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0
    _snapshot_state: SnapshotState = SnapshotState.NotStarted
    _fast_forward_iterator: Iterator[Any] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__iter__" in cls.__dict__:
            cls.__iter__ = checked(cls.__dict__["__iter__"])  # type: ignore[method-assign]

    def __iter__(self) -> Iterator[T_co]:
        return self

    def reset(self) -> None:
        """Go back to the start; called when an iterator begins."""


IterDataPipe.__iter__ = checked(IterDataPipe.__iter__)  # type: ignore[method-assign]


class DFIterDataPipe(IterDataPipe[Any]):
    """A stream of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Pipe, Dataset[T_co]):
    """A map from keys to samples that can be chained with others: a subclass implements ``__getitem__``.

    >>> import flambeau as torch
    >>> pipe = torch.utils.data.datapipes.map.SequenceWrapper("123")
    >>> list(pipe.map(int).batch(2))
    [[1, 2], [3]]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class _SerializationWrapper:
    """A pipe as a DataLoader holds it: pickled by itself, with its length if it has one."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __getstate__(self) -> Any:
        return pickle.dumps(self._datapipe)

    def __setstate__(self, state: Any) -> None:
        self._datapipe = pickle.loads(state)

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_SerializationWrapper, IterDataPipe[Any]):
    def __iter__(self) -> Iterator[Any]:
        yield from self._datapipe


class _MapDataPipeSerializationWrapper(_SerializationWrapper, MapDataPipe[Any]):
    def __getitem__(self, index: Any) -> Any:
        return self._datapipe[index]


class DataChunk(list[T]):
    """A batch of samples: a list that can be asked for what it was made of.

    >>> import flambeau as torch
    >>> torch.utils.data.DataChunk([1, 2]).as_str("  ")
    '  [1, 2]'
    """

    def __init__(self, items: Iterable[T]) -> None:
        found = list(items)
        super().__init__(found)
        self.items = found

    def as_str(self, indent: str = "") -> str:
        """The samples in brackets, indented."""
        return f"{indent}[{', '.join(map(str, iter(self)))}]"

    def __iter__(self) -> Iterator[T]:
        yield from super().__iter__()

    def raw_iterator(self) -> Iterator[T]:
        """The samples as they were given."""
        yield from self.items

"""Lists and dicts in the arguments of nodes: to change one, set the node's arguments anew."""

from __future__ import annotations

from typing import Any, NoReturn

_HELP = ("If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
         "instead create a new copy of it and assign the copy to the node:\n"
         "    new_args = ... # copy and mutate args\n"
         "    node.args = new_args\n")


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(f"'{type(self).__name__}' object does not support mutation. {_HELP}")


class immutable_list(list[Any]):
    """A list that cannot be changed.

    >>> import flambeau as torch
    >>> from flambeau.fx.immutable_collections import immutable_list
    >>> immutable_list([1, 2])
    [1, 2]
    """

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (list(self),)


class immutable_dict(dict[Any, Any]):
    """A dict that cannot be changed.

    >>> import flambeau as torch
    >>> from flambeau.fx.immutable_collections import immutable_dict
    >>> immutable_dict(a=1)
    {'a': 1}
    """

    clear = pop = popitem = update = setdefault = _refuse
    __delitem__ = __ior__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)


__all__ = ["immutable_dict", "immutable_list"]

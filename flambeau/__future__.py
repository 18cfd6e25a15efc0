"""``torch.__future__``: whether converting a module keeps its parameters' identity, and how.

Two switches of the whole process, read by ``Module.to`` and its relatives and by ``load_state_dict``.
"""

_overwrite_module_params_on_conversion = False
_swap_module_params_on_conversion = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether ``Module.to`` puts new parameters into a module, not new data into the old ones."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether ``Module.to`` puts new parameters into a module; False at the start."""
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether ``Module.to`` and ``load_state_dict`` exchange parameters with ``torch.utils.swap_tensors``."""
    global _swap_module_params_on_conversion
    _swap_module_params_on_conversion = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether ``Module.to`` and ``load_state_dict`` exchange parameters; False at the start."""
    return _swap_module_params_on_conversion

"""How a module sees the gradients that enter and leave it during backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ... import operators as ops
from ...autograd import Function, is_grad_enabled
from ...tensor import Tensor

Gradients = tuple[Tensor | None, ...]


class BackwardHookFunction(Function):
    """The identity, with a callback on the gradients that come back through it."""

    _suits_transforms = True

    @staticmethod
    def forward(
        ctx: Any, on_gradients: Callable[[Gradients], Gradients], materialize: bool, *tensors: Tensor
    ) -> Any:
        ctx.on_gradients = on_gradients
        ctx.set_materialize_grads(materialize)
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, *ctx.on_gradients(grads)


def _place(values: Gradients, indices: list[int], length: int) -> Gradients:
    """Put `values` at `indices` of a tuple of that length, None elsewhere."""
    placed: list[Tensor | None] = [None] * length
    for index, value in zip(indices, values, strict=True):
        placed[index] = value
    return tuple(placed)


class BackwardHook:
    """Puts a boundary around the inputs and one around the outputs of one call of a module.

    The gradients of the outputs arrive first and are remembered; when those of the inputs arrive, the user's
    hooks see both. If no input needs a gradient, the hooks run as soon as the first are known.
    """

    def __init__(self, module: Any, user_hooks: list[Any], user_pre_hooks: list[Any]) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: Gradients | None = None
        self.n_inputs = -1
        self.input_indices: list[int] | None = None
        # The inputs that need no gradient, by position: (shape, dtype, device) of the zeros they are shown.
        self.other_inputs: dict[int, tuple[Any, ...]] = {}
        self.n_outputs = -1
        self.output_indices: list[int] = []

    def _wrap(
        self, values: tuple[Any, ...], callback: Any, materialize: bool
    ) -> tuple[Any, list[int] | None]:
        """Pass the tensors that need a gradient through the boundary; return all values and which those
        were."""
        indices = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
        if not indices or not is_grad_enabled():
            return values, None
        wrapped = list(values)
        passed = BackwardHookFunction.apply(callback, materialize, *(values[i] for i in indices))
        for index, tensor in zip(indices, passed, strict=True):
            wrapped[index] = tensor
        return tuple(wrapped), indices

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments with the input boundary in place."""
        self.n_inputs = len(args)
        for i, value in enumerate(args):
            if isinstance(value, Tensor) and not value.requires_grad:
                self.other_inputs[i] = (value.shape, value.dtype, value.device)
        # Inputs that the output does not depend on are shown a zero gradient.
        args, self.input_indices = self._wrap(args, self._on_input_gradients, materialize=True)
        return args

    def setup_output_hook(self, result: Any) -> Any:
        """Return the result with the output boundary in place."""
        values = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(values)
        wrapped, indices = self._wrap(values, self._on_output_gradients, materialize=False)
        self.output_indices = indices or []
        if not isinstance(result, tuple):
            return wrapped[0]
        if type(result) is not tuple and indices is not None:  # a named tuple
            return type(result)(*wrapped)
        return wrapped if indices is not None else result

    def _on_output_gradients(self, grads: Gradients) -> Gradients:
        grad_outputs = _place(grads, self.output_indices, self.n_outputs)
        for hook in self.user_pre_hooks:
            replacement = hook(self.module, grad_outputs)
            if replacement is not None:
                grad_outputs = self._checked(replacement, len(grad_outputs), "pre hook", "grad_output")
        self.grad_outputs = grad_outputs
        if self.input_indices is None:
            self._run_without_inputs(grad_outputs)
        return tuple(grad_outputs[i] for i in self.output_indices)

    def _run_without_inputs(self, grad_outputs: Gradients) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since "
            "no inputs require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details.", stacklevel=5)
        grad_inputs: Gradients = (None,) * self.n_inputs
        for hook in self.user_hooks:
            result = hook(self.module, grad_inputs, grad_outputs)
            if result is not None and not (isinstance(result, tuple) and all(r is None for r in result)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None "
                    "or None for all gradients."
                )
        self.grad_outputs = None

    def _on_input_gradients(self, grads: Gradients) -> Gradients:
        if self.grad_outputs is None:
            raise RuntimeError(
                "Module backward hook for grad_input is called before the grad_output one. This happens "
                "because the gradient in your nn.Module flows to the Module's input without passing through "
                "the Module's output. Make sure that the output depends on the input and that the loss is "
                "computed based on the output."
            )
        indices = self.input_indices or []
        grad_inputs = self._with_zeros(_place(grads, indices, self.n_inputs))
        for hook in self.user_hooks:
            replacement = hook(self.module, grad_inputs, self.grad_outputs)
            if replacement is not None:
                grad_inputs = self._checked(replacement, len(grad_inputs), "hook", "grad_input")
        self.grad_outputs = None
        return tuple(grad_inputs[i] for i in indices)

    def _with_zeros(self, grads: Gradients) -> Gradients:
        """Fill in zeros for the tensors that need no gradient."""
        filled = list(grads)
        for index, (shape, dtype, device) in self.other_inputs.items():
            filled[index] = ops.zeros(shape, dtype=dtype, device=device)
        return tuple(filled)

    @staticmethod
    def _checked(replacement: Any, expected: int, hook: str, name: str) -> Gradients:
        gradients = replacement if isinstance(replacement, tuple) else (replacement,)
        if len(gradients) != expected:
            raise RuntimeError(
                f"Backward {hook} returned an invalid number of {name}, got {len(gradients)}, but expected "
                f"{expected}"
            )
        return gradients


def warn_if_not_single_node(args: Any, result: Any, grad_fn: Any) -> None:
    """Warn that a hook of the older kind will miss gradients when the forward was more than one operation."""
    results = result if isinstance(result, tuple) else (result,)
    inputs = args if isinstance(args, tuple) else (args,)
    if not all(isinstance(value, Tensor) for value in (*results, *inputs)):
        warnings.warn(
            "Using non-full backward hooks on a Module that does not take as input and return as output a "
            "single Tensor or a tuple of Tensors is deprecated and will be removed in future versions. This "
            "hook will be missing some of the grad_input. Please use register_full_backward_hook to get the "
            "documented behavior.",
            FutureWarning,
            stacklevel=6,
        )
        return
    reached = {function for function, _ in grad_fn.next_functions}
    wanted = {tensor.grad_fn for tensor in inputs if tensor.grad_fn is not None}
    if len(results) > 1 or not wanted <= reached:
        warnings.warn(
            "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated "
            "and will be removed in future versions. This hook will be missing some grad_input. Please use "
            "register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=6,
        )

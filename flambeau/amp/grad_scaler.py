"""``GradScaler``: scaling the loss so that small gradients survive in float16 (Micikevicius et al. 2018)."""

from __future__ import annotations

import enum
import warnings
from typing import Any

from ..operators import NAMESPACES
from ..tensor import Tensor


class OptState(enum.Enum):
    """How far one optimizer has come since the last update of the scale."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scale losses, unscale gradients, skip steps whose gradients are not finite, and adapt the scale.

    >>> import flambeau as torch
    >>> p = torch.ones(1, requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([p], lr=1.0), torch.amp.GradScaler('cpu', init_scale=4.0)
    >>> scaler.scale(p.sum() * 0.5).backward(); p.grad
    tensor([2.])
    >>> scaler.step(optimizer); scaler.update(); p.detach()
    tensor([0.5000])
    """

    def __init__(self, device: str = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda":
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  "
                          "Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._scale = float(init_scale)
        self._used = False
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._found_inf: dict[int, bool] = {}   # id of an optimizer -> whether its gradients were not finite
        self._stepped: set[int] = set()

    def _get_growth_tracker(self) -> int:
        """Steps without infinite gradients since the scale last changed."""
        return self._growth_tracker if self._enabled else 0

    def scale(self, outputs: Any) -> Any:
        """A loss (or a nest of them) times the scale.

        >>> import flambeau as torch
        >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale(torch.tensor(0.5)), scaler.scale([torch.tensor(1.0)])
        (tensor(4.), [tensor(8.)])
        """
        if not self._enabled:
            return outputs
        self._used = True
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(x) for x in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale; note whether all are finite.

        Call it before clipping gradients; a second call before ``update`` raises a RuntimeError.

        >>> import flambeau as torch
        >>> w = torch.ones(2, requires_grad=True)
        >>> optimizer, scaler = torch.optim.SGD([w], lr=0.1), torch.amp.GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale(w.sum()).backward(); w.grad
        tensor([8., 8.])
        >>> scaler.unscale_(optimizer); w.grad
        tensor([1., 1.])
        """
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._found_inf:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last "
                               "update().")
        self._require_use("unscale_")
        isfinite = NAMESPACES["torch"]["isfinite"]
        finite: Any = None
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.grad.mul_(1.0 / self._scale)
                good = isfinite(p.grad).all()
                finite = good if finite is None else finite & good
        if finite is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        self._found_inf[id(optimizer)] = not bool(finite)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step()``, skipped if the gradients are not finite.

        >>> import flambeau as torch
        >>> w = torch.ones(1, requires_grad=True)
        >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu")
        >>> scaler.scale(w.sum() * float("inf")).backward()
        >>> scaler.step(optimizer); w
        tensor([1.], requires_grad=True)
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        self._require_use("step")
        if id(optimizer) not in self._found_inf:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return None if self._found_inf[id(optimizer)] else optimizer.step(*args, **kwargs)

    def _require_use(self, action: str) -> None:
        if not self._used:
            raise AssertionError(f"Attempted {action} but _scale is None.  This may indicate your script did "
                                 "not use scaler.scale(loss or outputs) earlier in the iteration.")

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale: back off after gradients that were not finite, grow after many that were.

        >>> import flambeau as torch
        >>> w = torch.ones(1, requires_grad=True)
        >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale(w.sum() * float("inf")).backward()
        >>> scaler.step(optimizer); scaler.update(); scaler.get_scale()
        4.0
        """
        if not self._enabled:
            return
        self._require_use("update")
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._found_inf:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(self._found_inf.values()):
                self._scale *= self._backoff_factor
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale *= self._growth_factor
                    self._growth_tracker = 0
        self._found_inf.clear()
        self._stepped.clear()

    def get_scale(self) -> float:
        """The scale in force, 1 when disabled.

        >>> import flambeau as torch
        >>> torch.amp.GradScaler("cpu").get_scale(), torch.amp.GradScaler("cpu", enabled=False).get_scale()
        (65536.0, 1.0)
        """
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether losses are scaled.

        >>> import flambeau as torch
        >>> torch.amp.GradScaler("cpu", enabled=False).is_enabled()
        False
        """
        return self._enabled

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it adapts; empty when disabled.

        >>> import flambeau as torch
        >>> state = torch.amp.GradScaler("cpu", init_scale=8.0).state_dict()
        >>> state["scale"], state["growth_factor"], state["growth_interval"]
        (8.0, 2.0, 2000)
        """
        if not self._enabled:
            return {}
        return {"scale": self._scale, "growth_factor": self._growth_factor,
                "backoff_factor": self._backoff_factor, "growth_interval": self._growth_interval,
                "_growth_tracker": self._growth_tracker}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a ``state_dict``.

        >>> import flambeau as torch
        >>> scaler = torch.amp.GradScaler("cpu")
        >>> scaler.load_state_dict(torch.amp.GradScaler("cpu", init_scale=8.0).state_dict())
        >>> scaler.get_scale()
        8.0
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a "
                               "disabled instance of GradScaler.")
        self._scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]

"""``torch.func``: functions of functions (gradients, Jacobians, vectorization) and of modules."""

from .derivatives import grad, grad_and_value, vjp
from .jacobians import hessian, jacfwd, jacrev, jvp
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .vectorization import vmap

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]

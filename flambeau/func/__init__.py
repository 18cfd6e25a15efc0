"""``torch.func``: functions of functions (gradients, Jacobians, vectorization) and of modules."""

from .derivatives import grad, grad_and_value, vjp
from .jacobians import hessian, jacfwd, jacrev, jvp
from .linearization import debug_unwrap, functionalize, linearize
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .rearrangement import rearrange
from .vectorization import vmap

__all__ = ["debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd",
           "jacrev", "jvp", "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state",
           "vjp", "vmap"]

"""Which functions want ``out=`` to have the result's very type, and what PyTorch says where it has not.

Others convert what they write. In a message ``{result}`` and ``{out}`` are the types' names in C++,
``{Result}`` and ``{Out}`` those of tensors.
"""

from __future__ import annotations

from .. import dtypes

_HAVE = "Expected out tensor to have dtype {result}, but got {out} instead"
_FOUND = "Found dtype {Out} but expected {Result}"
_MATCH = ("Expected the dtype for input and out to match, but got {Result} for input's dtype and {Out} for "
          "out's dtype.")
_OBJECT = "Expected object of scalar type {Result} but got scalar type {Out} for argument 'out'"
_SCALAR_TYPE = "expected scalar_type {Result} but found {Out}"
_PLACES = ("torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) "
           "depending on whether out_int32 flag is True, but we got output tensor's dtype {Out} and "
           "out_int32 flag is {is_int}")
_DOT = "result dtype {Out} does not match input dtype {Result}"

_EXACT = """
    addmm addmv alias_copy aminmax argmax argmin as_strided_copy avg_pool2d avg_pool3d baddbmm bmm
    cholesky_ex cross det diag diagonal_copy eigh eigvalsh expand_copy gather index_add
    index_copy index_reduce inv inv_ex isin ldl_factor ldl_factor_ex ldl_solve linear log_softmax lu
    lu_factor lu_factor_ex lu_solve lu_unpack matmul mm msort norm permute_copy qr renorm scatter
    scatter_add scatter_reduce slice_scatter slogdet softmax solve solve_ex sort split_with_sizes_copy
    squeeze_copy svd svdvals t_copy take_along_dim topk transpose_copy triangular_solve tril triu
    unbind_copy unfold_copy unsqueeze_copy vector_norm view_copy
""".split()
# Pointwise functions of one operand that leave no conversion to their loop.
_UNCONVERTED = """
    abs bitwise_not ceil conj_physical floor frac gelu hardshrink neg round sgn sign softplus softshrink trunc
""".split()
_WRONG: dict[str, str] = {
    **dict.fromkeys(_EXACT, _HAVE), **dict.fromkeys(_UNCONVERTED, _FOUND),
    **dict.fromkeys(("amax", "amin"), _MATCH), **dict.fromkeys(("complex", "polar"), _OBJECT),
    **dict.fromkeys(("cummax", "cummin", "diff", "logcumsumexp"), _SCALAR_TYPE),
    **dict.fromkeys(("dot", "vdot"), _DOT),
    **dict.fromkeys(("quantile", "nanquantile"),
                    "{name}() out tensor must be same dtype as the input tensor"),
    **dict.fromkeys(("isneginf", "isposinf", "signbit"), "{name} does not support non-boolean outputs."),
    **dict.fromkeys(("index_select", "masked_select"),
                    "{name}(): self and result must have the same scalar type"),
    **dict.fromkeys(("inner", "tensordot"), "tensordot: Expected the output tensor to have dtype {Result}, "
                    "but got an output tensor with dtype {Out}"),
    "histc": "torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
             "{result} and hist {out}",
    "max of a dimension": _HAVE, "min of a dimension": _HAVE,
    "multi_dot": "multi_dot(): expected out tensor to have dtype {result} but got {out}",
    "multinomial": "multinomial expects Long tensor out, got: {Out}",
    "mv": "addmv input tensors must have the same dtype, but got {Out}, {Result}, and {Result}",
    "nan_to_num": "nan_to_num: dtype of out: {Out} should be same as input: {Result}",
    "nonzero": "nonzero: Expected out tensor to have scalar type Long but got scalar type{Out}",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {Result} and "
            "out.dtype = {Out}",
    "hash_tensor": "Expected result to be of dtype uint64, but got {Out}",
    "logsigmoid": "expected scalar type {Result} but found {Out}",
    "matrix_norm": "linalg.matrix_norm expected out tensor dtype {Result} but got: {Out}",
    "ormqr": "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{Result} and "
             "result has dtype {Out}",
    **dict.fromkeys(("bucketize", "searchsorted"), _PLACES),
    "solve_triangular": "expected scalar type {Result} but found {Out}",
    "vecdot": "linalg.vecdot: Expected out of dtype{Result} but found {Out}",
    "where": "Expected out type to be {Result} but got {Out}",
}


def require(name: str, result: dtypes.dtype, out: dtypes.dtype) -> None:
    """PyTorch's error where a function may not write its result to a tensor of another type."""
    if result is out:
        return
    if name in ("all", "any"):
        if out is not dtypes.uint8:
            raise RuntimeError(f"{name} only supports bool tensor for result, got: "
                               f"{dtypes.SCALAR_NAMES[out]}")
        return
    message = _WRONG.get(name)
    if message is not None:
        raise RuntimeError(message.format(
            name=name, result=dtypes.c_name(result), out=dtypes.c_name(out),
            is_int=result is dtypes.int32, Result=dtypes.SCALAR_NAMES[result], Out=dtypes.SCALAR_NAMES[out]))

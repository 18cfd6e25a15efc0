"""Expressions on sparse tensors, and how their outcomes are written down."""

from __future__ import annotations

import io
import re
import warnings
from types import ModuleType
from typing import Any

# Run before each expression.
SETUP = """
i = torch.tensor([[0, 1, 1], [2, 0, 2]])
v = torch.tensor([3., 4., 5.])
s = torch.sparse_coo_tensor(i, v, (2, 3))
u = torch.sparse_coo_tensor(torch.tensor([[1, 0, 1], [0, 1, 0]]), torch.tensor([1., 2., 3.]), (2, 3))
c, e = s.coalesce(), u.coalesce()
h = torch.sparse_coo_tensor(torch.tensor([[1, 0, 1]]), torch.arange(6.).reshape(3, 2), (3, 2))
r = torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.], (2, 3))
m = torch.tensor([[1., 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 3, 4]])
b, g = m.to_sparse_bsr((2, 2)), torch.stack([m, m.t()]).to_sparse_csr()
d, w = torch.arange(6.).reshape(2, 3), torch.arange(12.).reshape(3, 4)
"""

MAKING = """
torch._convert_indices_from_coo_to_csr(i[0], 3) | torch._convert_indices_from_coo_to_csr(i[0][:0], 2)
torch._convert_indices_from_coo_to_csr(i[0].int(), 3, out_int32=True)
torch._convert_indices_from_coo_to_csr(i, 3)
torch._convert_indices_from_coo_to_csr(v, 3) | torch._convert_indices_from_coo_to_csr(i[0].int(), 3).dtype
torch._convert_indices_from_csr_to_coo(r.crow_indices(), r.col_indices())
torch._convert_indices_from_csr_to_coo(r.crow_indices(), r.col_indices(), transpose=True, out_int32=True)
torch._convert_indices_from_csr_to_coo(g.crow_indices(), g.col_indices())
s | u.coalesce() | h | h.coalesce() | s.shape, s.layout, s.is_sparse, s.dim(), s.numel(), s.stride(), len(s)
u.is_coalesced(), u.coalesce().is_coalesced(), u._nnz(), e._nnz(), h.sparse_dim(), h.dense_dim()
u.indices() | u.values() | u._indices() | u._values() | e.indices().stride() | c.values()
torch.sparse_coo_tensor((2, 3)) | torch.sparse_coo_tensor(size=(2, 3))
torch.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2])
torch.sparse_coo_tensor([[0]], [1.], (2,)).is_coalesced()
torch.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2], dtype=torch.float64, requires_grad=True)
torch.sparse_coo_tensor([[0, -1], [1, 0]], [1, 2])
torch.sparse_coo_tensor([[0, 5], [1, 0]], [1, 2], (2, 2)) | torch.sparse_coo_tensor([0, 1], [1, 2.], (2,))
torch.sparse_coo_tensor([[0, 1]], [1, 2.], (2, 2)) | torch.sparse_coo_tensor([[0, 1, 1]], [1, 2.], (2,))
torch.sparse_coo_tensor([[0., 1]], [1, 2.], (2,))
torch.sparse_coo_tensor([[0, 3]], [1., 2.], (3,), check_invariants=True)
torch.sparse_coo_tensor([[1, 0], [1, 0]], [1, 2], (2, 2), is_coalesced=True, check_invariants=True)
torch.sparse_coo_tensor(i, v.bfloat16(), (2, 3))
torch.sparse_coo_tensor(torch.zeros(0, 2).long(), torch.ones(2), ())
torch.zeros(2, 3, layout=torch.sparse_coo) | torch.ones(2, 3, layout=torch.sparse_coo)
torch.zeros(2, 3, layout=torch.sparse_csr) | torch.zeros_like(s) | s.new_zeros(2) | r
r.layout, r.is_sparse, r.is_sparse_csr, r._nnz() | r.crow_indices() | r.col_indices() | r.values() | r.t()
torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.])
torch.sparse_csc_tensor([0, 1, 1, 3], [1, 0, 1], v, (2, 3))
torch.sparse_csr_tensor([0, 1, 4], [2, 0, 2], [3., 4., 5.], (2, 3), check_invariants=True)
torch.sparse_compressed_tensor([0, 1, 3], [2, 0, 2], v, (2, 3), layout=torch.sparse_csr)
"""

CONVERTING = """
s.to_dense() | h.to_dense() | r.to_dense() | d.to_sparse() | d.to_sparse(1) | d.to_sparse(3)
torch.tensor(3.).to_sparse() | d.to_sparse().is_coalesced(), d.to_sparse()._indices().stride()
torch.zeros(2, 0).to_sparse() | s.to_sparse() is s | r.to_sparse() | r.to_sparse().is_coalesced()
torch.eye(3).to_sparse_csr() | u.to_sparse_csr() | r.to_sparse_csc() | d.to_dense() is d | s.double()
s.to(torch.float64) | s.cpu() is s | s.float() is s | s.bool() | r.double() | s.to("meta")
s.sparse_mask(u) | d.sparse_mask(e) | d.sparse_mask(u) | s.clone() | s.detach() | s.copy_(u)
d.is_coalesced() | d.indices() | d.values() | d.coalesce() | d._nnz() | d.sparse_dim(), d.dense_dim()
d.crow_indices() | r.is_coalesced() | r.coalesce() | s.numpy() | r.numpy() | s.data_ptr() | s.storage()
s.nbytes | s.item() | s.tolist() | s.type() | bool(s) | r.stride()
"""

ARITHMETIC = """
s + s | (s + s).is_coalesced() | (c + c).is_coalesced() | s + u | c + e | c + u | s + e
torch.add(s, u, alpha=2) | s - u | c - e | d + s | d - s | torch.add(d, s, alpha=3) | s + d | s + 1 | r + r
torch.ones(2, 3) + r | d.add_(s, alpha=2) | d.sub_(s) | d.add_(h) | s.add_(u) | s.mul_(2) | s.zero_()
s.zero_().is_coalesced() | -s | s * 2 | 2 * s | s / 2 | s.div(d) | s * u | s * s | c * e
(c * e).is_coalesced() | s * e | c * u | s * d | d * s | torch.ones(3) * s | r * 2 | r * r | -r
s.int() * 2.5 | c * torch.tensor(2) | s ** 2 | s.pow(0) | u.sqrt() | u.sqrt().is_coalesced() | s.sin()
s.abs() | s.relu() | u.isnan() | s.norm() | s.any() | torch.nn.functional.relu(u) | torch.exp(s) | s.max()
s == s | torch.dot(s, s) | r.abs()
"""

STRUCTURE = """
s.t() | c.t().is_coalesced() | s.transpose(0, 1)._indices().stride() | s.permute(1, 0) | s.permute(1)
h.t() | s.unsqueeze(0) | c.unsqueeze(0).is_coalesced() | h.unsqueeze(2) | torch.cat([s, u])
torch.cat([s, u], 1) | torch.stack([s, u]) | s[0] | s[0].is_coalesced() | s[0, 2] | s[:, 1] | h[1] | h[:, 1]
s[5] | r[0] | s[None] | s.sum(0, keepdim=True) | torch.floor_divide(c, 2)
u.index_select(1, torch.tensor([2, 0])) | c.index_select(0, torch.tensor([1, 0, 1])) | s.reshape(3, 2)
s.view(3, 2) | s.expand(2, 2, 3)
s.mT | s.T | s.H | s.adjoint() | s.movedim(0, 1) | torch.stack([s, u]).mT | torch.stack([s, u]).T
torch.stack([s, u]).t() | torch.stack([s, u]).H | torch.stack([s, u]).mH.is_coalesced() | s[0].mT | s[0].T
torch.stack([s, u]).moveaxis(0, -1) | h.mT | h.T | h.transpose(0, 1) | h.transpose(1, 2) | h.permute(1, 0, 2)
s.permute(0, 0) | r.T | r.mT | r.adjoint() | r.permute(1, 0) | torch.tensor(3.).to_sparse().mH
"""

PRODUCTS = """
s @ w | w.t() @ s.t() | torch.mm(s, w) | torch.sparse.mm(s, w) | torch.spmm(s, w) | s @ torch.arange(3.)
torch.mv(s, torch.arange(3.)) | s @ s.t() | torch.sparse.mm(c, c.t()) | torch.addmm(torch.ones(2, 4), s, w)
torch.sparse.addmm(torch.ones(2, 4), s, w, beta=2, alpha=3) | r @ w | r.matmul(w) | torch.sparse.mm(r, w)
r @ torch.ones(3) | torch.addmm(torch.ones(2, 4), r, w) | torch.sparse.mm(r, torch.eye(3).to_sparse_csr())
w.t() @ r.t() | torch.bmm(torch.stack([s, u]), torch.stack([w, w])) | torch.matmul(s, torch.ones(2, 3, 4))
s @ torch.ones(4, 3) | s @ torch.ones(3, 2).double() | s @ torch.ones(3, 2).long()
torch.nn.functional.linear(torch.ones(1, 3), s) | torch.sparse.mm(s.bfloat16(), w.bfloat16())
torch.sparse.sampled_addmm(r, torch.ones(2, 4), torch.ones(4, 3))
torch.sparse.mm(r, w, 'sum') | torch.sparse.mm(r, w, 'mean') | torch.sparse.mm(r, w, 'amax')
torch.sparse.mm(r, -w, 'min') | torch.sparse.mm(torch.zeros(2, 3).to_sparse_csr(), w, 'max')
torch.sparse.mm(r, w, 'prod') | torch.sparse.mm(r, w, 'x') | torch.sparse.mm(r, w, None)
torch.sparse.mm(s, w, 'sum') | torch.sparse.mm(r, w.double(), 'sum') | torch.sparse.mm(r, w.t(), 'sum')
torch.sparse.mm(r, r, 'sum') | torch.sparse.mm(r.to_sparse_csc(), w, 'sum')
"""

REDUCING = """
s.sum() | s.sum(0) | torch.sparse.sum(s) | torch.sparse.sum(s, 0) | torch.sparse.sum(s, dim=1)
torch.sparse.sum(h, dim=1) | torch.sparse.sum(h, dim=0) | torch.sparse.sum(s, dim=[0, 1])
torch.sparse.sum(s, dtype=torch.float64) | r.sum() | torch.sparse.sum(r) | torch.sparse.softmax(s, 1)
torch.sparse.log_softmax(s, 0) | torch.sparse.softmax(h, 0) | torch.sparse.softmax(h, 1)
torch.sparse.softmax(c, 0)
"""

BLOCKS = """
b | b.transpose(0, 1) | b.crow_indices() | b.col_indices() | b.values() | b.to_dense() | b.t() | b * 2 | -b
b.sin()
b.layout, b.shape, b._nnz(), b.sparse_dim(), b.dense_dim(), b.is_sparse, b.is_sparse_csr, b.values().shape
m.to_sparse_bsc((2, 2)) | m.to_sparse_bsc((2, 2)).ccol_indices() | m.to_sparse_bsc((2, 2)).row_indices()
m.to_sparse_bsc((2, 1)).to_dense() | m.to_sparse_bsr((1, 4)) | b.to_sparse() | b.to_sparse_bsc((2, 2))
torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.arange(8.).reshape(2, 2, 2))
torch.sparse_bsr_tensor([0, 1, 2], [1, 0], torch.arange(8.).reshape(2, 2, 2), (4, 6)).to_dense()
torch.sparse_bsc_tensor([0, 1, 2], [0, 1], torch.arange(12.).reshape(2, 3, 2), (6, 4)).to_dense()
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], torch.arange(8.).reshape(2, 2, 2), layout=torch.sparse_bsr)
m.to_sparse(layout=torch.sparse_bsr, blocksize=(2, 2)) | m.to_sparse(layout=torch.sparse_bsr)
m.to_sparse_bsr((3, 2)) | b.to_sparse_csr() | b.to_sparse_csc() | b.to_sparse_bsr((1, 1))
m.to_sparse_csr().to_sparse_bsr((2, 2)) | b @ m | b @ m[0] | b.mm(m) | torch.addmm(m, b, m) | b.sum() | b + b
b.double() | b.clone() | torch.nn.functional.linear(m, b) | b.coalesce() | b.indices() | torch.zeros_like(b)
torch.zeros((4, 4), layout=torch.sparse_bsr) | g | g.to_sparse_csc() | g.to_dense() | g.to_sparse() | g * 2
g[0]
g.crow_indices(), g.col_indices(), g.values(), g._nnz(), g.sparse_dim(), g.dense_dim() | g.select(0, 1)
torch.stack([m, m + torch.eye(4)]).to_sparse_csr() | torch.stack([m, m.t()]).to_sparse_bsr((2, 2))
torch.stack([m, m.t()]).to_sparse_bsr((2, 2)).to_dense()
torch.arange(12.).reshape(2, 2, 3).to_sparse_csr(dense_dim=1)
torch.sparse_csr_tensor([[0, 1, 2], [0, 1, 2]], [[0, 1], [1, 0]], [[1., 2.], [3., 4.]], (2, 2, 2)).to_dense()
torch.sparse_csr_tensor([[0, 1, 2], [0, 1, 2]], [[0, 1], [1, 0]], [[1., 2.], [3., 4.]]).shape
torch.sparse_csr_tensor([0, 1, 2], [0, 1], torch.arange(6.).reshape(2, 3)).to_dense()
torch.sparse_bsr_tensor([0, 1, 3], [0, 1], torch.ones(2, 2, 2), (4, 4), check_invariants=True)
torch.sparse_csr_tensor([[0, 1], [0, 1]], [[0], [1]], torch.ones(2, 1), (2, 1, 2), check_invariants=True)
"""

OLDER = """
torch.hspmm(s, w) | torch.smm(s, w) | torch.sspaddmm(torch.zeros(2, 4).to_sparse(), s, w) | s.smm(w)
torch.sspaddmm(torch.eye(4)[:2].to_sparse(), s, w, beta=2, alpha=3)
torch.hspmm(torch.eye(4), w) | torch.hspmm(torch.eye(2).to_sparse(), torch.ones(2, 3)).is_coalesced()
torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 3)).is_coalesced()
torch.saddmm(torch.eye(4)[:2].to_sparse(), s, w)
torch.crow_indices_copy(r) | torch.col_indices_copy(r) | torch.values_copy(r) | torch.row_indices_copy(r.t())
torch.resize_as_sparse_(torch.zeros(1, 1).to_sparse(), c) | c.clone().sparse_resize_((4, 5), 2, 0)
c.clone().sparse_resize_((2, 3, 4), 2, 1) | c.clone().sparse_resize_((2, 2), 2, 0)
c.clone().sparse_resize_and_clear_((2, 2), 1, 1) | torch.zeros(2, 3).to_sparse().sparse_resize_((2, 2), 1, 1)
"""

CLOSE = """
torch.testing.assert_close(b, b.clone()) | torch.testing.assert_close(s, s * 2)
torch.testing.assert_close(r, r * 2)
torch.testing.assert_close(c, d) | torch.testing.assert_close(c, c.to_dense(), check_layout=False)
torch.testing.assert_close(c, e) | torch.testing.assert_close(b, torch.eye(4).to_sparse_bsr((2, 2)))
torch.testing.assert_close(s, s.coalesce())
torch.testing.assert_close(m.to_sparse(), torch.eye(4).to_sparse())
torch.testing.assert_close(m.to_sparse_csr(), torch.eye(4).to_sparse_csr())
"""

EXPRESSIONS = [one.strip() for table in (MAKING, CONVERTING, ARITHMETIC, STRUCTURE, PRODUCTS, REDUCING,
                                         BLOCKS, OLDER,
                                         CLOSE)
               for line in table.strip().splitlines() for one in line.split(" | ")]

# Programs that set ``result``: gradients (their layout is told apart where PyTorch's is sparse, too).
LEAF = "s = torch.sparse_coo_tensor(i, v, (2, 3), requires_grad=True)\n"
VALUES = "v.requires_grad_()\ns = torch.sparse_coo_tensor(i, v, (2, 3))\n"
GRADIENTS = {
    "reduced mm": "v = torch.arange(16.).reshape(4, 4)\n"
            "r = (v % 3 - v % 2).to_sparse_csr().requires_grad_()\n"
            "w = torch.sin(v[:, :2] + 1).requires_grad_()\nhow = 'sum', 'mean', 'amax', 'amin'\n"
            "parts = [torch.sparse.mm(r, w, name) for name in how]\n"
            "(torch.stack(parts) * torch.arange(32.).reshape(4, 4, 2)).sum().backward()\n"
            "result = [x.mul(10).round() for x in (*parts, r.grad.values(), w.grad)]",
    "blocks": "v = torch.arange(8.).reshape(2, 2, 2).requires_grad_()\n"
            "o = torch.sparse_bsr_tensor([0, 1, 2], [0, 1], v, (4, 4)).to_dense()\n"
            "(o * torch.arange(16.).reshape(4, 4)).sum().backward()\nresult = o, v.grad",
    "mm": VALUES + "w.requires_grad_()\n(s @ w).pow(2).sum().backward()\nresult = s, s @ w, v.grad, w.grad",
    "mm of a leaf": LEAF + "o = torch.sparse.mm(s, w)\n(o * o).sum().backward()\nresult = s, o, s.grad",
    "to_dense": LEAF + "o = s.to_dense()\no.sum().backward()\nresult = o, s.grad",
    "coalesce": LEAF + "o = s.coalesce().values()\no.pow(2).sum().backward()\n"
            "result = s.coalesce(), o, s.grad",
    "sum": LEAF + "torch.sparse.sum(s, 0).to_dense().pow(2).sum().backward()\n"
            "result = torch.sparse.sum(s), s.grad",
    "mul": LEAF + "o = s * 2\ntorch.sparse.sum(o * o.detach()).backward()\nresult = o, s.grad",
    "mul dense": VALUES + "o = s * d\ntorch.sparse.sum(o).backward()\nresult = o, v.grad",
    "mul sparse": VALUES + "o = s * c\ntorch.sparse.sum(o).backward()\nresult = o, v.grad",
    "neg and add": VALUES + "o = -s + s * 3\ntorch.sparse.sum(o * o).backward()\nresult = -s, o, v.grad",
    "add dense": VALUES + "d.requires_grad_()\no = d + s\no.pow(2).sum().backward()\n"
            "result = o, d.grad, v.grad",
    "softmax": LEAF + "o = torch.sparse.softmax(s, 1)\ntorch.sparse.sum(o * c).backward()\n"
            "result = o, s.grad",
    "t": VALUES + "o = s.t()\n(o @ torch.ones(2, 2)).pow(2).sum().backward()\nresult = o, v.grad",
    "sparse by sparse": VALUES + "o = torch.sparse.mm(s, s.t())\ntorch.sparse.sum(o).backward()\n"
            "result = o, v.grad",
    "addmm": VALUES + "b = torch.ones(2, 4, requires_grad=True)\no = torch.addmm(b, s, w, beta=2, alpha=3)\n"
             "o.sum().backward()\nresult = o, b.grad, v.grad, torch.sparse.addmm(b, s, w)",
    "to_sparse": "d.requires_grad_()\no = d.to_sparse()\ntorch.sparse.sum(o * o.detach()).backward()\n"
            "result = o, d.grad",
    "sparse_mask": "d.requires_grad_()\no = d.sparse_mask(c)\ntorch.sparse.sum(o).backward()\n"
            "result = o, d.grad",
    "csr": "v.requires_grad_()\nw.requires_grad_()\n"
            "o = torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3))\n"
           "(o @ w).pow(2).sum().backward()\nresult = o, o @ w, v.grad, w.grad",
    "autograd.grad": LEAF + "result = torch.autograd.grad(torch.sparse.mm(s, w).sum(), s)",
    "mv": VALUES + "o = s @ torch.arange(3.)\no.pow(2).sum().backward()\nresult = o, v.grad",
    "a sparse parameter": "p = torch.nn.Parameter(c)\ntorch.sparse.mm(p, torch.ones(3, 2)).sum().backward()\n"
            "torch.optim.SGD([p], 0.1).step()\nresult = p, p.grad, isinstance(p, torch.nn.Parameter)",
    "a leaf written": LEAF + "s.mul_(2)",
    "a leaf written without recording": LEAF + "with torch.no_grad():\n    s.mul_(2)\nresult = s",
    "a gradient zeroed": LEAF + "torch.sparse.sum(s * 2).backward()\ns.grad.zero_()\n"
            "torch.sparse.sum(s * 3).backward()\nresult = s.grad.to_dense()",
    "a hook": LEAF + "s.register_hook(lambda g: g * 2)\ntorch.sparse.mm(s, w).sum().backward()\n"
            "result = s.grad",
}

_TABLE = ("W = torch.nn.Parameter(torch.arange(8.).reshape(4, 2))\nF = torch.nn.functional\n"
          "x = torch.tensor([[1, 2], [1, 0]])\n")
EMBEDDINGS = {
    "gradient": _TABLE + "F.embedding(x, W, sparse=True).pow(2).sum().backward()\n"
            "result = W.grad, W.grad.is_coalesced()",
    "accumulated": _TABLE + "for y in (x, torch.tensor([3]), x):\n"
            "    F.embedding(y, W, sparse=True).sum().backward()\n"
                   "result = W.grad",
    "dense after sparse": _TABLE + "F.embedding(x, W, sparse=True).sum().backward()\ng = W.grad\n"
                          "F.embedding(x, W).sum().backward()\nresult = W.grad, W.grad is g",
    "sparse after dense": _TABLE + "F.embedding(x, W).sum().backward()\ng = W.grad\n"
                          "F.embedding(x, W, sparse=True).sum().backward()\nresult = W.grad, W.grad is g",
    "padding": _TABLE + "F.embedding(x, W, sparse=True, padding_idx=1).sum().backward()\nresult = W.grad",
    "frequency": _TABLE + "F.embedding(x, W, sparse=True, scale_grad_by_freq=True).sum().backward()",
    "several uses": _TABLE + "(F.embedding(x, W, sparse=True) + F.embedding(x, W, sparse=True)\n"
                    " + F.embedding(x, W)).sum().backward()\nresult = W.grad",
    "of a product": _TABLE + "F.embedding(x, W * 2, sparse=True).sum().backward()\nresult = W.grad",
    "bag": _TABLE + "F.embedding_bag(x, W, sparse=True, mode='mean').sum().backward()\nresult = W.grad",
    "bag of maxima": _TABLE + "F.embedding_bag(x, W, sparse=True, mode='max')",
    "zeroed": _TABLE + "F.embedding(x, W, sparse=True).sum().backward()\n"
              "torch.optim.SGD([W], 1.).zero_grad(set_to_none=False)\nresult = W.grad",
}


def _written(x: Any) -> str:
    return f"({', '.join(map(_written, x))})" if isinstance(x, (tuple, list)) else repr(x)


def outcome(torch: ModuleType, program: str) -> str:
    """What a program gives, as text: an expression's value, ``result``, or the error."""
    names: dict[str, Any] = {"torch": torch, "io": io}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(SETUP, names)
        try:
            if "\n" not in program:
                return _written(eval(program, names))
            exec(program, names)
            return _written(names["result"])
        except Exception as error:
            # Not which kernel is missing under what name, nor how to build PyTorch.
            text = re.sub(r"Could not run 'aten::[^']*'", "Could not run it", str(error).split("\n")[0])
            return f"{type(error).__name__}: {text.partition(' This could be because')[0]}"

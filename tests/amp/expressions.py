"""Expressions by the type of their result under ``autocast("cpu")``."""

from __future__ import annotations

from types import ModuleType
from typing import Any

# What the expressions speak of: a, a3, ... in float32, b, b3, ... in bfloat16.
SETUP = """
F = torch.nn.functional
torch.manual_seed(0)
a = torch.rand(4, 4) + 4 * torch.eye(4)
b, v, t = a.bfloat16(), a[0], torch.tensor([0, 1, 2, 3])
w = b[0]
a3, b3, a4, b4 = a[None], b[None], a[None, None], b[None, None]
a5, b5 = a4[None], b4[None]
"""
TYPES: dict[str, str] = {}
TYPES["bfloat16"] = """
a@a ; a@b ; a@v ; v@a ; v@v ; a3@a3 ; a3@a ; a3@v ; torch.mm(a,a) ; torch.bmm(a3,a3) ; torch.addmm(a,a,a)
torch.addmm(b,a,a) ; torch.addbmm(a,a3,a3) ; torch.baddbmm(a3,a3,a3) ; torch.chain_matmul(a,a,a)
torch.linalg.multi_dot([a,a,a]) ; torch.linalg.matrix_power(a,3) ; torch.linalg.vecdot(a,a)
torch.inner(a,a) ; torch.tensordot(a,a,1) ; torch.einsum('ij,jk->ik',a,a) ; torch.einsum('ij,ij->i',a,a)
F.linear(a,a) ; F.linear(a,a,v) ; F.linear(a3,a,v) ; F.linear(b,a,w) ; F.linear(v,a,v) ; F.conv1d(a3,a3)
F.conv2d(a4,a4) ; F.conv3d(a5,a5) ; F.conv_transpose2d(a4,a4) ; F.conv_transpose3d(a5,a5)
torch.conv_tbc(a3,a3,v) ; F.conv1d(a3,a3,padding='same') ; F.prelu(a,torch.ones(1))
F.prelu(b,torch.ones(1)) ; F.scaled_dot_product_attention(a4,a4,a4)
F.scaled_dot_product_attention(b4,a4,a4) ; F.scaled_dot_product_attention(a4,a4,a4,attn_mask=a)
F.scaled_dot_product_attention(a4,a4,a4,attn_mask=a>4) ; torch.nn.LSTM(4,4)(a)[0]
torch.nn.LSTM(4,4)(a)[1][1] ; torch.nn.RNN(4,4)(a)[0] ; torch.nn.RNNCell(4,4)(a) ; torch.nn.LSTM(4,4)(b)[0]
torch.nn.LSTM(4,4,2,bidirectional=True)(a3)[0] ; torch.nn.GRU(4,4)(b)[0]
torch.nn.LSTM(4,4)(a,(torch.zeros(1,4),torch.zeros(1,4)))[0]
torch.nn.LSTM(4,4)(a,(torch.zeros(1,4),torch.zeros(1,4)))[1][1] ; torch.nn.MultiheadAttention(4,2)(a,a,a)[0]
torch.nn.MultiheadAttention(4,2)(a,a,a)[1] ; torch.nn.MultiheadAttention(4,2).eval()(a,a,a)[0]
torch.nn.MultiheadAttention(4,2)(a,a,a,need_weights=False)[0] ; torch.nn.Linear(4,4)(a)
torch.nn.BatchNorm1d(4)(b) ; torch.nn.LayerNorm(4)(b) ; torch.nn.GroupNorm(2,4)(b)
torch.nn.InstanceNorm1d(4,affine=True)(b3) ; torch.nn.RMSNorm(4)(b) ; torch.nn.BatchNorm1d(4).eval()(b)
torch.nn.PReLU()(a) ; b.sum() ; b.norm() ; b.cumsum(0) ; b.logsumexp(0) ; b.softmax(0) ; b.log_softmax(0)
F.layer_norm(b,(4,)) ; F.layer_norm(b,(4,),v,v) ; F.rms_norm(b,(4,)) ; F.rms_norm(b,(4,),v)
F.group_norm(b,2) ; F.group_norm(b,2,v,v) ; F.batch_norm(b,None,None,training=True)
F.batch_norm(b,v.clone(),v.clone()) ; F.batch_norm(b,v.clone(),v.clone(),v,v,training=True)
F.local_response_norm(b3,2) ; b.renorm(2,0,1.) ; F.avg_pool1d(b3,2) ; F.avg_pool2d(b4,2)
F.max_pool1d(b3,2) ; F.max_pool2d(b4,2) ; F.max_pool3d(b5,(1,2,2),return_indices=True)[0]
F.adaptive_avg_pool1d(b3,2) ; F.adaptive_avg_pool2d(b4,2) ; F.adaptive_max_pool2d(b4,2)
F.interpolate(b4,scale_factor=2,mode='bilinear') ; torch.cat([b,b]) ; torch.linalg.norm(b)
torch.linalg.vector_norm(b) ; torch.linalg.matrix_norm(b) ; torch.linalg.matmul(a,a)
torch.linalg.multi_dot([b,b]) ; torch.norm(b) ; torch.norm(b,dim=0) ; torch.special.log_softmax(b,0)
torch.baddbmm(b3,a3,a3) ; torch.addmm(a,a,a,beta=2) ; a.addmm(a,a) ; a.matmul(a) ; a.mm(a)
b.prod(dtype=torch.bfloat16) ; a.half()@a.half() ; a.half()@a
"""
TYPES["float32"] = """
torch.mv(a,v) ; torch.dot(v,v) ; torch.vdot(v,v) ; torch.outer(v,v) ; torch.addmv(v,a,v) ; torch.addr(a,v,v)
torch.einsum('i,j->ij',v,v) ; torch.kron(a,a) ; F.bilinear(a,a,a3) ; torch.bilinear(a,a,a3,None)
torch.nn.GRU(4,4)(a)[0] ; torch.nn.LSTMCell(4,4)(a)[0] ; torch.nn.LSTMCell(4,4)(a)[1]
torch.nn.GRUCell(4,4)(a) ; torch.nn.TransformerEncoderLayer(4,2,8)(a)
torch.nn.TransformerEncoderLayer(4,2,8).eval()(a) ; torch.nn.Transformer(4,2,1,1,8)(a,a) ; b.prod()
b.prod(0) ; torch.cdist(b,b) ; torch.trace(b) ; torch.quantile(b,.5) ; torch.nanquantile(b,.5)
F.mse_loss(b,b) ; F.l1_loss(b,b) ; F.smooth_l1_loss(b,b) ; F.huber_loss(b,b) ; F.cross_entropy(b,t)
F.cross_entropy(b,b) ; F.cross_entropy(b,t,v) ; F.cross_entropy(b,t,label_smoothing=.1) ; F.nll_loss(b,t)
F.nll_loss(b3,t[None]) ; F.kl_div(b,b) ; F.binary_cross_entropy(b/10,b/10)
F.binary_cross_entropy(a/10,b/10) ; F.binary_cross_entropy_with_logits(b,b) ; F.hinge_embedding_loss(b,b)
F.cosine_embedding_loss(b,b,torch.ones(4)) ; F.margin_ranking_loss(b,b,b) ; F.soft_margin_loss(b,b)
F.triplet_margin_loss(b,b,b) ; F.multi_margin_loss(b,t) ; F.multilabel_margin_loss(b,t.expand(4,4))
F.poisson_nll_loss(b,b)
F.ctc_loss(b3.transpose(0,1).log_softmax(-1),t[None,1:2],torch.tensor([4]),torch.tensor([1]))
F.avg_pool3d(b5,(1,2,2)) ; F.max_pool3d(b5,(1,2,2)) ; F.adaptive_avg_pool3d(b5,(1,2,2))
F.adaptive_max_pool3d(b5,(1,2,2)) ; F.fractional_max_pool2d(b4,2,2)
F.max_unpool2d(b4,torch.arange(16).reshape(1,1,4,4),1) ; F.max_unpool1d(b3,torch.arange(4).expand(1,4,4),1)
F.max_unpool3d(b5,torch.arange(16).reshape(1,1,1,4,4),1) ; F.pad(b3,(1,1),mode='reflect')
F.pad(b4,(1,1,1,1),mode='reflect') ; F.pad(b3,(1,1),mode='replicate') ; F.pad(b4,(1,1,1,1),mode='replicate')
F.pad(b5,(1,1,1,1,0,0),mode='replicate') ; F.grid_sample(b4,b[None,:,:2,None].transpose(2,3)/8)
F.grid_sample(a4,b[None,:,:2,None].transpose(2,3)/8) ; torch.cat([a,b]) ; torch.stack([a,b])
torch.stack([b,a]) ; torch.hstack([a,b]) ; torch.vstack([a,b]) ; torch.index_copy(a,0,t[:1],b[:1])
torch.index_copy(b,0,t[:1],a[:1]) ; torch.column_stack([a,b]) ; torch.fft.irfft(b) ; torch.fft.irfft2(b)
torch.fft.hfft(b) ; torch.fft.irfftn(b) ; torch.linalg.inv(b) ; torch.linalg.solve(b,b)
torch.linalg.qr(b)[0] ; torch.linalg.svd(b)[1] ; torch.linalg.svdvals(b) ; torch.linalg.eigh(b)[0]
torch.linalg.eigvalsh(b) ; torch.linalg.cholesky(b@b.mT) ; torch.linalg.cholesky_ex(b@b.mT)[0]
torch.linalg.inv_ex(b)[0] ; torch.linalg.lstsq(b,b)[0] ; torch.linalg.cond(b) ; torch.linalg.tensorinv(b,1)
torch.linalg.tensorsolve(b,w) ; torch.linalg.householder_product(b,w) ; torch.inverse(b)
torch.cholesky(b@b.mT) ; torch.cholesky_inverse(b) ; torch.cholesky_solve(b,b) ; torch.qr(b)[0]
torch.svd(b)[1] ; torch.lu_solve(b,*torch.linalg.lu_factor(a)) ; torch.orgqr(b,w) ; torch.ormqr(b,w,b)
torch.pinverse(b) ; torch.geqrf(b)[0] ; torch.triangular_solve(b,b)[0] ; b.trace() ; b.inverse()
b.quantile(.5)
"""
TYPES["complex64"] = """
torch.polar(b,b) ; torch.polar(a,b) ; torch.stft(w.repeat(4),4,return_complex=True)
torch.view_as_complex(b[:,:2]) ; torch.fft.fft(b) ; torch.fft.ifft(b) ; torch.fft.rfft(b)
torch.fft.fft2(b) ; torch.fft.fftn(b) ; torch.fft.rfft2(b) ; torch.fft.rfftn(b) ; torch.fft.ihfft(b)
torch.fft.ifft2(b) ; torch.fft.ifftn(b) ; torch.linalg.eig(b)[0] ; torch.linalg.eigvals(b)
b.stft(4,return_complex=True) ; a.cfloat()@a.cfloat()
"""
TYPES["float64"] = """
torch.cat([a.double(),b]) ; a.double()@a.double()
"""
TYPES["int64"] = """
torch.linalg.matrix_rank(b) ; t[:,None]@t[None]
"""

ROWS = [(kind, expression.strip()) for kind, block in TYPES.items() for line in block.strip().splitlines()
        for expression in line.split(" ; ")]


def computed(torch: ModuleType, expression: str) -> Any:
    """The value of an expression inside of autocast."""
    names = {"torch": torch}
    exec(SETUP, names)
    with torch.autocast("cpu"):
        return eval(expression, names)

"""A table of layers with inputs: the constructor and the call, as text, for any framework with PyTorch's API.

In the inputs, `x(shape)` is normal and gets a gradient, `u(shape)` is uniform in (0.05, 0.95), `n(high,
shape)` are
integers below `high`, `sign(shape)` is 1 or -1, `mask(shape)` is boolean with a first column of False.
"""

from __future__ import annotations

ACTIVATIONS = [
    "CELU(1.3)", "ELU(0.7)", "GELU()", "GELU('tanh')", "GLU(0)", "Hardshrink(0.3)", "Hardsigmoid()",
    "Hardswish()", "Hardtanh(-0.5, 0.7)", "Identity(3, a=4)", "LeakyReLU(0.2)", "LogSigmoid()",
    "LogSoftmax(1)", "Mish()", "PReLU()", "PReLU(3, init=0.1)", "RReLU()", "ReLU()", "ReLU6()", "SELU()",
    "SiLU()", "Sigmoid()", "Softmax(0)", "Softmin(1)", "Softplus(2, 1)", "Softshrink(0.3)", "Softsign()",
    "Tanh()", "Tanhshrink()", "Threshold(0.1, 20)", "Dropout(0.3)", "AlphaDropout(0.3)", "Flatten(0)",
    "Unflatten(1, (1, 3))", "RMSNorm(3)", "RMSNorm([4, 3], eps=0.1)", "LayerNorm(3)",
    "LayerNorm((4, 3), elementwise_affine=False)", "LayerNorm(3, bias=False)",
]  # fmt: skip

IMAGES = [
    "Conv2d(4, 6, 3)", "Conv2d(4, 6, (3, 2), stride=2, padding=1, bias=False)",
    "Conv2d(4, 4, 3, padding='same')", "Conv2d(4, 8, 3, groups=4, dilation=2, padding=2)",
    "Conv2d(4, 2, 3, padding=1, padding_mode='circular')",
    "Conv2d(4, 2, 3, padding=1, padding_mode='reflect')",
    "Conv2d(4, 2, 2, padding='valid', padding_mode='replicate')", "ConvTranspose2d(4, 6, 3)",
    "ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)", "LazyConv2d(3, 2)",
    "LazyConvTranspose2d(3, 2)", "MaxPool2d(2)", "MaxPool2d(3, stride=2, padding=1, ceil_mode=True)",
    "MaxPool2d(2, dilation=2)", "AvgPool2d(2)", "AvgPool2d(3, 2, 1, count_include_pad=False)",
    "AvgPool2d(2, divisor_override=3)", "LPPool2d(2, 2)", "AdaptiveAvgPool2d(3)",
    "AdaptiveAvgPool2d((None, 2))", "AdaptiveMaxPool2d((2, 3))", "FractionalMaxPool2d(2, output_size=3)",
    "FractionalMaxPool2d(2, output_ratio=0.5)", "ConstantPad2d((1, 0, 2, 1), 3.5)",
    "ZeroPad2d((1, -1, 2, 0))", "ReflectionPad2d(2)", "ReplicationPad2d((1, 2, 0, 1))",
    "CircularPad2d((1, 2, 0, 1))", "Dropout2d(0.4)", "BatchNorm2d(4)",
    "BatchNorm2d(4, momentum=None, affine=False)", "BatchNorm2d(4, track_running_stats=False)",
    "BatchNorm2d(4, bias=False)", "LazyBatchNorm2d()", "SyncBatchNorm(4)", "InstanceNorm2d(4)",
    "InstanceNorm2d(4, affine=True, track_running_stats=True)", "LazyInstanceNorm2d(affine=True)",
    "GroupNorm(2, 4)", "GroupNorm(4, 4, affine=False)", "LocalResponseNorm(3)", "Softmax2d()",
    "PixelShuffle(2)", "PixelUnshuffle(2)", "ChannelShuffle(2)", "Unfold(2)",
    "Unfold((2, 3), dilation=2, padding=1, stride=2)", "Upsample(scale_factor=2)",
    "Upsample((7, 9), mode='bilinear')", "Upsample(scale_factor=1.5, mode='bicubic', align_corners=True)",
    "UpsamplingNearest2d(3)", "UpsamplingBilinear2d(scale_factor=2)", "PReLU(4)", "Flatten()",
]  # fmt: skip

SEQUENCES = [
    "Conv1d(4, 6, 3)", "Conv1d(4, 6, 2, stride=2, padding=1)", "ConvTranspose1d(4, 2, 3, stride=2)",
    "LazyConv1d(2, 2)", "LazyConvTranspose1d(2, 2)", "MaxPool1d(2)", "AvgPool1d(3, 1, 1)", "LPPool1d(2, 2)",
    "AdaptiveAvgPool1d(3)", "AdaptiveMaxPool1d(3)", "ConstantPad1d(1, 2.0)", "ZeroPad1d((1, 2))",
    "ReflectionPad1d(2)", "ReplicationPad1d(2)", "CircularPad1d(2)", "Dropout1d(0.4)", "BatchNorm1d(4)",
    "LazyBatchNorm1d()", "InstanceNorm1d(4, affine=True)", "LazyInstanceNorm1d()",
    "Upsample(scale_factor=2, mode='linear')",
]  # fmt: skip

VOLUMES = [
    "Conv3d(4, 2, 2)", "ConvTranspose3d(4, 2, 2)", "LazyConv3d(2, 2)", "LazyConvTranspose3d(2, 2)",
    "MaxPool3d(2)", "AvgPool3d(2)", "LPPool3d(2, 2)", "AdaptiveAvgPool3d(2)", "AdaptiveMaxPool3d(2)",
    "FractionalMaxPool3d(2, output_size=2)", "ConstantPad3d(1, 2.0)", "ZeroPad3d(1)", "ReflectionPad3d(1)",
    "ReplicationPad3d(1)", "CircularPad3d(1)", "Dropout3d(0.4)", "FeatureAlphaDropout(0.4)", "BatchNorm3d(4)",
    "LazyBatchNorm3d()", "InstanceNorm3d(4)", "LazyInstanceNorm3d()",
    "Upsample(scale_factor=2, mode='trilinear')",
]  # fmt: skip

OTHERS = [
    ("Linear(3, 5)", "x(2, 3)"),
    ("Linear(3, 5, bias=False)", "x(2, 4, 3)"),
    ("LazyLinear(5)", "x(2, 3)"),
    ("Bilinear(3, 4, 5)", "x(2, 3), x(2, 4)"),
    ("Embedding(7, 3, padding_idx=-2)", "n(7, 4, 2)"),
    ("Embedding(7, 3, max_norm=1.0, scale_grad_by_freq=True)", "n(7, 5)"),
    ("EmbeddingBag(7, 3)", "n(7, 4, 2)"),
    ("EmbeddingBag(7, 3, mode='sum', padding_idx=1)", "n(7, 6), torch.tensor([0, 2, 2])"),
    ("EmbeddingBag(7, 3, mode='max')", "n(7, 4, 2)"),
    ("CrossMapLRN2d(3, alpha=0.5)", "u(2, 6, 3, 3)"),  # its gradient in PyTorch is not that of its forward
    ("Fold((4, 5), 2)", "x(2, 12, 12)"),
    ("MaxUnpool1d(2)", "x(1, 1, 2), torch.tensor([[[1, 2]]])"),
    ("MaxUnpool2d(2)", "x(1, 1, 1, 2), torch.tensor([[[[1, 2]]]])"),
    ("MaxUnpool3d(2)", "x(1, 1, 1, 1, 2), torch.tensor([[[[[1, 2]]]]])"),
    ("PairwiseDistance(1, keepdim=True)", "x(4, 3), x(4, 3)"),
    ("CosineSimilarity()", "x(4, 3), x(4, 3)"),
    ("Sequential(Linear(3, 4), ReLU(), Linear(4, 2))", "x(2, 3)"),
    ("AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)", "x(6, 8), n(20, 6)"),
    ("RNN(3, 4)", "x(5, 2, 3)"),
    ("RNN(3, 4, 2, 'relu', batch_first=True, bidirectional=True)", "x(2, 5, 3), x(4, 2, 4)"),
    ("LSTM(3, 4)", "x(5, 2, 3)"),
    ("LSTM(3, 4, bias=False)", "x(5, 3)"),
    ("LSTM(3, 4, 2, bidirectional=True, proj_size=2)", "x(5, 2, 3), (x(4, 2, 2), x(4, 2, 4))"),
    ("LSTM(3, 4, 2, batch_first=True, dropout=0.5)", "x(2, 5, 3)"),
    ("GRU(3, 4)", "x(5, 2, 3)"),
    ("GRU(3, 4, 2, bidirectional=True)", "x(5, 3), x(4, 4)"),
    ("RNNCell(3, 4)", "x(2, 3), x(2, 4)"),
    ("RNNCell(3, 4, bias=False, nonlinearity='relu')", "x(2, 3)"),
    ("SyncBatchNorm(3, momentum=None)", "x(4, 3)"),
    ("LSTM(3, 4, batch_first=True, bidirectional=True, bias=False)", "x(2, 5, 3)"),
    ("GRU(3, 4)", "x(5, 2, 3), x(1, 2, 4)"),
    ("Embedding(7, 3, scale_grad_by_freq=True)", "n(7, 5)"),
    ("EmbeddingBag(7, 3, include_last_offset=True, mode='sum')", "n(7, 6), torch.tensor([0, 2, 6])"),
    ("Bilinear(3, 4, 5, bias=False)", "x(2, 3), x(2, 4)"),
    ("CosineSimilarity(0, eps=1e-3)", "x(4, 3), x(4, 3)"),
    ("MultiheadAttention(4, 2, add_zero_attn=True, batch_first=True)", "*[x(2, 3, 4)] * 3, None, False"),
    ("Transformer(4, 2, 1, 1, 8, 0.0, norm_first=True, bias=False)", "x(3, 2, 4), x(5, 2, 4)"),
    ("RNNCell(3, 4, nonlinearity='relu')", "x(3)"),
    ("GRUCell(3, 4)", "x(2, 3), x(2, 4)"),
    ("LSTMCell(3, 4)", "x(2, 3), (x(2, 4), x(2, 4))"),
    ("LSTMCell(3, 4, bias=False)", "x(3)"),
    ("LSTM(3, 4)", "nn.utils.rnn.pack_sequence([x(2, 3), x(4, 3), x(3, 3)], enforce_sorted=False)"),
    ("GRU(3, 4, 2, bidirectional=True)", "nn.utils.rnn.pack_sequence([x(4, 3), x(2, 3)])"),
    ("MultiheadAttention(4, 2)", "x(3, 2, 4), x(5, 2, 4), x(5, 2, 4)"),
    ("MultiheadAttention(4, 2, bias=False)", "*[x(3, 4)] * 3"),
    ("MultiheadAttention(4, 2, kdim=3, vdim=5, batch_first=True)", "x(2, 3, 4), x(2, 5, 3), x(2, 5, 5)"),
    ("MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)", "*[x(3, 2, 4)] * 3, mask(2, 3)"),
    ("MultiheadAttention(4, 2, dropout=0.3)", "*[x(3, 2, 4)] * 3"),
    ("TransformerEncoderLayer(4, 2, 8, 0.1)", "x(3, 2, 4)"),
    ("TransformerEncoderLayer(4, 2, 8, 0.0, 'gelu', norm_first=True, batch_first=True)", "x(2, 3, 4)"),
    ("TransformerEncoderLayer(4, 2, 8, 0.0)", "x(3, 2, 4), None, mask(2, 3)"),
    ("TransformerDecoderLayer(4, 2, 8, 0.0)", "x(3, 2, 4), x(5, 2, 4)"),
    ("TransformerDecoderLayer(4, 2, 8, 0.1, norm_first=True, bias=False)", "x(3, 2, 4), x(5, 2, 4)"),
    ("TransformerEncoder(TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), 2, LayerNorm(4))",
     "x(2, 3, 4), Transformer.generate_square_subsequent_mask(3)"),
    ("TransformerDecoder(TransformerDecoderLayer(4, 2, 8, 0.0), 2)", "x(3, 2, 4), x(5, 2, 4)"),
    ("Transformer(4, 2, 1, 1, 8, 0.0, batch_first=True)", "x(2, 3, 4), x(2, 5, 4)"),
]  # fmt: skip

LOSSES = [
    ("L1Loss()", "x(4, 3), x(4, 3)"),
    ("MSELoss(reduction='sum')", "x(4, 3), x(4, 3)"),
    ("SmoothL1Loss(beta=0.5)", "x(4, 3), x(4, 3)"),
    ("HuberLoss(delta=0.7)", "x(4, 3), x(4, 3)"),
    ("NLLLoss(weight=torch.tensor([1.0, 2.0, 3.0]))", "x(4, 3), n(3, 4)"),
    ("CrossEntropyLoss()", "x(4, 3), n(3, 4)"),
    ("NLLLoss2d()", "torch.log_softmax(x(2, 3, 4, 4), 1), n(3, 2, 4, 4)"),
    ("BCELoss(reduction='sum')", "u(4, 3), u(4, 3)"),
    ("CTCLoss(reduction='sum', zero_infinity=True)",
     "torch.log_softmax(x(6, 2, 4), -1), 1 + n(3, 2, 2), torch.tensor([6, 5]), torch.tensor([2, 1])"),
    ("TripletMarginWithDistanceLoss(distance_function=torch.dist, swap=True)", "x(4, 3), x(4, 3), x(4, 3)"),
    ("GaussianNLLLoss(reduction='none')", "x(4, 3), x(4, 3), u(4, 1)"),
    ("PoissonNLLLoss(log_input=False, reduction='sum')", "u(4, 3), u(4, 3)"),
    ("CrossEntropyLoss(torch.tensor([1.0, 2.0, 3.0]), ignore_index=1, label_smoothing=0.1)",
     "x(4, 3), n(3, 4)"),
    ("CrossEntropyLoss(reduction='none')", "x(4, 3, 2), n(3, 4, 2)"),
    ("CrossEntropyLoss()", "x(4, 3), torch.softmax(x(4, 3), 1)"),
    ("PoissonNLLLoss(full=True)", "x(4, 3), u(4, 3)"),
    ("GaussianNLLLoss(full=True)", "x(4, 3), x(4, 3), u(4, 3)"),
    ("KLDivLoss(reduction='batchmean')", "x(4, 3), u(4, 3)"),
    ("KLDivLoss(log_target=True, reduction='sum')", "x(4, 3), x(4, 3)"),
    ("BCELoss(weight=torch.tensor([1.0, 2.0, 3.0]))", "u(4, 3), u(4, 3)"),
    ("BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 3.0]))", "x(4, 3), u(4, 3)"),
    ("CTCLoss()",
     "torch.log_softmax(x(6, 2, 4), -1), 1 + n(3, 2, 2), torch.tensor([6, 5]), torch.tensor([2, 1])"),
    ("MarginRankingLoss(0.3)", "x(4), x(4), sign(4)"),
    ("HingeEmbeddingLoss()", "x(4, 3), sign(4, 3)"),
    ("CosineEmbeddingLoss(0.1)", "x(4, 3), x(4, 3), sign(4)"),
    ("SoftMarginLoss()", "x(4, 3), sign(4, 3)"),
    ("MultiLabelMarginLoss()", "x(1, 4), torch.tensor([[3, 0, -1, 1]])"),
    ("MultiLabelSoftMarginLoss()", "x(4, 3), u(4, 3)"),
    ("MultiMarginLoss(p=2, margin=0.5)", "x(4, 3), n(3, 4)"),
    ("TripletMarginLoss(swap=True)", "x(4, 3), x(4, 3), x(4, 3)"),
    ("TripletMarginWithDistanceLoss(margin=0.5)", "x(4, 3), x(4, 3), x(4, 3)"),
]  # fmt: skip

CASES: list[tuple[str, str]] = [
    *[(layer, "x(4, 3)") for layer in ACTIVATIONS],
    *[(layer, "x(2, 4, 6, 6)") for layer in IMAGES],
    *[(layer, "x(2, 4, 6)") for layer in SEQUENCES],
    *[(layer, "x(2, 4, 4, 4, 4)") for layer in VOLUMES],
    *OTHERS,
    *LOSSES,
]

# Constructors that must be refused, or calls that must; the text of the error is PyTorch's.
ERRORS = [
    "Conv2d(3, 4, 1, groups=2)", "Conv2d(4, 3, 1, groups=2)", "Conv2d(4, 3, 1, groups=0)",
    "Conv2d(4, 3, 1, padding='same', stride=2)", "ConvTranspose2d(4, 3, 1, padding_mode='reflect')",
    "ConvTranspose2d(4, 3, 1)(torch.zeros(1, 4, 2, 2), output_size=[1])",
    "ConvTranspose2d(4, 3, 2, stride=2)(torch.zeros(1, 4, 2, 2), output_size=[9, 9])",
    "LazyConv2d(3, 2)(torch.zeros(2))", "LazyConv2d(3, 2, groups=2)(torch.zeros(1, 3, 3, 3))",
    "LazyLinear(3).weight.shape", "Bilinear(0, 1, 1)", "Softmax2d()(torch.zeros(2))", "Hardtanh(2, 1)",
    "FractionalMaxPool3d(0, 2)", "FractionalMaxPool2d(2)", "FractionalMaxPool2d(2, 2, 2)", "Dropout(2)",
    "FractionalMaxPool3d(2, None, (0.5, 0.5, 2))", "CircularPad3d(1)(torch.zeros(1))",
    "BatchNorm1d(3)(torch.zeros(1))", "BatchNorm2d(3)(torch.zeros(1))", "BatchNorm3d(3)(torch.zeros(1))",
    "SyncBatchNorm(3)(torch.zeros(1))", "InstanceNorm1d(3)(torch.zeros(1))",
    "InstanceNorm3d(3)(torch.zeros(1))",
    "InstanceNorm2d(3, affine=True)(torch.zeros(2, 2, 2))", "GroupNorm(2, 3)",
    "CrossMapLRN2d(2)(torch.zeros(1))",
    "Embedding(3, 2, padding_idx=3)", "EmbeddingBag(3, 2, padding_idx=4)", "Embedding(3, 2, "
    "_weight=torch.zeros(2, 2))",
    "Embedding.from_pretrained(torch.zeros(2))", "EmbeddingBag.from_pretrained(torch.zeros(2))",
    "GRU(2, 3, proj_size=1)", "RNN(2, 3, nonlinearity='x')", "LSTM(2, 3, dropout=2)", "LSTM(2, 0)", "LSTM(2, "
    "3.0)",
    "LSTM(2, 3, num_layers=0)", "LSTM(2, 3, proj_size=-1)", "LSTM(2, 3, proj_size=3)", "LSTM(2)", "LSTM(0, "
    "3)",
    "RNNBase('X', 2, 3)", "LSTM(2, 3, nonlinearity='relu')", "RNN(2, 3, 1, False)", "LSTM(2, "
    "3)(torch.zeros(4))",
    "RNN(2, 3)(torch.zeros(4))", "LSTM(2, 3)(torch.zeros(1, 2, 3))", "GRU(2, 3)(torch.zeros(4, 1, 2), "
    "torch.zeros(1, 1, 2))",
    "LSTM(2, 3)(torch.zeros(4, 1, 2), (torch.zeros(1, 1, 2),) * 2)", "GRU(2, 3)(torch.zeros(4, 2), "
    "torch.zeros(1, 1, 2))",
    "LSTM(2, 3)(torch.zeros(4, 2), (torch.zeros(1, 1, 2),) * 2)", "GRU(2, 3)(torch.zeros(4, 1, 2), "
    "torch.zeros(1, 1))",
    "LSTM(2, 3)(torch.zeros(4, 1, 2), (torch.zeros(1, 1, 3), torch.zeros(1, 1, 2)))",
    "LSTM(2, 3)(torch.zeros(4, 1, 2).double())", "GRUCell(2, 3)(torch.zeros(2, 2, 2))",
    "LSTMCell(2, 3)(torch.zeros(4, 2), (torch.zeros(4, 1, 3),) * 2)", "RNNCell(2, 3)(torch.zeros(4, 2), "
    "torch.zeros(4, 1, 3))",
    "RNNCell(2, 3, nonlinearity='x')(torch.zeros(1, 2))", "MultiheadAttention(5, 2)", "MultiheadAttention(4, "
    "0)",
    "TransformerEncoderLayer(4, 2, activation='x')", "Transformer(4, 2, 1, 1, 8)(torch.zeros(3, 2, 5), "
    "torch.zeros(3, 2, 4))",
    "Transformer(4, 2, 1, 1, 8)(torch.zeros(3, 2, 4), torch.zeros(3, 3, 4))", "TripletMarginLoss(margin=-1)",
    "TripletMarginWithDistanceLoss(margin=0)", "MultiMarginLoss(p=3)", "MultiMarginLoss(weight=torch.ones(2, "
    "2))",
    "AdaptiveLogSoftmaxWithLoss(4, 10, [5, 2])", "AdaptiveLogSoftmaxWithLoss(4, 10, [])",
    "AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5])(torch.zeros(3, 8), torch.full((3,), 11))",
    "AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5])(torch.zeros(3, 8), torch.zeros(2).long())",
    "Unflatten(1, (2, 'a'))", "Unflatten(1, {})", "init.calculate_gain('relux')",
    "init.calculate_gain('leaky_relu', 'a')",
    "AvgPool2d()", "CircularPad1d()", "ConstantPad2d(1)", "Conv1d()", "Conv2d(1, 2)", "ConvTranspose3d(q=1)",
    "FractionalMaxPool2d()", "LazyConv1d()", "LazyConvTranspose2d(1)", "MaxUnpool3d()", "ReflectionPad3d()",
    "ReplicationPad1d()", "TransformerEncoderLayer()", "TransformerDecoderLayer(1)", "Unfold()",
    "ZeroPad3d()", "BatchNorm2d()", "InstanceNorm1d()", "Linear(1)", "Embedding()", "GroupNorm(2)",
    "init.eye_(torch.zeros(1))", "init.dirac_(torch.zeros(1))", "init.dirac_(torch.zeros(3, 1, 1), 2)",
    "init.kaiming_uniform_(torch.zeros(3))", "init.kaiming_uniform_(torch.zeros(3, 3), mode='x')",
    "init.sparse_(torch.zeros(3), 0.1)", "init.orthogonal_(torch.zeros(3))",
]  # fmt: skip

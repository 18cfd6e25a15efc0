"""torchinfo: summaries by forward hooks."""

# needs: torchinfo
import json

import torchinfo
from torch import nn

model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(8 * 16, 10),
)
columns = ("input_size", "output_size", "num_params", "mult_adds", "trainable")
texts = [
    torchinfo.summary(model, input_size=(2, 3, 8, 8), col_names=columns, verbose=0),
    torchinfo.summary(nn.LSTM(4, 5, num_layers=2, batch_first=True), input_size=(2, 7, 4), verbose=0),
    torchinfo.summary(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), input_size=(2, 7, 8), verbose=0, depth=4
    ),
]
print(json.dumps([str(text) for text in texts]))

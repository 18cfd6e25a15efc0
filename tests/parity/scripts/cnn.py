"""A convolutional network with batch normalization, pooling and dropout; shuffling; evaluation."""

import torch
import torch.nn.functional as F
from _report import fingerprint, report
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(16)
        self.drop = nn.Dropout(0.25)
        self.drop2d = nn.Dropout2d(0.1)
        self.fc = nn.Linear(16 * 3 * 3, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = self.drop2d(F.relu(self.bn2(self.conv2(x))))
        return self.fc(self.drop(torch.flatten(x, 1)))


torch.manual_seed(1)
model = Net()
initial = fingerprint(model)
data = TensorDataset(torch.randn(80, 1, 12, 12), torch.randint(0, 4, (80,)))
loader = DataLoader(data, batch_size=16, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
losses = []
for _ in range(6):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
model.eval()
with torch.no_grad():
    losses.append(sum(F.cross_entropy(model(x), y).item() for x, y in loader))
report(losses, initial)

"""Handwritten digits: a small convolutional network, trained to more than 97 % on scikit-learn's real scans.

A plain PyTorch program. With flambeau: flambeau run demo/train_digits.py
"""

import argparse
import pathlib
import time

import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split
from tqdm import tqdm


class DigitNet(nn.Module):
    """Two convolution blocks on (N, 1, 8, 8) images, then a small classifier with ten outputs."""

    def __init__(self, width=16, dropout=0.25):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(2 * width * 4 * 4, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


def load_data(generator):
    digits = load_digits()
    images = torch.from_numpy(digits.images).float().unsqueeze(1) / 16
    dataset = TensorDataset(images, torch.from_numpy(digits.target))
    test = len(dataset) // 5
    return random_split(dataset, [len(dataset) - test, test], generator=generator)


def train_epoch(model, loader, optimizer, scheduler, progress):
    model.train()
    total, correct, seen = 0.0, 0, 0
    for images, labels in loader:
        optimizer.zero_grad()
        logits = model(images)
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(labels)
        correct += (logits.argmax(dim=1) == labels).sum().item()
        seen += len(labels)
        progress.set_postfix(loss=f"{loss.item():.3f}", lr=f"{scheduler.get_last_lr()[0]:.1e}")
        progress.update()
    return total / seen, correct / seen


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total, correct, seen = 0.0, 0, 0
    for images, labels in loader:
        logits = model(images)
        total += F.cross_entropy(logits, labels, reduction="sum").item()
        correct += (logits.argmax(dim=1) == labels).sum().item()
        seen += len(labels)
    return total / seen, correct / seen


def plot(history, path):
    plt.switch_backend("Agg")   # a file, not a window
    epochs = range(1, len(history) + 1)
    train_loss, train_accuracy, test_loss, test_accuracy = zip(*history)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    left.plot(epochs, train_loss, label="training")
    left.plot(epochs, test_loss, label="test")
    left.set(xlabel="epoch", ylabel="cross-entropy", yscale="log")
    right.plot(epochs, train_accuracy, label="training (with dropout)")
    right.plot(epochs, test_accuracy, label="test")
    right.set(xlabel="epoch", ylabel="accuracy", ylim=(0.9, 1.001))
    for axes in (left, right):
        axes.legend()
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("demo/output"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(options.seed)
    train, test = load_data(torch.Generator().manual_seed(options.seed))
    train_loader = DataLoader(train, batch_size=options.batch_size, shuffle=True)
    test_loader = DataLoader(test, batch_size=256)

    model = DigitNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, weight_decay=1e-2)
    steps = options.epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=options.lr, total_steps=steps)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{len(train)} training and {len(test)} test images, {parameters} parameters")

    history = []
    started = time.perf_counter()
    with tqdm(total=steps, unit="step") as progress:
        for epoch in range(1, options.epochs + 1):
            progress.set_description(f"epoch {epoch}/{options.epochs}")
            history.append((*train_epoch(model, train_loader, optimizer, scheduler, progress),
                            *evaluate(model, test_loader)))
            train_loss, train_accuracy, test_loss, test_accuracy = history[-1]
            progress.write(f"epoch {epoch:2d}  training {train_loss:.4f} {train_accuracy:6.1%}  "
                           f"test {test_loss:.4f} {test_accuracy:6.1%}")
    print(f"trained in {time.perf_counter() - started:.1f} s")

    plot(history, options.out / "digits.png")
    torch.save({"model": model.state_dict(), "history": history}, options.out / "digits.pt")
    restored = DigitNet()
    restored.load_state_dict(torch.load(options.out / "digits.pt")["model"])
    accuracy = evaluate(restored, test_loader)[1]
    print(f"test accuracy of the saved checkpoint: {accuracy:.2%}")
    if accuracy < 0.97:
        raise SystemExit("the digits were not learned: 97 % expected")


if __name__ == "__main__":
    main()

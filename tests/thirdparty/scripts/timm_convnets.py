"""timm: a ConvNeXt and an EfficientNet, gradients and three steps each (torchvision is stood in for)."""

# needs: timm
import json
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "stand_ins"))

import timm
import timm.optim


def trained(name, opt, size, **options):
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=10, **options)
    images, target = torch.randn(4, 3, size, size), torch.tensor([1, 7, 3, 3])
    model(images).square().mean().backward()
    gradients = [
        p.grad.abs().mean().item() for p in list(model.parameters())[:3] + list(model.parameters())[-2:]
    ]
    optimizer = timm.optim.create_optimizer_v2(model, opt=opt, lr=1e-4, weight_decay=0.05)
    losses = []
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        features = model.forward_features(images)
        losses += model(images)[0].tolist()
    return [sum(p.numel() for p in model.parameters()), gradients, losses, list(features.shape)]


print(
    json.dumps(
        {
            "convnext": trained("convnext_atto", "adamw", 64),
            "efficientnet": trained("efficientnet_b0", "rmsproptf", 64),
        }
    )
)

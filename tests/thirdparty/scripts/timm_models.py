"""timm: a ResNet and a ViT, three steps each (torchvision is stood in for)."""

# needs: timm
import json
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "stand_ins"))

import timm
import timm.optim


def trained(name, size, **options):
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=10, **options)
    optimizer = timm.optim.create_optimizer_v2(model, opt="sgd", lr=1e-4, momentum=0.9)
    images, target = torch.randn(4, 3, size, size), torch.tensor([1, 7, 3, 3])
    losses = []
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        losses += model(images)[0].tolist()
    return [sum(p.numel() for p in model.parameters()), losses]


print(
    json.dumps(
        {
            "resnet18": trained("resnet18", 64),
            "vit": trained("vit_tiny_patch16_224", 32, img_size=32, depth=3),
        }
    )
)

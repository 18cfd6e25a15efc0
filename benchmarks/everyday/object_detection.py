"""Squares in an image, found by anchors (RetinaNet, Lin et al., 2017): how many of these match differs."""
import torch
import torch.nn.functional as F
from _bench import run
from torch import nn

torch.manual_seed(0)
SIZE, CELLS, SIDES, CLASSES = 64, 8, (8.0, 16.0, 24.0), 3
centre = (torch.arange(CELLS) + 0.5) * SIZE / CELLS
y, x = torch.meshgrid(centre, centre, indexing="ij")
middle = torch.stack([x, y], -1).reshape(-1, 1, 2)
half = torch.tensor(SIDES).view(1, -1, 1) / 2
anchors = torch.cat([middle - half, middle + half], -1).reshape(-1, 4)

features = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
                         nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU())
head = nn.Conv2d(32, len(SIDES) * (CLASSES + 4), 3, padding=1)
parameters = [*features.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.02, momentum=0.9)


def image():
    """An image with squares of three colours; their boxes and colours."""
    count = int(torch.randint(1, 5, ()))
    corner, side = torch.randint(0, 40, (count, 2)), torch.randint(8, 24, (count, 1))
    boxes, colours = torch.cat([corner, corner + side], 1), torch.randint(0, CLASSES, (count,))
    picture = torch.rand(3, SIZE, SIZE) * 0.3
    for (left, top, right, bottom), colour in zip(boxes.tolist(), colours.tolist()):
        picture[colour, top:bottom, left:right] += 0.7
    return picture, boxes.float(), colours


def overlap(a, b):
    """Intersection over union of all pairs of boxes."""
    sides = (torch.min(a[:, None, 2:], b[:, 2:]) - torch.max(a[:, None, :2], b[:, :2])).clamp(min=0)
    common = sides.prod(-1)
    area_a, area_b = ((box[:, 2:] - box[:, :2]).prod(-1) for box in (a, b))
    return common / (area_a[:, None] + area_b - common)


def loss_of(logits, shifts, boxes, colours):
    """Focal loss of all anchors that are no close call, and the distance of those that match."""
    best, which = overlap(boxes, anchors).max(0)
    matched, counted = best >= 0.5, (best >= 0.5) | (best < 0.4)
    target = torch.zeros_like(logits)
    target[matched, colours[which[matched]]] = 1.0
    entropy = F.binary_cross_entropy_with_logits(logits[counted], target[counted], reduction="none")
    focal = (entropy * (1 - torch.exp(-entropy)) ** 2).sum()
    near, wanted = anchors[matched], boxes[which[matched]]
    distance = F.smooth_l1_loss(shifts[matched], (wanted - near) / 8, reduction="sum")
    return (focal + distance) / max(1, int(matched.sum()))


def step():
    pictures, boxes, colours = zip(*[image() for _ in range(4)])
    out = head(features(torch.stack(pictures))).permute(0, 2, 3, 1).reshape(4, len(anchors), CLASSES + 4)
    losses = [loss_of(one[:, :CLASSES], one[:, CLASSES:], b, c) for one, b, c in zip(out, boxes, colours)]
    loss = sum(losses) / len(losses)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


run(step, 150, 50)

"""torchmetrics: accumulated metrics of classification and regression."""

# needs: torchmetrics
import json
import pickle

import torch
from torchmetrics import (
    AUROC,
    Accuracy,
    ConfusionMatrix,
    F1Score,
    MeanMetric,
    MeanSquaredError,
    MetricCollection,
    PearsonCorrCoef,
    Precision,
    R2Score,
    Recall,
)
from torchmetrics.functional import accuracy
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure
from torchmetrics.text import Perplexity

torch.manual_seed(0)
task = {"task": "multiclass", "num_classes": 5}
classified = MetricCollection(
    {
        "accuracy": Accuracy(**task),
        "f1": F1Score(**task, average="macro"),
        "precision": Precision(**task, average="macro"),
        "recall": Recall(**task, average=None),
        "confusion": ConfusionMatrix(**task),
        "auroc": AUROC(**task),
    }
)
regressed = MetricCollection([MeanSquaredError(), R2Score(), PearsonCorrCoef()])
mean, steps = MeanMetric(), []
for _ in range(3):
    scores, target = torch.randn(10, 5).softmax(-1), torch.randint(5, (10,))
    steps.append(float(classified(scores, target)["accuracy"]))
    regressed.update(scores[:, 0], target.float())
    mean.update(scores[:, 1])
found = {name: value.tolist() for name, value in {**classified.compute(), **regressed.compute()}.items()}
images = torch.rand(2, 3, 16, 16), torch.rand(2, 3, 16, 16)
found |= {
    "steps": steps,
    "mean": mean.compute().item(),
    "pickled": pickle.loads(pickle.dumps(mean)).compute().item(),
    "top 2": accuracy(scores, target, **task, top_k=2).item(),
    "perplexity": Perplexity()(torch.randn(2, 8, 5), torch.randint(5, (2, 8))).item(),
    "psnr": PeakSignalNoiseRatio(data_range=1.0)(*images).item(),
    "ssim": StructuralSimilarityIndexMeasure(data_range=1.0)(*images).item(),
}
print(json.dumps(found))

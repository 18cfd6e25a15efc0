"""SummaryWriter's files, read back by TensorBoard."""

# needs: tensorboard PIL
import io
import json
import os
import tempfile

import numpy as np
import torch
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(0)
found = {}
with tempfile.TemporaryDirectory() as folder:
    with SummaryWriter(folder, purge_step=0) as writer:
        for step in range(3):
            writer.add_scalar("loss/train a", torch.tensor(1.0 / (step + 1)), step)
        writer.add_scalar("new", 2.5, 1, new_style=True)
        writer.add_scalars("m", {"a": 1.0, "b": 2.0}, 3)
        writer.add_histogram("h", torch.randn(100), 0)
        writer.add_histogram("five", torch.arange(5.0), 0, bins=5)
        writer.add_histogram("zeros", torch.zeros(3), 1)
        writer.add_histogram("few", torch.randn(100), 1, max_bins=20)
        writer.add_image("i", torch.rand(3, 4, 5), 0)
        writer.add_image("hw", torch.rand(4, 5), 0, dataformats="HW")
        writer.add_images("nchw", torch.rand(3, 1, 4, 5), 0)
        writer.add_image("bytes", (torch.rand(4, 5, 3) * 255).to(torch.uint8), 0, dataformats="HWC")
        writer.add_text("t", "hello", 2)
        writer.add_hparams({"lr": 0.1, "n": "x", "b": True}, {"acc": 0.5}, run_name="run")
    for place, _, _ in sorted(os.walk(folder)):
        events = EventAccumulator(place, size_guidance={"histograms": 0, "images": 0, "tensors": 0}).Reload()
        tags, here = events.Tags(), {}
        here["plugins"] = sorted(events.summary_metadata)
        for tag in tags["scalars"]:
            here[tag] = [[e.step, e.value] for e in events.Scalars(tag)]
        for tag in tags["histograms"]:
            h = events.Histograms(tag)[0].histogram_value
            here[tag] = [h.min, h.max, h.num, h.sum, h.sum_squares, list(h.bucket_limit), list(h.bucket)]
        for tag in tags["images"]:
            pixels = np.asarray(Image.open(io.BytesIO(events.Images(tag)[0].encoded_image_string)))
            here[tag] = [list(pixels.shape), int(pixels.sum())]
        for tag in tags["tensors"]:
            protos = [(e.step, e.tensor_proto) for e in events.Tensors(tag)]
            here[tag] = [[step, list(p.float_val), [s.decode() for s in p.string_val]] for step, p in protos]
        found[os.path.relpath(place, folder)] = here
print(json.dumps(found))

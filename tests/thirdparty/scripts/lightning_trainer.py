"""Lightning: fit with validation, clipping, accumulation, a schedule and checkpoints; load again."""

# needs: lightning
import json
import logging
import tempfile
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")
import lightning  # noqa: E402
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint  # noqa: E402

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Net(lightning.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 1))
        self.losses = []

    def training_step(self, batch, index):
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        self.losses.append(float(loss))
        return loss

    def validation_step(self, batch, index):
        self.log("val", nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), 1e-2)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1)}


lightning.seed_everything(0, verbose=False)
x = torch.randn(32, 4)
data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
net = Net()
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=folder, gradient_clip_val=1.0, accumulate_grad_batches=2,
        callbacks=[ModelCheckpoint(dirpath=folder, monitor="val"), EarlyStopping("val")])
    trainer.fit(net, torch.utils.data.DataLoader(data, 8, shuffle=True), torch.utils.data.DataLoader(data, 8))
    again = Net.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)
metrics = {name: float(value) for name, value in sorted(trainer.callback_metrics.items())}
print(json.dumps({"losses": net.losses, "metrics": metrics,
                  "loaded": torch.equal(again.net[0].weight, net.net[0].weight)}))

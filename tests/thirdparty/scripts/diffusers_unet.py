"""diffusers: a small UNet trained to denoise, a pipeline that samples with it, and an autoencoder."""

# needs: diffusers
import json
import os
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
import torch

warnings.simplefilter("ignore")
from diffusers import AutoencoderKL, DDIMScheduler, DDPMPipeline, DDPMScheduler, UNet2DModel  # noqa: E402

torch.manual_seed(0)
unet = UNet2DModel(
    sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16),
    norm_num_groups=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"))
schedule, images = DDPMScheduler(num_train_timesteps=20), torch.randn(2, 1, 8, 8)
optimizer, losses = torch.optim.AdamW(unet.parameters(), lr=1e-3), []
for _ in range(3):
    noise, steps = torch.randn(images.shape), torch.randint(0, 20, (2,))
    loss = torch.nn.functional.mse_loss(unet(schedule.add_noise(images, noise, steps), steps).sample, noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
pipeline = DDPMPipeline(unet=unet, scheduler=DDIMScheduler(num_train_timesteps=20))
pipeline.set_progress_bar_config(disable=True)
sampled = pipeline(batch_size=1, num_inference_steps=3, generator=torch.Generator().manual_seed(0),
                   output_type="np").images
coder = AutoencoderKL(block_out_channels=(8,), norm_num_groups=4, latent_channels=2)
decoded = coder(torch.randn(1, 3, 8, 8)).sample
print(json.dumps({"losses": losses, "sampled": sampled.flatten().tolist(),
                  "decoded": decoded.flatten()[:20].tolist()}))

"""``torch.distributed.elastic``: what a program does that a launcher of many processes may have started."""

"""``torch.distributed._composable``: where ``torch.distributed.fsdp`` was before."""

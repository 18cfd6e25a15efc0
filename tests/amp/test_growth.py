"""What a gradient scaler says of its steps."""

import pytest

import flambeau as torch


@pytest.mark.parametrize("enabled", [True, False])
def test_growth_tracker_counts_steps(enabled: bool) -> None:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    scaler = torch.amp.GradScaler("cpu", growth_interval=2, enabled=enabled)
    counted = []
    for _ in range(3):
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        counted.append(scaler._get_growth_tracker())
    assert counted == ([1, 0, 1] if enabled else [0, 0, 0])

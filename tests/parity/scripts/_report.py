"""Prints what a run is compared by. The scripts themselves are plain PyTorch."""

import hashlib
import json


def fingerprint(module):
    """Return, for each parameter and buffer, a hash of its bytes and its sum."""
    return {
        name: [hashlib.sha256(value.detach().numpy().tobytes()).hexdigest()[:16], float(value.double().sum())]
        for name, value in module.state_dict().items()
    }


def report(losses, initial):
    """Print the losses with full precision and the initial parameters' fingerprints as one JSON line."""
    print(json.dumps({"losses": losses, "initial": initial}))

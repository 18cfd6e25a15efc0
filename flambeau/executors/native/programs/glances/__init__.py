"""Glances: native code that knows a pending graph again, and runs its program or records what follows."""

"""Versions: flambeau's own, and that of PyTorch whose API it claims."""

flambeau_version = "0.1.0"
api_version = "2.13.0"
# What programs written for PyTorch compare with: the API's version, with flambeau's own as the local part.
__version__ = f"{api_version}+flambeau{flambeau_version}"
cuda: str | None = None
hip: str | None = None
xpu: str | None = None
debug = False
git_version = "unknown"

"""``torch.hub``: models from a folder with a ``hubconf.py``, and checkpoints from URLs.

Loading a model's code from GitHub (``load(source="github")``) is not there; loading it from a folder is.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Callable
from typing import Any
from urllib.parse import urlparse

from .serialization.load import load as _load_file

# A file name such as resnet18-bfd8deac.pth says how its content's hash begins.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
READ_DATA_CHUNK = 128 * 1024
MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"

_hub_dir: str | None = None


def _get_torch_home() -> str:
    """The folder for downloads: TORCH_HOME, or ``torch`` in the user's cache."""
    cache = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of the hub: ``hub`` in ``$TORCH_HOME``, unless ``set_dir`` chose another.

    >>> import flambeau as torch
    >>> import os
    >>> os.path.basename(torch.hub.get_dir())
    'hub'
    """
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder of the hub.

    >>> import flambeau as torch
    >>> before = torch.hub.get_dir()
    >>> torch.hub.set_dir("/tmp/models"); torch.hub.get_dir()
    '/tmp/models'
    >>> torch.hub.set_dir(before)
    """
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


# -- folders with a hubconf.py ------------------------------------------------------------------------------


def _hubconf(repo: str, source: str) -> Any:
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise ValueError("flambeau loads models' code only from folders: get the repository and pass "
                         "source='local'")
    path = os.path.join(repo, MODULE_HUBCONF)
    sys.path.insert(0, repo)
    try:
        spec = importlib.util.spec_from_file_location(MODULE_HUBCONF, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(repo)
    missing = [name for name in getattr(module, VAR_DEPENDENCY, ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: Any, name: str) -> Callable[..., Any]:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    function = getattr(module, name, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return function


def list(github: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: Any = "check", verbose: bool = True, *, source: str = "local") -> builtins.list[str]:
    """The names of the models that a folder's ``hubconf.py`` offers."""
    module = _hubconf(github, source)
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(github: str, model: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: Any = "check", *, source: str = "local") -> str | None:
    """The docstring of a model's function."""
    return _entry(_hubconf(github, source), model).__doc__


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: Any = "check",
         force_reload: bool = False, verbose: bool = True, skip_validation: bool = False,
         **kwargs: Any) -> Any:
    """What the function ``model`` in the ``hubconf.py`` of a folder returns (``source="local"``).

    >>> import flambeau as torch
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "hubconf.py").write_text("def small(size): return [0] * size")
    ...     torch.hub.load(folder, "small", 3, source="local")
    [0, 0, 0]
    """
    module = _hubconf(repo_or_dir, str(source).lower())
    sys.path.insert(0, repo_or_dir)
    try:
        return _entry(module, model)(*args, **kwargs)
    finally:
        sys.path.remove(repo_or_dir)


# -- downloads ----------------------------------------------------------------------------------------------


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download to a file, which appears only once it is complete (and its SHA-256 begins as it should)."""
    from urllib.request import Request, urlopen

    folder = os.path.dirname(os.path.abspath(os.path.expanduser(dst)))
    checksum = hashlib.sha256()
    request = Request(url, headers={"User-Agent": "torch.hub"})
    handle, temporary = tempfile.mkstemp(suffix=".partial", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file, urlopen(request) as answer:
            bar = _bar(answer, progress)
            while chunk := answer.read(READ_DATA_CHUNK):
                file.write(chunk)
                checksum.update(chunk)
                bar(len(chunk))
        digest = checksum.hexdigest()
        if hash_prefix is not None and not digest.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
        os.replace(temporary, os.path.expanduser(dst))
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def _bar(answer: Any, progress: bool) -> Callable[[int], Any]:
    """Shows how far a download is, where tqdm is installed."""
    if not progress:
        return lambda n: None
    try:
        from tqdm import tqdm
    except ImportError:
        return lambda n: None
    size = answer.headers.get("Content-Length")
    shown: Callable[[int], Any] = tqdm(total=None if size is None else int(size), unit="B", unit_scale=True,
                                       unit_divisor=1024).update
    return shown


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
    check_hash: bool = False, file_name: str | None = None, weights_only: bool = False,
) -> dict[str, Any]:
    """Load a checkpoint from a URL; it is downloaded once, into ``checkpoints`` in the hub's folder."""
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name if file_name is not None else os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress=progress)
    loaded: dict[str, Any] = _load_file(path, map_location=map_location, weights_only=weights_only)
    return loaded


__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

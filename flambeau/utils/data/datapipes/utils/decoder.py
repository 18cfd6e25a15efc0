"""Decoders of files, chosen by extension."""

from __future__ import annotations

import io
import json
import os.path
import pickle
import tempfile
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .....operators.creation.factories import from_numpy
from .common import StreamWrapper

__all__ = [
    "Decoder", "ImageHandler", "MatHandler", "audiohandler", "basichandlers", "extension_extract_fn",
    "handle_extension", "imagehandler", "mathandler", "videohandler",
]  # fmt: skip

_BASIC: tuple[tuple[set[str], Callable[[bytes], Any]], ...] = (
    ({"txt", "text", "transcript"}, lambda data: data.decode("utf-8")),
    ({"cls", "cls2", "class", "count", "index", "inx", "id"}, int),
    ({"json", "jsn"}, json.loads),
    ({"pyd", "pickle"}, pickle.loads),
    ({"pt"}, lambda data: data.decode("utf-8")),
)


def basichandlers(extension: str, data: Any) -> Any:
    """Texts, numbers, JSON and pickles; None for other files.

    >>> basichandlers("json", b"[1, 2]")
    [1, 2]
    """
    for extensions, decode in _BASIC:
        if extension in extensions:
            return decode(data)
    return None


def handle_extension(extensions: str, f: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """A handler that decodes files of some extensions with a function.

    >>> handle_extension("jpg jpeg", len)("a.jpg", b"abc")
    3
    """
    known = extensions.split()

    def handle(key: str, data: Any) -> Any:
        parts = key.lower().split(".")
        for extension in known:
            wanted = extension.split(".")
            if parts[-len(wanted):] == wanted:
                return f(data)
        return None

    return handle


# What an image becomes: of which kind, with which elements, and in which colours.
imagespecs = {
    "l8": ("numpy", "uint8", "l"), "rgb8": ("numpy", "uint8", "rgb"), "rgba8": ("numpy", "uint8", "rgba"),
    "l": ("numpy", "float", "l"), "rgb": ("numpy", "float", "rgb"), "rgba": ("numpy", "float", "rgba"),
    "torchl8": ("torch", "uint8", "l"), "torchrgb8": ("torch", "uint8", "rgb"),
    "torchrgba8": ("torch", "uint8", "rgba"), "torchl": ("torch", "float", "l"),
    "torchrgb": ("torch", "float", "rgb"), "torch": ("torch", "float", "rgb"),
    "torchrgba": ("torch", "float", "rgba"), "pill": ("pil", None, "l"), "pil": ("pil", None, "rgb"),
    "pilrgb": ("pil", None, "rgb"), "pilrgba": ("pil", None, "rgba"),
}  # fmt: skip


class ImageHandler:
    """Images as arrays (H, W, C), tensors (C, H, W) or PIL's images; needs Pillow."""

    def __init__(self, imagespec: str) -> None:
        if imagespec not in imagespecs:
            raise AssertionError(f"unknown image specification: {imagespec}")
        self.imagespec = imagespec.lower()

    def __call__(self, extension: str, data: bytes) -> Any:
        if extension.lower() not in {"jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm"}:
            return None
        try:
            from PIL import Image
        except ImportError as error:
            raise ModuleNotFoundError(
                "Package `PIL` is required to be installed for default image decoder.Please use `pip install "
                "Pillow` to install the package"
            ) from error
        kind, elements, mode = imagespecs[self.imagespec]
        with io.BytesIO(data) as stream:
            image: Any = Image.open(stream)
            image.load()
            image = image.convert(mode.upper())
        if kind == "pil":
            return image
        array = np.asarray(image)
        if elements == "float":
            array = array.astype(np.float32) / 255
        if kind == "numpy":
            return array
        return from_numpy(np.ascontiguousarray(array if array.ndim == 2 else array.transpose(2, 0, 1)).copy())


def imagehandler(imagespec: str) -> ImageHandler:
    """The handler of images."""
    return ImageHandler(imagespec)


def _by_package(package: str, module: str, function: str, kind: str, extension: str, data: bytes) -> Any:
    """Data as a file, which a function of another package reads."""
    try:
        read = getattr(import_module(module), function)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"Package `{package}` is required to be installed for default {kind} file loader.Please use `pip "
            f"install {package}`to install the package"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"file.{extension}")
        with open(path, "wb") as file:
            file.write(data)
        return read(path)


def videohandler(extension: str, data: bytes) -> Any:
    """Videos, with torchvision."""
    if extension not in ("mp4", "ogv", "mjpeg", "avi", "mov", "h264", "mpg", "webm", "wmv"):
        return None
    return _by_package("torchvision", "torchvision.io", "read_video", "video", extension, data)


def audiohandler(extension: str, data: bytes) -> Any:
    """Sounds, with torchaudio."""
    if extension not in ("flac", "mp3", "sox", "wav", "m4a", "ogg", "wma"):
        return None
    return _by_package("torchaudio", "torchaudio", "load", "audio", extension, data)


class MatHandler:
    """Matlab's files, with SciPy."""

    def __init__(self, **loadmat_kwargs: Any) -> None:
        try:
            import scipy.io
        except ImportError as error:
            raise ModuleNotFoundError(
                "Package `scipy` is required to be installed for mat file.Please use `pip install scipy`to "
                "install the package"
            ) from error
        self.sio = scipy.io
        self.loadmat_kwargs = loadmat_kwargs

    def __call__(self, extension: str, data: bytes) -> Any:
        if extension != "mat":
            return None
        with io.BytesIO(data) as stream:
            return self.sio.loadmat(stream, **self.loadmat_kwargs)


def mathandler(**loadmat_kwargs: Any) -> MatHandler:
    """The handler of Matlab's files."""
    return MatHandler(**loadmat_kwargs)


def extension_extract_fn(pathname: str) -> str:
    """The extension of a path, without the dot.

    >>> extension_extract_fn("a/b.tar.gz")
    'gz'
    """
    return os.path.splitext(pathname)[1].removeprefix(".")


class Decoder:
    """Decodes pairs of a path and data, or of a stream, by the first handler that knows what to do.

    >>> Decoder(basichandlers)(("a.json", b"[1]"))
    {'a.json': [1]}
    """

    def __init__(
        self, *handler: Callable[..., Any], key_fn: Callable[[str], Any] = extension_extract_fn
    ) -> None:
        self.handlers = list(handler)
        self.key_fn = key_fn

    def add_handler(self, *handler: Callable[..., Any]) -> None:
        """Handlers to be asked after the others."""
        self.handlers.extend(handler)

    @staticmethod
    def _is_stream_handle(data: Any) -> bool:
        found = data.file_obj if isinstance(data, StreamWrapper) else data
        return isinstance(found, (io.BufferedIOBase, io.RawIOBase))

    def decode1(self, key: Any, data: Any) -> Any:
        """What the first handler that knows the key makes of data; the data if there is none."""
        for handler in self.handlers:
            found = handler(key, data)
            if found is not None:
                return found
        return data

    def decode(self, data: Any) -> dict[Any, Any]:
        """A dictionary of paths and decoded data."""
        pairs = [data] if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], str) else data
        result = {}
        for path, content in pairs:
            if path[0] == "_":  # notes of the set itself
                result[path] = content.decode("utf-8") if isinstance(content, bytes) else content
                continue
            if self._is_stream_handle(content):
                stream, content = content, content.read()
                StreamWrapper.close_streams(stream)
            result[path] = self.decode1(self.key_fn(path), content)
        return result

    def __call__(self, data: Any) -> dict[Any, Any]:
        return self.decode(data)

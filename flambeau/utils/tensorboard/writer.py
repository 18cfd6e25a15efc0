"""``SummaryWriter``: writes what a program reports to files that TensorBoard shows."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from tensorboard.compat.proto.event_pb2 import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
    Event,
    SessionLog,
)
from tensorboard.summary.writer.event_file_writer import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
    EventFileWriter,
)

from . import curves, embeddings, summary


class FileWriter:
    """Writes events to one folder."""

    def __init__(self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: int = 120,
                 filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(os.fspath(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event; it gets the time and the step."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Write values."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write to disk what is waiting."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what is waiting and close the file."""
        self.event_writer.close()


class SummaryWriter:
    """Writes numbers, histograms, pictures, text and hyperparameters to ``log_dir``.

    By default that is ``runs/<time>_<host><comment>``; curves, charts and embeddings, too. Graphs, meshes,
    sounds and videos are not there.
    """

    def __init__(self, log_dir: str | os.PathLike[str] | None = None, comment: str = "",
                 purge_step: int | None = None, max_queue: int = 10, flush_secs: int = 120,
                 filename_suffix: str = "") -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step, self.max_queue = purge_step, max_queue
        self.flush_secs, self.filename_suffix = flush_secs, filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        if self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step = self.purge_step
                self.file_writer.add_event(Event(step=step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def _write(self, message: Any, step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(message, step, walltime)

    def get_logdir(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.log_dir

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None,
                   new_style: bool = False, double_precision: bool = False) -> None:
        """A number."""
        message = summary.scalar(tag, scalar_value, new_style, double_precision)
        self._write(message, global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None,
                    walltime: float | None = None) -> None:
        """Numbers that belong into one chart: each goes to a folder of its own."""
        folder = self._get_file_writer().get_logdir()
        writers = self.all_writers if self.all_writers is not None else {}
        for tag, value in tag_scalar_dict.items():
            place = os.path.join(folder, main_tag.replace("/", "_") + "_" + tag)
            if place not in writers:
                writers[place] = FileWriter(place, self.max_queue, self.flush_secs, self.filename_suffix)
            writers[place].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_histogram(self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow",
                      walltime: float | None = None, max_bins: int | None = None) -> None:
        """How often values lie where."""
        message = summary.histogram(tag, values, bins, max_bins)
        self._write(message, global_step, walltime)

    def add_image(self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
                  dataformats: str = "CHW") -> None:
        """A picture."""
        self._write(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
                   dataformats: str = "NCHW") -> None:
        """Pictures, in a grid."""
        self._write(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_figure(self, tag: str, figure: Any, global_step: Any = None, close: bool = True,
                   walltime: float | None = None) -> None:
        """A figure of Matplotlib, or several."""
        import matplotlib.pyplot as plt
        import numpy as np
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        for one in figure if isinstance(figure, list) else [figure]:
            canvas = FigureCanvasAgg(one)
            canvas.draw()
            pixels = np.asarray(canvas.buffer_rgba())
            self.add_image(tag, pixels, global_step, walltime, "HWC")
            if close:
                plt.close(one)

    def add_text(self, tag: str, text_string: str, global_step: Any = None,
                 walltime: float | None = None) -> None:
        """Text."""
        self._write(summary.text(tag, text_string), global_step, walltime)

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any],
                    hparam_domain_discrete: Any = None, run_name: str | None = None,
                    global_step: Any = None) -> None:
        """What a run was told, and what came of it."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as run:
            for message in summary.hparams(hparam_dict, metric_dict):
                run._write(message, global_step, None)
            for name, value in metric_dict.items():
                run.add_scalar(name, value, global_step)

    def add_pr_curve(self, tag: str, labels: Any, predictions: Any, global_step: Any = None,
                     num_thresholds: int = 127, weights: Any = None, walltime: float | None = None) -> None:
        """Precision and recall of predictions between 0 and 1, at thresholds."""
        message = curves.precision_recall_of(tag, labels, predictions, num_thresholds, weights)
        self._write(message, global_step, walltime)

    def add_pr_curve_raw(self, tag: str, true_positive_counts: Any, false_positive_counts: Any,
                         true_negative_counts: Any, false_negative_counts: Any, precision: Any, recall: Any,
                         global_step: Any = None, num_thresholds: int = 127, weights: Any = None,
                         walltime: float | None = None) -> None:
        """A curve that was computed before."""
        rows = [true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts,
                precision, recall]
        self._write(curves.precision_recall(tag, rows, num_thresholds), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None,
                   walltime: float | None = None) -> None:
        """A tensor."""
        self._write(summary.tensor(tag, tensor), global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Which numbers stand in one chart: category -> title -> ("Multiline" or "Margin", tags)."""
        self._write(curves.charts(layout), None, None)

    def add_custom_scalars_multilinechart(self, tags: list[str], category: str = "default",
                                          title: str = "untitled") -> None:
        """One chart of several numbers."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: list[str], category: str = "default",
                                       title: str = "untitled") -> None:
        """One chart of a number, its lower and its upper bound."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_embedding(self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: Any = None,
                      tag: str = "default", metadata_header: Any = None) -> None:
        """Points (N, D) for the projector, with labels and pictures (N, C, H, W)."""
        folder = Path(self._get_file_writer().get_logdir())
        step = str(0 if global_step is None else global_step).zfill(5)
        name = tag.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")
        entry = embeddings.write_points(folder, f"{step}/{name}", mat, metadata, metadata_header, label_img)
        entry.tensor_name = f"{tag}:{step}"
        embeddings.list_points(folder, entry)

    def flush(self) -> None:
        """Write to disk what is waiting."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Close the files; what is written afterwards goes to a new one."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


__all__ = ["FileWriter", "SummaryWriter"]

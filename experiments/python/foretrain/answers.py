"""Answers of commands: what they say as attributes, and as table, data frame, chart, page and report."""

from __future__ import annotations

import csv
import html
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from copy import deepcopy
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import plots
from .errors import ForetrainError, error_of
from .process import Finished, TextFile, run
from .results import FleetResult, Result
from .values import Range, Record, cell_text, html_table

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas

Again = Callable[[list[str]], Finished]
"""Runs the command of an answer again, with options added."""


def _typed(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def table_rows(text: str) -> list[dict[str, Any]]:
    """Rows of a CSV text: numbers as numbers with all their digits, empty fields as None."""
    return [{key: _typed(value) for key, value in row.items()} for row in csv.DictReader(io.StringIO(text))]


class Answer(Record):
    """What a command answered.

    Attributes are those of the program's JSON (docs/results.md); `json()` gives a copy of the whole.
    """

    def __init__(self, data: Mapping[str, Any], finished: Finished, again: Again) -> None:
        """Keep the JSON, how the run ended, and how to run it again."""
        super().__init__(data)
        self.__dict__["_finished"] = finished
        self.__dict__["_again"] = again

    @property
    def status(self) -> int:
        """Exit code: 0 done, 1 an expectation, bound or goal is not met, 2 points are wrong, 130 interrupted."""
        return int(self._finished.status)

    @property
    def messages(self) -> list[str]:
        """What the program said beside its answer: expectations that are not met, points that failed."""
        return [line for line in self._finished.messages.splitlines() if not line.startswith("wrote ")]

    def _told(self, form: str) -> str:
        with TextFile(json.dumps(self._data)) as text:
            finished = run(["report", "-", "--format", form], standard_input=text)
        if finished.status != 0:
            raise error_of(finished.messages, finished.status)
        return finished.output

    def text(self) -> str:
        """Tell it as the command's table."""
        return self._told("table")

    def __str__(self) -> str:
        """Tell it as the command's table."""
        return self.text()

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the command's CSV: columns carry units, numbers all their digits."""
        return table_rows(self._told("csv"))

    def frame(self) -> pandas.DataFrame:
        """Give the rows as a data frame; needs pandas."""
        import pandas

        return pandas.DataFrame(self.rows())

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the command's report files into a directory and return it; the command runs again for that."""
        finished = self._again(["--out", fspath(path)])
        if finished.status not in (0, 1):
            raise error_of(finished.messages, finished.status)
        return Path(path)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text())}</pre>"


class Prediction(Answer, Result):
    """How fast the jobs of an experiment run: one point for each combination of its sweep."""

    def only(self) -> Any:
        """Give the job of a prediction that has one point and one job.

        Raises:
            ForetrainError: it has several.
        """
        jobs = [job for point in self.points for job in point.jobs or []]
        if len(jobs) != 1:
            raise ForetrainError(f"this prediction has {len(jobs)} jobs of points; ask points[i].jobs[j]")
        return jobs[0]

    def plot(self, kind: str = "scaling", *, point: int = -1, axes: Any = None) -> matplotlib.axes.Axes:
        """Draw a chart with matplotlib and return its axes.

        Args:
            kind: "scaling" (samples/s over GPUs, with intervals), "step" (parts of the step in seconds),
                "sensitivity" (what makes the interval wide) or "timeline" (one step, GPU by GPU; runs the point again).
            point: which point, for "sensitivity" and "timeline"; the last by default.
            axes: to draw into; new ones by default.
        """
        if kind == "timeline":
            return plots.timeline(self.trace(point), axes)
        return plots.of_prediction(self, kind, point, axes)

    def trace(self, point: int = -1) -> dict[str, Any]:
        """Give one step of a point as a Chrome/Perfetto trace; the experiment runs again for that."""
        count = len(self.points)
        with tempfile.TemporaryDirectory() as folder:
            finished = self._again(["--out", folder, "--trace"])
            path = Path(folder) / f"trace-{point % count}.json"
            if not path.exists():
                raise error_of(finished.messages, finished.status)
            traced: dict[str, Any] = json.loads(path.read_text())
            return traced

    def report(self, path: str | PathLike[str]) -> Path:
        """Write report.html, result.json and result.csv into a directory and return it; nothing runs again."""
        with TextFile(json.dumps(self._data)) as text:
            finished = run(["report", "-", "--format", "json", "--out", fspath(path)], standard_input=text)
        if finished.status != 0:
            raise error_of(finished.messages, finished.status)
        return Path(path)

    def _repr_html_(self) -> str:
        varied = sorted({pointer for point in self.points for pointer in point.settings})
        columns = [*varied, "job", "GPUs", "samples/s", "low", "high", "step (ms)", "efficiency", "limited by"]
        rows: list[list[Any]] = []
        for point in self.points:
            values = [point.settings.json().get(pointer) for pointer in varied]
            if point.error:
                rows.append([*values, point.error, *[None] * (len(columns) - len(varied) - 1)])
            for job in point.jobs or []:
                rate = job.throughput_samples_per_s
                rows.append([*values, job.name, job.gpus, rate.median, rate.low, rate.high,
                             1000 * job.step_time_s.median, job.efficiency, job.bottleneck.resource])
        return f"<p>{html.escape(self.experiment)}</p>" + html_table(columns, rows)


class Comparison(Answer):
    """Which of two systems is faster, how sure that is, and why (docs/compare.md)."""

    def plot(self, *, axes: Any = None) -> matplotlib.axes.Axes:
        """Draw B's throughput over A's, pair by pair, with intervals."""
        return plots.of_comparison(self, axes)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write compare.txt, compare.csv and compare.json into a directory and return it."""
        return _written(self, path, "compare", "csv")


class Explanation(Answer):
    """Where a step's time goes and what would make it shorter (docs/explain.md)."""

    def rows(self) -> list[dict[str, Any]]:
        """One row for each lever of each job: gains are relative."""
        return [{"job": job["name"], **lever} for job in self.json()["jobs"] for lever in job.get("levers", [])]

    def plot(self, *, job: int = 0, axes: Any = None) -> matplotlib.axes.Axes:
        """Draw what each lever would bring, twice as good, as a share of the throughput."""
        return plots.of_explanation(self, job, axes)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write explain.txt, explain.html and explain.json into a directory and return it."""
        return _written(self, path, "explain", "html")


def _written(answer: Answer, path: str | PathLike[str], name: str, form: str) -> Path:
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(answer.json()))
    (folder / f"{name}.txt").write_text(answer.text())
    (folder / f"{name}.{form}").write_bytes(answer._told(form).encode())
    return folder


class PlanAnswer(Answer):
    """The cheapest way to a goal, and what single changes bring (docs/plan.md)."""

    def plot(self, *, axes: Any = None) -> matplotlib.axes.Axes:
        """Draw throughput over cost, with the frontier and the choice."""
        return plots.of_plan(self, axes)


class TuneAnswer(Answer):
    """The best parallel plans of a large model's job (docs/large-models.md)."""

    def text(self) -> str:
        """Tell it as the command's table; the search runs again for that."""
        finished: Finished = self._again(["--format", "table"])
        if finished.status != 0:
            raise error_of(finished.messages, finished.status)
        return finished.output

    def rows(self) -> list[dict[str, Any]]:
        """One row for each plan, the best first."""
        return [_flat(plan) for plan in self.json()["plans"]]

    def plot(self, *, axes: Any = None) -> matplotlib.axes.Axes:
        """Draw tokens/s of the plans, with intervals."""
        return plots.of_tuning(self, axes)

    def best(self) -> dict[str, Any]:
        """Give the experiment with the best plan; the search runs again for that."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "best.json"
            finished = self._again(["--out", str(path)])
            if not path.exists():
                raise error_of(finished.messages, finished.status)
            best: dict[str, Any] = json.loads(path.read_text())
            return best

    def report(self, path: str | PathLike[str]) -> Path:
        """Write tune.json and best.json, the experiment with the best plan, into a directory and return it."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tune.json").write_text(json.dumps(self._data))
        (folder / "best.json").write_text(json.dumps(self.best()))
        return folder

    def _repr_html_(self) -> str:
        rows = self.rows()
        columns = sorted({key for row in rows for key in row}, key=[key for row in rows for key in row].index)
        return html_table(columns, [[row.get(column) for column in columns] for row in rows])


def _flat(data: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict) and value.keys() == {"median", "low", "high", "interval"}:
            row |= {before + key: value["median"], f"{before}{key}_low": value["low"],
                    f"{before}{key}_high": value["high"]}
        elif isinstance(value, dict):
            row |= _flat(value, f"{before}{key}_")
        else:
            row[before + key] = value
    return row


class FleetAnswer(Answer, FleetResult):
    """Jobs over time on a cluster: waits, goodput, and where GPU hours went (docs/fleet.md).

    `jobs_table` holds one row a job of the first seed, as dicts: id, queue, account, gpus, submit_s, start_s,
    end_s, wait_s, run_s, nodes, restarts, state, waited_for.
    """

    def __init__(self, data: Mapping[str, Any], finished: Finished, again: Again, files: Mapping[str, str]) -> None:
        """Keep the files of the run beside its JSON."""
        super().__init__(data, finished, again)
        self.__dict__["_files"] = dict(files)
        self.__dict__["jobs_table"] = tuple(table_rows(files["jobs.csv"]))

    jobs_table: tuple[dict[str, Any], ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row a job."""
        return [dict(row) for row in self.jobs_table]

    def plot(self, kind: str = "gantt", *, axes: Any = None) -> matplotlib.axes.Axes:
        """Draw a chart with matplotlib and return its axes.

        Args:
            kind: "gantt" (GPUs that jobs hold over time), "gpu_hours" (where they went) or "waits" (share of jobs
                that wait no longer).
            axes: to draw into; new ones by default.
        """
        return plots.of_fleet(self, kind, axes)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write report.html, fleet.json, jobs.csv, jobs.swf, timeline.json into a directory and return it."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self._files.items():
            (folder / name).write_bytes(text.encode())
        return folder

    def _repr_html_(self) -> str:
        rows = [["jobs", f"{self.jobs.completed} of {self.jobs.submitted} completed"],
                *[[f"mean {name} (h)", _hours(of.mean)]
                  for name, of in (("wait", self.wait_s), ("completion", self.completion_s)) if of is not None],
                *[[name, self[name]] for name in ("utilisation", "goodput", "ettr")],
                *[[f"GPU hours: {name}", self.gpu_hours[name]] for name in self.gpu_hours]]
        return f"<p>{html.escape(self.fleet)}, {html.escape(self.policy)}</p>" + html_table(["", ""], rows)


class FleetSweep(Answer):
    """A fleet at many points: `points`, each with its `settings` and what `fleet` answers (docs/fleet.md)."""

    def plot(self, *, axes: Any = None) -> matplotlib.axes.Axes:
        """Draw below which time nine of ten jobs wait, point by point, with intervals over seeds."""
        return plots.of_fleet_sweep(self, axes)


def _hours(seconds: Range) -> str:
    return " ".join(cell_text(value / 3600) for value in (seconds.median, seconds.low, seconds.high))


class Plain(Answer):
    """An answer of a command that prints no other form than this JSON; `text()` runs it again."""

    def text(self) -> str:
        """Tell it as the command's table."""
        finished: Finished = self._again(["--format", "table"])
        if not finished.output:
            raise error_of(finished.messages, finished.status)
        return finished.output

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the answer as answer.json and answer.txt into a directory and return it; `text()` runs it again."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "answer.json").write_text(json.dumps(self._data))
        (folder / "answer.txt").write_text(self.text())
        return folder


class Checked(Plain):
    """Experiments held against what they expect (docs/ci.md)."""

    def rows(self) -> list[dict[str, Any]]:
        """One row for each case of each file."""
        return [{"file": file["file"], **case} for file in self.json()["files"] for case in file["cases"]]


class Validation(Plain):
    """Predictions held against measurements (docs/validate.md)."""

    def rows(self) -> list[dict[str, Any]]:
        """One row for each measurement or claim."""
        data = self.json()
        held = data.get("suites", [data])
        return [_flat(row) for suite in held for row in suite.get("rows", suite.get("claims", []))]

    def plot(self, *, axes: Any = None) -> matplotlib.axes.Axes:
        """Draw predicted over measured values, by unit."""
        return plots.of_validation(self, axes)


class Calibration(Record):
    """What `calibrate` learnt: the profile's keys, `text` (fits and residuals), and `written`."""

    def __init__(self, data: Mapping[str, Any], finished: Finished, written: bool) -> None:
        """Keep the profile and what was said."""
        super().__init__(data)
        self.__dict__.update(text=finished.output, notes=tuple(finished.messages.splitlines()), written=written)

    text: str
    notes: tuple[str, ...]
    written: bool


class NcclTests(Record):
    """What nccl-tests would print, and its rows."""

    def __init__(self, finished: Finished) -> None:
        """Read the table."""
        super().__init__({"text": finished.output, "rows": _nccl_rows(finished.output), "status": finished.status})

    text: str
    status: int

    def rows(self) -> list[dict[str, Any]]:
        """One row a size: bytes, microseconds, GB/s out of place and in place."""
        return deepcopy(self._data["rows"])

    def frame(self) -> pandas.DataFrame:
        """Give the rows as a data frame; needs pandas."""
        import pandas

        return pandas.DataFrame(self.rows())

    def __str__(self) -> str:
        """Give the table as nccl-tests prints it."""
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


_NCCL_COLUMNS = ("size_byte", "count", "type", "redop", "root", "time_us", "algbw_GB_per_s", "busbw_GB_per_s", "wrong",
                 "in_place_time_us", "in_place_algbw_GB_per_s", "in_place_busbw_GB_per_s", "in_place_wrong")


def _nccl_rows(text: str) -> list[dict[str, Any]]:
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return [dict(zip(_NCCL_COLUMNS, map(_typed, words))) for words in lines if len(words) == len(_NCCL_COLUMNS)]


def texts_of(folder: Path, path: str | PathLike[str] | None) -> dict[str, str]:
    """Texts of the files in a folder, which are copied to `path` where there is one."""
    if path is not None:
        shutil.copytree(folder, path, dirs_exist_ok=True)
    return {file.name: file.read_bytes().decode() for file in sorted(folder.iterdir())}

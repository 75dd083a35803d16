"""Charts of answers, drawn with matplotlib into axes that the caller may go on with."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import ForetrainError

if TYPE_CHECKING:
    from . import answers

# Okabe and Ito: told apart by people who see fewer colours, too.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
_COMPLETE_S = 1e-12
_TOLD_GAIN = 0.001


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    return pyplot.figure(figsize=(8, 5), layout="constrained").add_subplot()


def _unknown(kind: str, known: Sequence[str]) -> ForetrainError:
    return ForetrainError(f"plot of kind '{kind}' is not known; known kinds: {', '.join(known)}")


def of_prediction(prediction: answers.Prediction, kind: str, point: int, axes: Any) -> Any:
    """Draw a chart of a prediction."""
    if kind == "sensitivity":
        return _sensitivity(prediction.points[point], _axes(axes))
    kinds = {"scaling": _scaling, "step": _step}
    if kind not in kinds:
        raise _unknown(kind, [*kinds, "sensitivity", "timeline"])
    return kinds[kind](prediction, _axes(axes))


def _found(prediction: answers.Prediction) -> list[tuple[Any, Any]]:
    found = [(point, job) for point in prediction.points for job in point.jobs or []]
    if not found:
        raise ForetrainError("no point of this prediction was found: there is nothing to draw")
    return found


def _series(point: Any, job: Any) -> str:
    """What tells curves of a scaling chart apart: the job and all settings but the number of GPUs."""
    settings = [_setting(pointer, value) for pointer, value in point.settings.json().items()
                if not pointer.endswith("/gpus")]
    return ", ".join(settings if settings and len(point.jobs) == 1 else [job.name, *settings])


def _setting(pointer: str, value: Any) -> str:
    """A setting as words: of an object its values."""
    if isinstance(value, dict):
        return " ".join(str(entry) for entry in value.values())
    return f"{pointer.rpartition('/')[2]} {value}"


def _scaling(prediction: answers.Prediction, axes: Any) -> Any:
    curves: dict[str, list[tuple[int, Any]]] = {}
    for point, job in _found(prediction):
        curves.setdefault(_series(point, job), []).append((job.gpus, job.throughput_samples_per_s))
    for i, (name, curve) in enumerate(curves.items()):
        curve.sort(key=lambda entry: entry[0])
        gpus = [entry[0] for entry in curve]
        colour = _COLOURS[i % len(_COLOURS)]
        axes.plot(gpus, [entry[1].median for entry in curve], marker="o", color=colour, label=name)
        lows, highs = [entry[1].low for entry in curve], [entry[1].high for entry in curve]
        axes.fill_between(gpus, lows, highs, color=colour, alpha=0.2)
    axes.set(xlabel="GPUs", ylabel="samples/s", title=prediction.experiment)
    axes.set_ylim(bottom=0)
    axes.legend()
    return axes


def _step(prediction: answers.Prediction, axes: Any) -> Any:
    found = _found(prediction)
    names = [f"{_series(point, job)}, {job.gpus} GPUs" for point, job in found]
    parts = list(dict.fromkeys(part for _, job in found for part in job.time_s))
    lefts = [0.0] * len(found)
    for i, part in enumerate(parts):
        lengths = [1000 * job.time_s.json().get(part, 0.0) for _, job in found]
        if max(lengths) > _COMPLETE_S:
            axes.barh(names, lengths, left=lefts, color=_COLOURS[i % len(_COLOURS)], label=part.replace("_", " "))
        lefts = [left + length for left, length in zip(lefts, lengths)]
    axes.invert_yaxis()
    axes.set(xlabel="ms of a step", title=prediction.experiment)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return axes


def _sensitivity(point: Any, axes: Any) -> Any:
    if not point.jobs:
        raise ForetrainError(f"this point was not found: {point.error}")
    contributions = point.jobs[0].uncertainty.contributions or []
    if not contributions:
        raise ForetrainError("its interval holds the variation of steps only: predict with uncertainty='linear'")
    axes.barh([entry.parameter for entry in contributions], [100 * entry.effect for entry in contributions],
              color=_COLOURS[0])
    axes.invert_yaxis()
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set(xlabel="% of throughput, for one standard deviation", title=point.jobs[0].name)
    return axes


def timeline(trace: Any, axes: Any) -> Any:
    """Draw a Chrome trace: a row for each GPU and stream."""
    axes = _axes(axes)
    events = trace["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events
             if event.get("ph") == "M" and event.get("name") == "process_name"}
    threads = {(event["pid"], event["tid"]): event["args"]["name"] for event in events
               if event.get("ph") == "M" and event.get("name") == "thread_name"}
    bars = [event for event in events if event.get("ph") == "X"]
    rows = list(dict.fromkeys((event["pid"], event["tid"]) for event in bars))
    colours: dict[str, str] = {}
    for event in bars:
        kind = event.get("cat") or event["name"].split()[0]
        new = kind not in colours
        colour = colours.setdefault(kind, _COLOURS[len(colours) % len(_COLOURS)])
        axes.barh(rows.index((event["pid"], event["tid"])), event["dur"] / 1000, left=event["ts"] / 1000, color=colour,
                  label=kind if new else None)
    axes.set_yticks(range(len(rows)), [f"{names.get(pid, pid)} {threads.get((pid, tid), tid)}" for pid, tid in rows])
    axes.invert_yaxis()
    axes.set(xlabel="ms")
    axes.legend()
    return axes


def of_comparison(comparison: answers.Comparison, axes: Any) -> Any:
    """Draw ratios with their intervals; of fleets, how much less waiting B has."""
    axes = _axes(axes)
    if "seeds" in comparison:
        return _fleet_comparison(comparison, axes)
    names = []
    for i, pair in enumerate(comparison.pairs):
        settings = ", ".join(_setting(pointer, value) for pointer, value in pair.settings.json().items())
        names.append(", ".join(filter(None, [pair.job, settings])))
        ratio = pair.ratio
        axes.errorbar(ratio.median, i, xerr=[[ratio.median - ratio.low], [ratio.high - ratio.median]], fmt="o",
                      color=_COLOURS[0], capsize=3)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xlabel=f"throughput of B ({comparison.b.name}) over A ({comparison.a.name})")
    return axes


def _fleet_comparison(comparison: answers.Comparison, axes: Any) -> Any:
    """Draw differences of times with their ranges over seeds, in hours."""
    names: list[str] = []
    for pair in comparison.pairs:
        settings = ", ".join(_setting(pointer, value) for pointer, value in pair.settings.json().items())
        for entry in pair.quantities:
            if not entry.quantity.startswith(("/wait_s/", "/completion_s/", "/makespan_s")):
                continue
            median, low, high = (value / 3600 for value in (entry.difference.median, entry.difference.low,
                                                             entry.difference.high))
            axes.errorbar(median, len(names), xerr=[[median - low], [high - median]], fmt="o", color=_COLOURS[0],
                          capsize=3)
            names.append(", ".join(filter(None, [entry.quantity[1:].replace("_s", "").replace("/", " "), settings])))
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set(xlabel=f"hours: B ({comparison.b.name}) less A ({comparison.a.name})")
    return axes


def of_fleet_sweep(sweep: answers.FleetSweep, axes: Any) -> Any:
    """Draw waits of points, in hours."""
    axes = _axes(axes)
    names = [", ".join(_setting(pointer, value) for pointer, value in point.settings.json().items())
             for point in sweep.points]
    ran = [(name, point.wait_s.p90) for name, point in zip(names, sweep.points) if point.wait_s is not None]
    return _waits_over([name for name, _ in ran], [wait for _, wait in ran], sweep.fleet, axes)


def _waits_over(names: list[str], waits: list[Any], title: str, axes: Any) -> Any:
    """Draw bars of waits that nine of ten jobs stay below, with their ranges."""
    medians = [wait.median / 3600 for wait in waits]
    errors = [[(wait.median - wait.low) / 3600 for wait in waits], [(wait.high - wait.median) / 3600 for wait in waits]]
    axes.barh(range(len(names)), medians, xerr=errors, color=_COLOURS[0], capsize=3)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set(xlabel="hours that nine of ten jobs wait less than", title=title)
    return axes


def of_explanation(explanation: answers.Explanation, job: int, axes: Any) -> Any:
    """Draw what levers bring, where they bring anything."""
    axes = _axes(axes)
    levers = [lever for lever in explanation.jobs[job].levers if lever.gain_if_doubled > _TOLD_GAIN]
    axes.barh([lever.doubled for lever in levers], [100 * lever.gain_if_doubled for lever in levers],
              color=_COLOURS[0])
    axes.invert_yaxis()
    axes.set(xlabel="% more throughput", title=explanation.jobs[job].name)
    return axes


def of_plan(plan: answers.PlanAnswer, axes: Any) -> Any:
    """Draw throughput over cost; of fleets, waits of the candidates."""
    axes = _axes(axes)
    if "seeds" in plan:
        told = [(i, candidate) for i, candidate in enumerate(plan.candidates) if candidate.wait_p90_s is not None]
        names = [", ".join(f"{change} {option}" for change, option in candidate.options.json().items())
                 + (" (recommended)" if i == plan.recommended else "") for i, candidate in told]
        return _waits_over(names, [candidate.wait_p90_s for _, candidate in told], plan.plan, axes)
    judged = [(i, candidate.cost, job.throughput_samples_per_s.median) for i, candidate in enumerate(plan.candidates)
              for job in candidate.jobs or [] if job.name == plan.job]
    axes.scatter([cost for _, cost, _ in judged], [rate for _, _, rate in judged], color=_COLOURS[7], label="candidates")
    frontier = sorted((cost, rate) for i, cost, rate in judged if i in plan.frontier)
    axes.plot([cost for cost, _ in frontier], [rate for _, rate in frontier], color=_COLOURS[0], marker="o",
              label="frontier")
    chosen = [(cost, rate) for i, cost, rate in judged if i == plan.recommended]
    axes.scatter([cost for cost, _ in chosen], [rate for _, rate in chosen], color=_COLOURS[5], marker="*", s=200,
                 zorder=3, label="recommended")
    axes.set(xlabel=f"cost ({plan.currency})", ylabel=f"samples/s of {plan.job}", title=plan.plan)
    axes.legend()
    return axes


def of_tuning(tuning: answers.TuneAnswer, axes: Any) -> Any:
    """Draw tokens/s of plans."""
    axes = _axes(axes)
    names, rates = [], []
    for plan in tuning.plans:
        parallel = plan.parallel.json()
        shown = [f"{key} {value}".replace("_", " ") for key, value in parallel.items()
                 if not isinstance(value, (bool, str)) and value not in (0, 1)]
        layers = plan.json().get("recompute_layers")
        recomputed = [f"recompute {layers} layers"] if layers else [] if plan.recompute == "none" else [f"recompute {plan.recompute}"]
        names.append(", ".join([*shown, f"micro batch {plan.micro_batch}", *recomputed]))
        rates.append(plan.tokens_per_s)
    medians = [rate.median for rate in rates]
    errors = [[rate.median - rate.low for rate in rates], [rate.high - rate.median for rate in rates]]
    axes.barh(range(len(names)), medians, xerr=errors, color=_COLOURS[4], capsize=3)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set(xlabel="tokens/s", title=f"{tuning.job}, {tuning.gpus} GPUs")
    return axes


def of_validation(validation: answers.Validation, axes: Any) -> Any:
    """Draw predicted over measured, with intervals where there are any."""
    axes = _axes(axes)
    rows = [row for row in validation.rows() if "measured" in row and "predicted" in row]
    if not rows:
        raise ForetrainError("this validation has no rows with a measured value: claims are not drawn")
    for i, unit in enumerate(dict.fromkeys(row["unit"] for row in rows)):
        of_unit = [row for row in rows if row["unit"] == unit]
        axes.plot([row["measured"] for row in of_unit], [row["predicted"] for row in of_unit], "o",
                  color=_COLOURS[i % len(_COLOURS)], label=unit)
    ends = [min(row["measured"] for row in rows), max(row["measured"] for row in rows)]
    axes.plot(ends, ends, color="black", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="measured", ylabel="predicted")
    axes.legend()
    return axes


def of_fleet(fleet: answers.FleetAnswer, kind: str, axes: Any) -> Any:
    """Draw a chart of jobs over time."""
    kinds = {"gantt": _gantt, "gpu_hours": _gpu_hours, "waits": _waits}
    if kind not in kinds:
        raise _unknown(kind, list(kinds))
    return kinds[kind](fleet, _axes(axes))


def _gantt(fleet: answers.FleetAnswer, axes: Any) -> Any:
    """Jobs as boxes of time and GPUs: rows count GPUs, they are not the places where jobs ran."""
    free_at = [0.0] * fleet.gpus
    queues: dict[str, str] = {}
    jobs = [job for job in fleet.jobs_table if job["start_s"] is not None and job["end_s"] is not None]
    for job in sorted(jobs, key=lambda job: (job["start_s"], job["end_s"])):
        queue = str(job["queue"] or "jobs")
        new = queue not in queues
        colour = queues.setdefault(queue, _COLOURS[len(queues) % len(_COLOURS)])
        rows = [row for row, free in enumerate(free_at) if free <= job["start_s"] + 1e-6][: job["gpus"]]
        for row in rows:
            free_at[row] = job["end_s"]
        for first, count in _runs(rows):
            axes.broken_barh([(job["start_s"] / 3600, (job["end_s"] - job["start_s"]) / 3600)], (first, count),
                             facecolor=colour, edgecolor="white", linewidth=0.3, label=queue if new else None)
            new = False
    axes.set(xlabel="hours", ylabel="GPUs held", title=fleet.fleet, ylim=(0, fleet.gpus))
    axes.legend()
    return axes


def _runs(rows: Sequence[int]) -> list[tuple[int, int]]:
    """Rows that follow each other, as first and count."""
    runs: list[tuple[int, int]] = []
    for row in rows:
        if runs and row == runs[-1][0] + runs[-1][1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((row, 1))
    return runs


def _gpu_hours(fleet: answers.FleetAnswer, axes: Any) -> Any:
    names = [name for name in fleet.gpu_hours if fleet.gpu_hours[name].median > 0]
    hours = [fleet.gpu_hours[name] for name in names]
    errors = [[max(0.0, entry.median - entry.low) for entry in hours],
              [max(0.0, entry.high - entry.median) for entry in hours]]
    axes.barh(names, [entry.median for entry in hours], xerr=errors, color=_COLOURS[0], capsize=3)
    axes.invert_yaxis()
    axes.set(xlabel="GPU hours", title=fleet.fleet)
    return axes


def _waits(fleet: answers.FleetAnswer, axes: Any) -> Any:
    waits = sorted(job["wait_s"] / 3600 for job in fleet.jobs_table if job["wait_s"] is not None)
    axes.step(waits, [(i + 1) / len(waits) for i in range(len(waits))], where="post",
              color=_COLOURS[len(axes.lines) % len(_COLOURS)])
    axes.set(xlabel="hours waited", ylabel="share of jobs that wait no longer", title=fleet.fleet, ylim=(0, 1))
    axes.set_xlim(left=0)
    return axes

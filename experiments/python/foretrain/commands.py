"""The commands of foretrain as functions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeVar, Union

from . import answers
from .errors import ForetrainError, error_of
from .frames import Frame, nccl_log_of, suite_of
from .given import FileOption, Given, Input, Word, inline, listed, options
from .policy import Conversation, Policy
from .process import Finished, Partner, Progress, run
from .progress import Bar, default_bar

Files = Union[str, "PathLike[str]", Iterable[Union[str, "PathLike[str]"]]]
Settings = Mapping[str, Any]
_A = TypeVar("_A", bound=answers.Answer)


def _execute(command: Sequence[str], given: Sequence[Given], words: Sequence[Word], progress: Progress | None = None,
             names: Sequence[str] = (), partner: Partner | None = None) -> Finished:
    """Run a command whose files are given, with a bar where somebody looks."""
    bar = default_bar() if progress is None else None
    with ExitStack() as stack:
        inputs = [stack.enter_context(Input(entry, alone=len(given) == 1)) for entry in given]
        standard = next((entry.text for entry in inputs if entry.standard), None)
        told: list[str] = []
        beside: list[Input] = []
        called = list(zip(inputs, names))
        for word in words:
            if isinstance(word, FileOption):
                beside.append(stack.enter_context(Input(word.given, alone=False)))
                called.append((beside[-1], word.name))
                word = f"{word.flag}={beside[-1].word}"
            told.append(word)
        try:
            finished = run(
                [*command, *(entry.word for entry in inputs), *told],
                standard_input=standard,
                files=[entry.text for entry in [*inputs, *beside] if entry.text is not None and not entry.standard],
                progress=progress or bar,
                partner=partner,
            )
        finally:
            if isinstance(bar, Bar):
                bar.close()
    return _called(finished, [(entry.word, name) for entry, name in called if entry.text is not None])


def _called(finished: Finished, names: Sequence[tuple[str, str]]) -> Finished:
    """What a run left, in which files that are gone with it have the names that people know them by."""
    output, messages = finished.output, finished.messages
    for word, name in names:
        output, messages = output.replace(word, name), messages.replace(word, name)
    return Finished(finished.command, finished.status, output, messages, finished.interrupted)


def _checked(finished: Finished) -> Finished:
    """Raise what a run without an answer says."""
    if finished.interrupted and not finished.output:
        raise KeyboardInterrupt
    if not finished.output:
        raise error_of(finished.messages, finished.status)
    return finished


@dataclass(frozen=True)
class _Again:
    """Runs a command again; no closure, so that its answer can be pickled."""

    command: Sequence[str]
    given: Sequence[Given]
    words: Sequence[Word]
    names: Sequence[str]

    def __call__(self, more: list[str]) -> Finished:
        kept = [word for word in self.words
                if not (isinstance(word, str) and word.startswith("--out=") and "--out" in more)]
        return _execute(self.command, self.given, [*kept, *more], names=self.names)


def _answer(kind: Callable[[Any, Finished, answers.Again], _A], command: Sequence[str], given: Sequence[Given],
            words: Sequence[Word], progress: Progress | None = None, names: Sequence[str] = (),
            partner: Partner | None = None) -> _A:
    finished = _checked(_execute(command, given, [*words, "--format=json"], progress, names, partner))
    return kind(json.loads(finished.output), finished, _Again(command, given, words, names))


def predict(
    experiment: Given,
    *,
    set: Settings | None = None,
    profiles: Given | Iterable[Given] | None = None,
    seed: int | None = None,
    fidelity: Literal["coupled", "edges", "chunks"] | None = None,
    jobs: int | None = None,
    uncertainty: Literal["auto", "steps", "linear", "monte-carlo"] | None = None,
    samples: int | None = None,
    interval: float | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> answers.Prediction:
    """Predict how fast the jobs of an experiment run, and what limits them.

    Args:
        experiment: the name of a bundled one, a path, its text (JSON or YAML), a dict, or an `Experiment`.
        set: JSON pointer -> value: changes of the file, like {"/jobs/0/gpus": 8}.
        profiles: calibrated parameters to lay over the presets, as files, dicts or what `calibrate` gave; later ones
            override.
        seed: of all random streams.
        fidelity: how finely collectives run.
        jobs: points at a time; default one per core.
        uncertainty: what intervals hold: "steps" the variation from step to step, "linear" and "monte-carlo"
            also the spread of parameters; "auto" is linear up to 300,000 flows or GPUs and 250 points.
        samples: of "monte-carlo".
        interval: probability that the intervals hold, 0.01 to 0.999.
        out: directory for report.html, result.json, result.csv and points.jsonl.
        progress: called with what is done, the total and the unit; by default a bar where tqdm is installed.

    Raises:
        InputError: the experiment, or every point of it, is wrong. Points that fail among others have `error`.
    """
    words = options({"set": set, "profile": profiles, "seed": seed, "fidelity": fidelity, "jobs": jobs,
                     "uncertainty": uncertainty, "samples": samples, "interval": interval, "out": out})
    return _points(_answer(answers.Prediction, ["predict"], [experiment], words, progress))


def _points(prediction: answers.Prediction) -> answers.Prediction:
    """Raise the error of a prediction of which no point was found."""
    failed = [point.error for point in prediction.points if point.error is not None]
    if failed and len(failed) == len(prediction.points):
        raise error_of(failed[0], prediction.status)
    return prediction


def sweep(
    experiment: Given,
    over: Settings | None = None,
    *,
    db: str | PathLike[str] | None = None,
    anew: bool = False,
    set: Settings | None = None,
    profiles: Given | Iterable[Given] | None = None,
    seed: int | None = None,
    fidelity: Literal["coupled", "edges", "chunks"] | None = None,
    jobs: int | None = None,
    uncertainty: Literal["auto", "steps", "linear", "monte-carlo"] | None = None,
    samples: int | None = None,
    interval: float | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> answers.Prediction:
    """Predict many points; with `db` finished points are kept and not simulated again.

    Args:
        experiment: as for `predict`.
        over: JSON pointer -> list of values: what is varied, all combinations; default the file's own sweep.
        db: SQLite file that keeps finished points.
        anew: run points again that are in the file already.
        set: as for `predict`, as are those that follow.
        profiles: see `predict`.
        seed: see `predict`.
        fidelity: see `predict`.
        jobs: see `predict`.
        uncertainty: see `predict`.
        samples: see `predict`.
        interval: see `predict`.
        out: see `predict`.
        progress: see `predict`.
    """
    changes = {**(set or {}), **({"/sweep": dict(over)} if over is not None else {})}
    words = options({"set": changes, "profile": profiles, "seed": seed, "fidelity": fidelity, "jobs": jobs,
                     "uncertainty": uncertainty, "samples": samples, "interval": interval, "out": out})
    if db is None and anew:
        raise ForetrainError("anew is about points that a db keeps: give db")
    command = "predict" if db is None else "sweep"
    words += options({"db": db, "anew": anew})
    return _points(_answer(answers.Prediction, [command], [experiment], words, progress))


def compare(
    a: Given | answers.Prediction,
    b: Given | answers.Prediction,
    *,
    set: Settings | None = None,
    set_a: Settings | None = None,
    set_b: Settings | None = None,
    where_a: Settings | None = None,
    where_b: Settings | None = None,
    fail_below: float | None = None,
    fail_above: float | None = None,
    confidence: float | None = None,
    profiles: Given | Iterable[Given] | None = None,
    seed: int | None = None,
    uncertainty: Literal["auto", "steps", "linear", "monte-carlo"] | None = None,
    interval: float | None = None,
    seeds: int | None = None,
    progress: Progress | None = None,
) -> answers.Comparison:
    """Tell which of two systems is faster, how sure that is, and why; of two fleets, what differs seed by seed.

    Args:
        a: an experiment as for `predict`, its prediction, a result.json or its directory, the file of a sweep, or a
            fleet.
        b: the same, to compare with `a`.
        set: JSON pointer -> value: changes of both.
        set_a: changes of `a` only.
        set_b: changes of `b` only.
        where_a: only points of `a` with these settings.
        where_b: only points of `b` with these settings.
        fail_below: bound of B's throughput over A's; `broken` says whether it is broken.
        fail_above: likewise.
        confidence: probability with which a bound must be broken; default 0.9.
        profiles: see `predict`.
        seed: see `predict`.
        uncertainty: see `predict`.
        interval: see `predict`.
        seeds: of fleets: how often each is simulated; default the more of the two.
        progress: see `predict`.
    """
    words = options({"set": set, "set_a": set_a, "set_b": set_b, "where_a": where_a, "where_b": where_b,
                     "fail_below": fail_below, "fail_above": fail_above, "confidence": confidence, "profile": profiles,
                     "seed": seed, "uncertainty": uncertainty, "interval": interval, "seeds": seeds})
    return _answer(answers.Comparison, ["compare"], [_result(a), _result(b)], words, progress, ["A", "B"])


def _result(given: Given | answers.Prediction) -> Given:
    """A prediction is compared as its JSON."""
    return given.json() if isinstance(given, answers.Prediction) else given


def explain(
    experiment: Given,
    *,
    point: int | None = None,
    swaps: bool = True,
    set: Settings | None = None,
    profiles: Given | Iterable[Given] | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> answers.Explanation:
    """Tell where a step's time goes, and what would make it shorter.

    Args:
        experiment: as for `predict`.
        point: of the sweep, counted from 0; the last by default.
        swaps: whether other choices of software and storage are tried.
        set: see `predict`.
        profiles: see `predict`.
        seed: see `predict`.
        progress: see `predict`.
    """
    words = options({"point": point, "no_swaps": not swaps, "set": set, "profile": profiles, "seed": seed})
    return _answer(answers.Explanation, ["explain"], [experiment], words, progress)


def plan(
    plan: Given,
    *,
    set: Settings | None = None,
    profiles: Given | Iterable[Given] | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> answers.PlanAnswer:
    """Find what to buy or change: the cheapest way to a goal.

    Args:
        plan: the name of a bundled one, a path, its text, a dict, or a `Plan`.
        set: see `predict`.
        profiles: see `predict`.
        seed: see `predict`.
        seeds: of plans of a fleet: how often each candidate is simulated.
        jobs: see `predict`.
        out: directory for report.html, plan.json and plan.csv.
        progress: see `predict`.
    """
    words = options({"set": set, "profile": profiles, "seed": seed, "seeds": seeds, "jobs": jobs, "out": out})
    return _answer(answers.PlanAnswer, ["plan"], [plan], words, progress)


def tune(experiment: Given, *, set: Settings | None = None, top: int | None = None,
         out: str | PathLike[str] | None = None) -> answers.TuneAnswer:
    """Search the best parallel plans of a large model's job.

    Args:
        experiment: one whose job is a transformer's, as for `predict`.
        set: see `predict`.
        top: how many plans to give; default 10.
        out: file for the experiment with the best plan.
    """
    return _answer(answers.TuneAnswer, ["tune"], [experiment], options({"set": set, "top": top, "out": out}))


def fleet(
    fleet: Given,
    *,
    set: Settings | None = None,
    policy: str | Policy | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    keep: str | PathLike[str] | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> answers.FleetAnswer:
    """Simulate jobs over time on a cluster: queues, failures, checkpoints, goodput.

    Args:
        fleet: the name of a bundled one, a path, its text, a dict, or a `Fleet`.
        set: JSON pointer -> value: changes of the file.
        policy: name of a policy instead of the file's, or a function that decides: it takes a `State` and gives the
            waiting jobs that start now (docs/fleet.md).
        seed: the first.
        seeds: how often it is simulated, for intervals.
        jobs: seeds at a time, in processes; default one per core.
        keep: directory where seeds are left that have been simulated, and taken from; not with a function.
        out: directory for report.html, fleet.json, jobs.csv, jobs.swf and timeline.json.
        progress: see `predict`.
    """
    partner = Conversation(policy) if callable(policy) else None
    decides: dict[str, Any] = (
        {"policy_command": partner.command, "policy_name": partner.name} if partner else {"policy": policy}
    )
    words = options({"set": set, "seed": seed, "seeds": seeds, "jobs": jobs, "keep": keep, **decides})
    with tempfile.TemporaryDirectory() as folder:

        def made(data: Any, finished: Finished, again: answers.Again) -> answers.FleetAnswer:
            if "points" in data:
                raise ForetrainError("the fleet has a sweep: fleet_sweep gives its points")
            return answers.FleetAnswer(data, finished, again, answers.texts_of(Path(folder), out))

        return _answer(made, ["fleet"], [fleet], [*words, f"--out={folder}"], progress, partner=partner)


def fleet_sweep(
    fleet: Given,
    over: Settings | None = None,
    *,
    set: Settings | None = None,
    policy: str | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    keep: str | PathLike[str] | None = None,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> answers.FleetSweep:
    """Simulate a fleet at many points, each with the same seeds.

    Args:
        fleet: as for `fleet`.
        over: JSON pointer -> list of values: what is varied, all combinations; default the file's own sweep.
        set: as for `fleet`, as are those that follow.
        policy: name of a policy instead of the file's.
        seed: see `fleet`.
        seeds: see `fleet`.
        jobs: see `fleet`.
        keep: see `fleet`.
        out: directory for report.html, fleet.json and points.csv.
        progress: see `predict`.
    """
    changes = {**(set or {}), **({"/sweep": dict(over)} if over is not None else {})}
    words = options({"set": changes, "policy": policy, "seed": seed, "seeds": seeds, "jobs": jobs, "keep": keep, "out": out})

    def made(data: Any, finished: Finished, again: answers.Again) -> answers.FleetSweep:
        if "points" not in data:
            raise ForetrainError("the fleet has no sweep: give over, or call fleet")
        return answers.FleetSweep(data, finished, again)

    return _answer(made, ["fleet"], [fleet], words, progress)


def fleet_when(
    fleet: Given,
    job: str | int,
    *,
    set: Settings | None = None,
    policy: str | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    keep: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> answers.Plain:
    """Tell when a job of a fleet's trace starts, how sure that is, and what it waits for.

    Args:
        fleet: as for `fleet`, with recorded jobs.
        job: its id in the trace.
        set: as for `fleet`, as are those that follow.
        policy: name of a policy instead of the file's.
        seed: see `fleet`.
        seeds: see `fleet`.
        keep: see `fleet`.
        progress: see `predict`.
    """
    words = options({"when": str(job), "set": set, "policy": policy, "seed": seed, "seeds": seeds, "keep": keep})
    return _answer(answers.Plain, ["fleet"], [fleet], words, progress)


def check(paths: Given | Iterable[Given], *, baseline: str | PathLike[str] | None = None, update_baseline: bool = False,
          tolerance: float | None = None, confidence: float | None = None, strict: bool = False,
          junit: str | PathLike[str] | None = None, progress: Progress | None = None) -> answers.Checked:
    """Hold experiments and fleets against what they expect, and experiments against a baseline.

    Args:
        paths: experiments and fleets as for `predict`, or directories that hold some.
        baseline: directory of stored results: throughput must not fall below them.
        update_baseline: write what is predicted now into that directory instead.
        tolerance: part of a baseline's throughput that may be lost; default 0.05.
        confidence: probability with which something must be violated to fail; default 0.9.
        strict: what is too close to tell fails, too.
        junit: file for JUnit XML.
        progress: see `predict`.
    """
    words = options({"baseline": baseline, "update_baseline": update_baseline, "tolerance": tolerance,
                     "confidence": confidence, "strict": strict, "junit": junit})
    return _answer(answers.Checked, ["check"], listed(paths), words, progress)


def validate(suites: Given | Frame | Sequence[Given | Frame] | None = None, *, experiment: Given | None = None,
             only: str | None = None, profiles: Given | Iterable[Given] | None = None, seed: int | None = None, jobs: int | None = None,
             out: str | PathLike[str] | None = None, progress: Progress | None = None) -> answers.Validation:
    """Tell how far predictions are from measurements, by regime.

    Args:
        suites: names of bundled suites, "founding" or "fleet", paths, or suites as texts, dicts or data frames of
            measurements (docs/python.md); default all bundled.
        experiment: that the rows of a data frame are about.
        only: ids of the rows to run; * stands for any text.
        profiles: see `predict`.
        seed: see `predict`.
        jobs: runs at a time; default one per core.
        out: directory for validation.html, validation.json, validation.csv and rows.jsonl.
        progress: see `predict`.
    """
    named: list[Any] = [] if suites is None else list(suites) if isinstance(suites, (list, tuple)) else [suites]
    given = [suite_of(suite, experiment) if isinstance(suite, Frame) else suite for suite in named]
    words = options({"only": only, "profile": profiles, "seed": seed, "jobs": jobs, "out": out})
    return _answer(answers.Validation, ["validate"], given, words, progress)


def calibrate(
    logs: Files | Frame,
    *,
    out: str | PathLike[str] | None = None,
    name: str | None = None,
    platform: str | PathLike[str] | None = None,
    host: str | None = None,
    network: str | None = None,
    library: str | None = None,
    disk: str | None = None,
    gpus: int | None = None,
    nodes: int | None = None,
    program: str | None = None,
    force: bool = False,
    profiles: Given | Iterable[Given] | None = None,
) -> answers.Calibration:
    """Make a profile of parameters from logs of your machine.

    Args:
        logs: of nccl-tests, p2pBandwidthLatencyTest, iperf3 --json, fio --output-format=json, nvidia-smi topo -m,
            or NCCL's topology as XML; or a data frame in the columns of `NcclTests.frame()`.
        out: the profile to write; its keys are attributes of the answer either way.
        name: of the profile.
        platform: the machine that the logs come from.
        host: host layer that they ran on.
        network: transport between nodes that they ran over.
        library: collective library.
        disk: of fio's logs.
        gpus: per node, for logs that do not say.
        nodes: for logs that do not say.
        program: of nccl-tests, for logs that do not say.
        force: keep what is no better than the presets on measurements held back.
        profiles: learnt earlier, to build on.

    Returns:
        The profile; `written` is False, and it is empty, where it would be no better than the presets.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        words = options({"out": path, "name": name, "platform": platform, "host": host, "network": network,
                         "library": library, "disk": disk, "gpus": gpus, "nodes": nodes, "program": program,
                         "force": force, "profile": profiles})
        if isinstance(logs, Frame):
            log = Path(folder) / "frame.txt"
            log.write_text(nccl_log_of(logs))
            logs = log
        finished = _execute(["calibrate", *_listed(logs)], [], words)
        if finished.status in (2, 3):
            raise error_of(finished.messages, finished.status)
        text = path.read_text() if path.exists() else ""
        if text and out is not None:
            Path(out).write_text(text)
    return answers.Calibration(json.loads(text) if text else {}, finished, bool(text))


def nccl_tests(
    program: str,
    *,
    platform: Given,
    minbytes: int | str | None = None,
    maxbytes: int | str | None = None,
    stepfactor: float | None = None,
    stepbytes: int | str | None = None,
    ngpus: int | None = None,
    nthreads: int | None = None,
    nodes: int | None = None,
    datatype: str | None = None,
    stack: Given | None = None,
    host: Given | None = None,
    network: Given | None = None,
    library: Given | None = None,
    algorithm: str | None = None,
    fidelity: Literal["coupled", "edges", "chunks"] | None = None,
    profiles: Given | Iterable[Given] | None = None,
    explain: bool = False,
) -> answers.NcclTests:
    """Give what nccl-tests would print on a described machine.

    Args:
        program: like "all_reduce_perf".
        platform: a name, a path, its text, a dict, or what `import_platform` gave; as host, network and library.
        minbytes: smallest size, a number of bytes or a text like "1M" (-b).
        maxbytes: largest size (-e).
        stepfactor: sizes grow by this factor (-f).
        stepbytes: or by so many bytes (-i).
        ngpus: GPUs per node (-g).
        nthreads: threads per node that launch on `ngpus` GPUs each (-t).
        nodes: how many.
        datatype: of the elements (-d).
        stack: host layer and transport, like "container+flannel-vxlan", or a dict, a `Stack` or a .json file of both.
        host: host layer; default that of `stack`, or bare-metal.
        network: transport between nodes; default that of `stack`, or rdma where there is any.
        library: collective library.
        algorithm: its name, or "auto".
        fidelity: how finely collectives run.
        profiles: calibrated parameters to lay over the presets.
        explain: say in the text which algorithm and protocol was chosen.
    """
    words = options({"platform": platform, "minbytes": minbytes, "maxbytes": maxbytes, "stepfactor": stepfactor,
                     "stepbytes": stepbytes, "ngpus": ngpus, "nthreads": nthreads, "nodes": nodes,
                     "datatype": datatype, "stack": inline(stack), "host": host, "network": network,
                     "library": library, "algorithm": algorithm, "fidelity": fidelity, "profile": profiles,
                     "explain": explain}, files=("platform", "host", "network", "library", "profile"))
    return answers.NcclTests(_checked(_execute(["nccl-tests", program], [], words)))


def program(experiment: Given, *, point: int | None = None, set: Settings | None = None) -> Any:
    """Give the work programs of a point's jobs: ranks, groups and operations, as dicts and lists.

    Args:
        experiment: as for `predict`.
        point: of the sweep, counted from 0.
        set: see `predict`.
    """
    words = options({"point": point, "set": set, "format": "json"})
    return json.loads(_checked(_execute(["program", "show"], [experiment], words)).output)


def _listed(paths: Files) -> list[str]:
    return [fspath(paths)] if isinstance(paths, (str, PathLike)) else [fspath(path) for path in paths]

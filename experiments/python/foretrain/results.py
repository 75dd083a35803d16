"""Answers of foretrain that have a schema, as classes that an editor completes.

Made from the program's schemas by tests/make_python_classes.py: change these.
"""

from __future__ import annotations

from typing import Any, Literal

from .values import Range, Record


class Comparison(Record):
    """Comparison.

    Attributes:
        job: name of the job
        point: the best one, counted from 0
        than: one that comes near
        probability: that the best is the faster one
    """

    job: str
    point: int
    than: int
    probability: float
    _known = ("job", "point", "than", "probability")


class TimeS(Record):
    """Parts of the mean step; they add up to it.

    Attributes:
        compute: runs kernels of forward pass, backward pass and optimizer
        exposed_communication: waits for gradients to be exchanged; what overlaps with computing is not counted.
            Programs and recorded jobs: nothing runs but an exchange
        input_stall: waits for a batch to be read and decoded
        host_to_device: waits for a batch to be copied to the GPU
        straggler_wait: waits for slower GPUs of the same job
        framework: waits for host work and coordination of the framework
        bubble: programs and large models: waits for other stages of a pipeline
        recompute: programs and large models: computes activations again
    """

    compute: float
    exposed_communication: float
    input_stall: float
    host_to_device: float
    straggler_wait: float
    framework: float
    bubble: float | None
    recompute: float | None
    _known = (
        "compute",
        "exposed_communication",
        "input_stall",
        "host_to_device",
        "straggler_wait",
        "framework",
        "bubble",
        "recompute",
    )


class Bottleneck(Record):
    """What limits the job.

    Attributes:
        resource: what limits, by place, or a delay that no capacity cures
        name: what limits, as people call it: "network adapters"
        utilisation: share of its capacity that is used
        why: in words
        gain_if_doubled: throughput that it would bring twice as good, relative; of jobs whose run takes up to
            300,000 flows or GPUs (docs/explain.md)
        ties: what would bring as much, within a percent, in words
        doubled: what twice as good means, in words
    """

    resource: str
    name: str | None
    utilisation: float
    why: str
    gain_if_doubled: float | None
    ties: tuple[str, ...] | None
    doubled: str | None
    _known = ("resource", "name", "utilisation", "why", "gain_if_doubled", "ties", "doubled")


class ElapsedS(Record):
    """From launch to end.

    Attributes:
        start_up: of host layer and framework
        steps: warm-up and measured ones
        total: both
    """

    start_up: float
    steps: float
    total: float
    _known = ("start_up", "steps", "total")


class Alone(Record):
    """Several jobs: without the others; a container or a virtual machine keeps the cores and the memory that it has beside them.

    Attributes:
        throughput_samples_per_s: of the whole job; of steps only
        step_time_s: of steps only
        elapsed_s: from launch to end
    """

    throughput_samples_per_s: Range
    step_time_s: Range
    elapsed_s: float
    _known = ("throughput_samples_per_s", "step_time_s", "elapsed_s")
    _kinds = {"throughput_samples_per_s": Range, "step_time_s": Range}


class ThroughputBoundsSamplesPerS(Record):
    """Several jobs on up to 256 GPUs together, with the default fidelity: median throughput by how collectives share links.

    Attributes:
        coupled: all links of a collective at the pace of the slowest: the answer given
        edges: every link by itself: the optimistic bound
    """

    coupled: float
    edges: float
    _known = ("coupled", "edges")


class DeviceMemoryByte(Record):
    """Of one GPU.

    Attributes:
        needed: estimate: weights, gradients, optimizer state, stored activations
        available: of the device, less what other jobs on it need
        parts: programs and large models: of needed, by use, of the fullest stage
    """

    needed: float
    available: float
    parts: Any
    _known = ("needed", "available", "parts")


class ModelTflopsPerGpu(Record):
    """Arithmetic of the model per second and GPU, without what is computed again.

    Attributes:
        full: attention counts all pairs of tokens
        causal: attention counts the half that a causal model needs
    """

    full: float
    causal: float
    _known = ("full", "causal")


class Mfu(Record):
    """Share of the GPU's peak that this is, and the range of `full`.

    Attributes:
        full: attention counts all pairs of tokens
        causal: attention counts the half that a causal model needs
        median: of full
        low: lower end
        high: upper end
        interval: probability that it lies between low and high; default 0.9
    """

    full: float
    causal: float
    median: float | None
    low: float | None
    high: float | None
    interval: float | None
    _known = ("full", "causal", "median", "low", "high", "interval")


class TrainingS(Record):
    """The whole training, where the job says its length: epochs, tokens or training_steps.

    Attributes:
        total: all of it, with start-up
        samples: of all of it
        first_epoch: with epochs in the job: first pass over the data set
        later_epoch: likewise: each pass once caches are warm
        dataset: likewise: name of the data set
        samples_per_epoch: likewise: samples of the data set
    """

    total: float
    samples: float
    first_epoch: float | None
    later_epoch: float | None
    dataset: str | None
    samples_per_epoch: float | None
    _known = ("total", "samples", "first_epoch", "later_epoch", "dataset", "samples_per_epoch")


class Piece(Record):
    """Piece.

    Attributes:
        forward_s: forward pass of a micro-batch
        backward_s: backward pass, with what it repeats
        weights_s: of backward: gradients of weights
        transfer_s: of activations to the next piece, and of their gradients back
    """

    forward_s: float
    backward_s: float
    weights_s: float
    transfer_s: float
    _known = ("forward_s", "backward_s", "weights_s", "transfer_s")


class Pipeline(Record):
    """Large models with several stages: what all dates follow from.

    Attributes:
        stages: stages of the pipeline
        virtual_stages: pieces of each stage
        schedule: order of passes
        micro_batches: micro-batches of a step
        blocking: stages wait for their transfers
        pieces: what each piece takes, in forward order
    """

    stages: int
    virtual_stages: int
    schedule: Literal["gpipe", "1f1b", "interleaved", "zero-bubble", "zb-h1", "zb-v", "dualpipe-v"]
    micro_batches: int
    blocking: bool
    pieces: tuple[Piece, ...]
    _known = ("stages", "virtual_stages", "schedule", "micro_batches", "blocking", "pieces")
    _kinds = {"pieces": Piece}


class Meeting(Record):
    """Several jobs, where one loses: where they meet.

    Attributes:
        resource: what limits the job longer than alone, of what others use, too
        added_s: how much longer, per step; at most what the step grew by
    """

    resource: str
    added_s: float
    _known = ("resource", "added_s")


class LaterEpochs(Record):
    """Once caches are warm, where that differs.

    Attributes:
        throughput_samples_per_s: of the whole job; of steps only
    """

    throughput_samples_per_s: Range
    _known = ("throughput_samples_per_s",)
    _kinds = {"throughput_samples_per_s": Range}


class Contribution(Record):
    """Contribution.

    Attributes:
        parameter: kind, preset and pointer
        spread: its relative standard deviation
        effect: relative change of throughput when it is one standard deviation larger
        if_larger: the same, where a smaller one does not do the opposite
        if_smaller: with its sign turned, what one that is a standard deviation smaller does
        of: a digest of what alone it is a parameter of
    """

    parameter: str
    spread: float
    effect: float
    if_larger: float | None
    if_smaller: float | None
    of: str | None
    _known = ("parameter", "spread", "effect", "if_larger", "if_smaller", "of")


class Guest(Record):
    """How well the guest is set up, where the host is one.

    Attributes:
        host: layer of the host whose guests differ
        slower: logarithm of throughput by which guests that are set up badly are slower than the one in the
            middle, at the interval's end
        faster: and by which those that are set up well are faster
    """

    host: str
    slower: float
    faster: float
    _known = ("host", "slower", "faster")


class Uncertainty(Record):
    """Where the interval comes from.

    Attributes:
        method: how the interval came about
        from_parameters: relative standard deviation of throughput from all parameters
        slower: towards lower throughput, where the sides differ
        faster: towards higher throughput
        run_to_run: relative standard deviation from run to run
        contributions: of single parameters, the largest effect first
        guest: how well the guest is set up, where the host is one
    """

    method: Literal["linear", "monte-carlo", "steps"]
    from_parameters: float
    slower: float | None
    faster: float | None
    run_to_run: float
    contributions: tuple[Contribution, ...]
    guest: Guest | None
    _known = ("method", "from_parameters", "slower", "faster", "run_to_run", "contributions", "guest")
    _kinds = {"contributions": Contribution, "guest": Guest}


class Busiest(Record):
    """Busiest.

    Attributes:
        resource: by place, like node0/ib0/tx
        utilisation: share of its capacity over the measured steps
    """

    resource: str
    utilisation: float
    _known = ("resource", "utilisation")


class Job(Record):
    """Job.

    Attributes:
        name: the job
        gpus: GPUs that it runs on
        nodes: nodes that these are in
        throughput_samples_per_s: samples per second of the whole job: mean over the measured steps
        step_time_s: time from the start of one training step to that of the next
        speedup: throughput over that of one GPU with the same job and stack; of programs and large models, which
            one GPU may not hold: GPUs times the share of the step that computes
        speedup_range: where it may lie: parameters that both runs have in common cancel; absent where parameters
            were not varied or one GPU does not run the job
        efficiency: speedup / GPUs
        time_s: parts of the mean step; they add up to it
        bottleneck: what limits the job
        elapsed_s: from launch to end
        alone: several jobs: without the others; a container or a virtual machine keeps the cores and the memory
            that it has beside them
        slowdown: several jobs: throughput alone over throughput shared
        slowdown_range: where it may lie: parameters that both runs have in common cancel; absent where parameters
            were not varied
        throughput_bounds_samples_per_s: several jobs on up to 256 GPUs together, with the default fidelity:
            median throughput by how collectives share links
        device_memory_byte: of one GPU
        fits: whether the device holds what is needed; default true
        exposed_by_group: programs and large models: exposed communication of tensor, context, pipeline, expert
            and data groups, in seconds
        tokens_per_s: large models (docs/large-models.md): tokens per second of the whole job
        tokens_per_s_per_gpu: median
        model_tflops_per_gpu: arithmetic of the model per second and GPU, without what is computed again
        mfu: share of the GPU's peak that this is, and the range of `full`
        training_s: the whole training, where the job says its length: epochs, tokens or training_steps
        training_tokens: tokens of the whole training
        days: that it takes, with start-up
        cost: of its GPUs over these days, at the cluster's price_per_gpu_hour
        currency: of cost, where the cluster names it
        pipeline: large models with several stages: what all dates follow from
        meeting: several jobs, where one loses: where they meet
        later_epochs: once caches are warm, where that differs
        latency_s: inference: time of a batch
        uncertainty: where the interval comes from
        all_reduce: how gradients are exchanged: algorithm and protocol, or parameter servers; and buckets
        busiest: the busiest resources
    """

    name: str
    gpus: int
    nodes: int
    throughput_samples_per_s: Range
    step_time_s: Range
    speedup: float
    speedup_range: Range | None
    efficiency: float
    time_s: TimeS
    bottleneck: Bottleneck
    elapsed_s: ElapsedS
    alone: Alone | None
    slowdown: float | None
    slowdown_range: Range | None
    throughput_bounds_samples_per_s: ThroughputBoundsSamplesPerS | None
    device_memory_byte: DeviceMemoryByte
    fits: bool | None
    exposed_by_group: Any
    tokens_per_s: Range | None
    tokens_per_s_per_gpu: float | None
    model_tflops_per_gpu: ModelTflopsPerGpu | None
    mfu: Mfu | None
    training_s: TrainingS | None
    training_tokens: float | None
    days: Range | None
    cost: Range | None
    currency: str | None
    pipeline: Pipeline | None
    meeting: Meeting | None
    later_epochs: LaterEpochs | None
    latency_s: Range | None
    uncertainty: Uncertainty
    all_reduce: str | None
    busiest: tuple[Busiest, ...]
    _known = (
        "name",
        "gpus",
        "nodes",
        "throughput_samples_per_s",
        "step_time_s",
        "speedup",
        "speedup_range",
        "efficiency",
        "time_s",
        "bottleneck",
        "elapsed_s",
        "alone",
        "slowdown",
        "slowdown_range",
        "throughput_bounds_samples_per_s",
        "device_memory_byte",
        "fits",
        "exposed_by_group",
        "tokens_per_s",
        "tokens_per_s_per_gpu",
        "model_tflops_per_gpu",
        "mfu",
        "training_s",
        "training_tokens",
        "days",
        "cost",
        "currency",
        "pipeline",
        "meeting",
        "later_epochs",
        "latency_s",
        "uncertainty",
        "all_reduce",
        "busiest",
    )
    _kinds = {
        "throughput_samples_per_s": Range,
        "step_time_s": Range,
        "speedup_range": Range,
        "time_s": TimeS,
        "bottleneck": Bottleneck,
        "elapsed_s": ElapsedS,
        "alone": Alone,
        "slowdown_range": Range,
        "throughput_bounds_samples_per_s": ThroughputBoundsSamplesPerS,
        "device_memory_byte": DeviceMemoryByte,
        "tokens_per_s": Range,
        "model_tflops_per_gpu": ModelTflopsPerGpu,
        "mfu": Mfu,
        "training_s": TrainingS,
        "days": Range,
        "cost": Range,
        "pipeline": Pipeline,
        "meeting": Meeting,
        "later_epochs": LaterEpochs,
        "latency_s": Range,
        "uncertainty": Uncertainty,
        "busiest": Busiest,
    }


class Joint(Record):
    """What several jobs lose together.

    Attributes:
        weighted_slowdown: mean of their slowdown, weighted by GPUs
        weighted_slowdown_range: where it may lie: as if all slowdowns were at their ends together, since most of
            what is not known of them is the same machine's
        gpus_lost: GPU hours lost in every hour: GPUs x (1 - 1 / slowdown), summed
        gpus: of all jobs
    """

    weighted_slowdown: float
    weighted_slowdown_range: Range | None
    gpus_lost: float
    gpus: int
    _known = ("weighted_slowdown", "weighted_slowdown_range", "gpus_lost", "gpus")
    _kinds = {"weighted_slowdown_range": Range}


class Part(Record):
    """Part.

    Attributes:
        name: as in resources
        kind: gpu, cpu, pcie-switch, adapter, disk
        utilisation: of a GPU's arithmetic, a CPU's memory, a disk
    """

    name: str
    kind: str
    utilisation: float | None
    _known = ("name", "kind", "utilisation")


class Link(Record):
    """Link.

    Attributes:
        kind: nvlink, pcie, socket-link, network
        from_: a part
        to: a part, nvswitch, or the network's name
        byte_per_s: each way
        utilisation: from `from` to `to`
        utilisation_back: from `to` to `from`
    """

    kind: str
    from_: str
    to: str
    byte_per_s: float
    utilisation: float
    utilisation_back: float
    _known = ("kind", "from", "to", "byte_per_s", "utilisation", "utilisation_back")


class Node(Record):
    """The first node of the first job, while that is measured, by all jobs.

    Attributes:
        node: its number
        cores_utilisation: of all its cores
        parts: what is in it
        links: what joins them; links of large models that nobody disturbs are 0: their exchanges are not
            simulated there
    """

    node: int
    cores_utilisation: float
    parts: tuple[Part, ...] | None
    links: tuple[Link, ...] | None
    _known = ("node", "cores_utilisation", "parts", "links")
    _kinds = {"parts": Part, "links": Link}


class Parameter(Record):
    """Parameter.

    Attributes:
        name: of the parameter
        value: with its unit
    """

    name: str
    value: str
    _known = ("name", "value")


class Point(Record):
    """Point.

    Attributes:
        settings: JSON pointer into the experiment -> the value at this point
        error: instead of jobs: why there is no result
        jobs: the results, one object for each job
        joint: what several jobs lose together
        node: the first node of the first job, while that is measured, by all jobs
        parameters: effective parameters, with value and source (file and publication, or the profile and its
            measurement)
        warnings: about this point, such as extrapolation
        unused_profile_parameters: of a point in a store: what profiles say that has no use here
    """

    settings: Any
    error: str | None
    jobs: tuple[Job, ...] | None
    joint: Joint | None
    node: Node | None
    parameters: tuple[Parameter, ...] | None
    warnings: tuple[str, ...] | None
    unused_profile_parameters: tuple[str, ...] | None
    _known = ("settings", "error", "jobs", "joint", "node", "parameters", "warnings", "unused_profile_parameters")
    _kinds = {"jobs": Job, "joint": Joint, "node": Node, "parameters": Parameter}


class Result(Record):
    """What predict, sweep and report write with --format json or --out.

    Attributes:
        experiment: its name
        description: the question that it asks
        version: of foretrain
        seed: of all random streams; the same input, version and seed give the same numbers; default 1
        fidelity: how collectives share links; default "coupled"
        input: the experiment as it was read
        warnings: about the whole run
        comparisons: of sweeps: for each job the best point against those that come nearest
        points: one for each combination of the sweep, in its order
        interrupted: the run was stopped: only finished points are there
    """

    experiment: str
    description: str | None
    version: str
    seed: int | None
    fidelity: Literal["coupled", "edges", "chunks"] | None
    input: Any
    warnings: tuple[str, ...] | None
    comparisons: tuple[Comparison, ...] | None
    points: tuple[Point, ...]
    interrupted: bool | None
    _known = (
        "experiment",
        "description",
        "version",
        "seed",
        "fidelity",
        "input",
        "warnings",
        "comparisons",
        "points",
        "interrupted",
    )
    _kinds = {"comparisons": Comparison, "points": Point}


class Jobs(Record):
    """How many there were, and what became of them.

    Attributes:
        submitted: jobs of the first seed
        completed: with all their work
        timeout: killed at their limit
        rejected: larger than the cluster or their queue's quota, or more GPUs on a node than nodes have
        waiting: at the end: they never got all their GPUs, or not again
        unfinished: of those that wait: they had started, and a failure took their GPUs
        running: when the simulation was interrupted
        stuck: of those that wait: they wait for each other's GPUs for ever
    """

    submitted: int
    completed: int
    timeout: int
    rejected: int
    waiting: int
    unfinished: int | None
    running: int
    stuck: int
    _known = ("submitted", "completed", "timeout", "rejected", "waiting", "unfinished", "running", "stuck")


class WaitS(Record):
    """From submission to the first start, of jobs that ran to their end.

    Attributes:
        mean: over jobs
        median: over jobs
        p90: nine of ten jobs have less
        p99: 99 of 100 jobs have less
    """

    mean: Range
    median: Range
    p90: Range
    p99: Range
    _known = ("mean", "median", "p90", "p99")
    _kinds = {"mean": Range, "median": Range, "p90": Range, "p99": Range}


class CompletionS(Record):
    """From submission to end, of jobs that ran to their end.

    Attributes:
        mean: over jobs
        median: over jobs
        p90: nine of ten jobs have less
        p99: 99 of 100 jobs have less
    """

    mean: Range
    median: Range
    p90: Range
    p99: Range
    _known = ("mean", "median", "p90", "p99")
    _kinds = {"mean": Range, "median": Range, "p90": Range, "p99": Range}


class Slowdown(Record):
    """Completion over run time, of which at least ten seconds count (bounded slowdown).

    Attributes:
        mean: over jobs
        median: over jobs
        p90: nine of ten jobs have less
        p99: 99 of 100 jobs have less
    """

    mean: Range
    median: Range
    p90: Range
    p99: Range
    _known = ("mean", "median", "p90", "p99")
    _kinds = {"mean": Range, "median": Range, "p90": Range, "p99": Range}


class GpuHours(Record):
    """Where the cluster's GPU hours went; they add up to it.

    Attributes:
        productive: work that counts, at the rate that jobs have alone
        queued: GPUs free while jobs wait
        fragmented: GPUs free, enough for the next job, but not where its placement needs them
        contended: by which work took longer than alone
        checkpoint: writes that work waits for
        lost: work that was done again after failures
        restart: until failures are noticed, and until work goes on
        repair: nodes down, for repair or maintenance, without spares in their place
        idle: GPUs free while no job waits
        held: by jobs that wait for the rest of their GPUs
    """

    productive: Range
    queued: Range
    fragmented: Range
    contended: Range
    checkpoint: Range
    lost: Range
    restart: Range
    repair: Range
    idle: Range
    held: Range
    _known = (
        "productive",
        "queued",
        "fragmented",
        "contended",
        "checkpoint",
        "lost",
        "restart",
        "repair",
        "idle",
        "held",
    )
    _kinds = {
        "productive": Range,
        "queued": Range,
        "fragmented": Range,
        "contended": Range,
        "checkpoint": Range,
        "lost": Range,
        "restart": Range,
        "repair": Range,
        "idle": Range,
        "held": Range,
    }


class Failures(Record):
    """Where there are any.

    Attributes:
        failures: of nodes in service, of single GPUs and of the storage, where they are told
        interruptions: of jobs
        drained: nodes that were found faulty before they failed
        nodes_down_mean: without spares in their place, over time
        nodes_down_most: at once
    """

    failures: Range
    interruptions: Range
    drained: Range | None
    nodes_down_mean: Range
    nodes_down_most: Range
    _known = ("failures", "interruptions", "drained", "nodes_down_mean", "nodes_down_most")
    _kinds = {
        "failures": Range,
        "interruptions": Range,
        "drained": Range,
        "nodes_down_mean": Range,
        "nodes_down_most": Range,
    }


class Trace(Record):
    """The file of recorded jobs.

    Attributes:
        read: jobs and lines
        left_out: of them, for reasons that notes tell
    """

    read: int
    left_out: int
    _known = ("read", "left_out")


class FleetResult(Record):
    """What fleet writes with --format json or --out.

    Attributes:
        fleet: its name
        version: of foretrain
        seed: the first
        seeds: how often it was simulated
        policy: its name
        gpus: of the cluster, without spares
        interrupted: it was stopped before its end
        jobs: how many there were, and what became of them
        makespan_s: from the first submission to the last end
        wait_s: from submission to the first start, of jobs that ran to their end
        completion_s: from submission to end, of jobs that ran to their end
        slowdown: completion over run time, of which at least ten seconds count (bounded slowdown)
        utilisation: GPU time that jobs held, of the cluster's
        goodput: productive GPU time, of the cluster's
        ettr: productive GPU time, of what jobs held: effective training time
        gpu_hours: where the cluster's GPU hours went; they add up to it
        cost: of the cluster from the first submission to the last end
        currency: of cost, where the cluster names it
        energy_kwh: what GPUs and nodes drew in that time
        by_queue: jobs of each queue
        by_account: jobs of each account
        by_size: jobs by their GPUs
        waited_for: jobs by what took most of their wait
        failures: where there are any
        interval_of_daly: between checkpoints, that held least GPU time in simulations, of Daly's
        situations: of jobs on their nodes beside others that were simulated, where speeds are
        trace: the file of recorded jobs
        warnings: what the reader has to know
    """

    fleet: str
    version: str
    seed: int
    seeds: int
    policy: str
    gpus: int
    interrupted: bool | None
    jobs: Jobs
    makespan_s: Range
    wait_s: WaitS | None
    completion_s: CompletionS | None
    slowdown: Slowdown | None
    utilisation: Range
    goodput: Range
    ettr: Range
    gpu_hours: GpuHours
    cost: Range | None
    currency: str | None
    energy_kwh: Range | None
    by_queue: Any
    by_account: Any
    by_size: Any
    waited_for: Any
    failures: Failures | None
    interval_of_daly: float | None
    situations: int | None
    trace: Trace | None
    warnings: tuple[str, ...] | None
    _known = (
        "fleet",
        "version",
        "seed",
        "seeds",
        "policy",
        "gpus",
        "interrupted",
        "jobs",
        "makespan_s",
        "wait_s",
        "completion_s",
        "slowdown",
        "utilisation",
        "goodput",
        "ettr",
        "gpu_hours",
        "cost",
        "currency",
        "energy_kwh",
        "by_queue",
        "by_account",
        "by_size",
        "waited_for",
        "failures",
        "interval_of_daly",
        "situations",
        "trace",
        "warnings",
    )
    _kinds = {
        "jobs": Jobs,
        "makespan_s": Range,
        "wait_s": WaitS,
        "completion_s": CompletionS,
        "slowdown": Slowdown,
        "utilisation": Range,
        "goodput": Range,
        "ettr": Range,
        "gpu_hours": GpuHours,
        "cost": Range,
        "energy_kwh": Range,
        "failures": Failures,
        "trace": Trace,
    }

"""Files that foretrain reads, as classes that an editor completes.

Made from the program's schemas by tests/make_python_classes.py: change these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .builder import Builder


@dataclass(kw_only=True)
class Cluster(Builder):
    """The cluster.

    Attributes:
        platform: the machine
        nodes: how many nodes; default: as many as the jobs need
        fabric: what joins the nodes instead of the platform's, of the network that jobs train over
        storage: where training data lies; default the first disk of each node
        price_per_gpu_hour: what a GPU costs for an hour: a number, or an object of platform and number; results
            then tell what a training costs whose length the job says
        currency: of prices, for people
    """

    platform: str | Path | dict[str, Any]
    nodes: int | None = None
    fabric: str | Path | dict[str, Any] | None = None
    storage: str | Path | dict[str, Any] | None = None
    price_per_gpu_hour: Any = None
    currency: str | None = None


@dataclass(kw_only=True)
class Stack(Builder):
    """Software between jobs and hardware.

    Attributes:
        host: host layer; default bare-metal
        network: how bytes cross the network; default rdma or tcp by adapter
    """

    host: str | Path | dict[str, Any] | None = None
    network: str | Path | dict[str, Any] | None = None


@dataclass(kw_only=True)
class Anchor(Builder):
    """Measured rate that scales the times of kernels.

    Attributes:
        samples_per_s: measured rate of one GPU, or of "gpus" together, in this precision
        gpus: GPUs that reached it together, packed on nodes of this platform; default 1, of a transformer the
            job's
        batch_per_gpu: samples per GPU and step; default the job's
        spread: relative standard deviation of that rate; default as runs of one machine differ
    """

    samples_per_s: float
    gpus: int | None = None
    batch_per_gpu: int | None = None
    spread: float | None = None


@dataclass(kw_only=True)
class ParameterServers(Builder):
    """How many parameter servers there are, and where.

    Attributes:
        count: how many; default one for each node of workers
        on: workers: on the nodes of the job's GPUs, in turn; apart: each on a node of its own; default: as the
            framework has it
    """

    count: int | None = None
    on: Literal["workers", "apart"] | None = None


@dataclass(kw_only=True)
class Lengths(Builder):
    """Of sequences that differ, without padding or packed; default: all have `sequence` tokens, padding among them.

    Attributes:
        mean: tokens of a sequence, padding left out
        deviation: standard deviation of that
        balanced: GPUs hand each other sequences, or pack them, so that all have as many tokens in a step;
            default: each waits for the one with the most
    """

    mean: float
    deviation: float | None = None
    balanced: bool | None = None


@dataclass(kw_only=True)
class Parallel(Builder):
    """How a transformer is divided; data-parallel is what is left.

    Attributes:
        tensor: GPUs that share each product (Megatron); default 1
        sequence_parallel: norms and residuals are cut along the sequence among the same GPUs
        context: GPUs that share each sequence; default 1
        context_exchange: how they see each other's keys and values: these go round a ring beside attention
            (Megatron's p2p), or are gathered before it (all-gather, as Llama 3 was trained); default "ring"
        context_heads: of the context-parallel GPUs so many, neighbours, turn tokens into heads before attention
            and back (Megatron's a2a, DeepSpeed-Ulysses: all of them; a2a+p2p: a part, and rings among the
            others); default 1
        pipeline: stages of layers; default 1
        virtual_stages: pieces of layers on each stage (interleaved); default 1
        schedule: order of micro-batches in the pipeline; default "1f1b"
        first_stage_layers: layers of the first stage; default: as even as can be, or as the framework cuts
        last_stage_layers: and of the last one
        stage_layers: layers of each stage, in the order of the forward pass; with virtual_stages of each of their
            pieces (Megatron-Core's pipeline_model_parallel_layout)
        expert: GPUs that share the experts of a layer; default 1
        expert_tensor: GPUs that share each expert; default 1
        zero: what data-parallel ranks share out: 1 optimizer state, 2 gradients too, 3 weights too
        shard: zero 1 and 3: over all data-parallel ranks, or those of a node, between which gradients are added
            up; default "all"
    """

    tensor: int | None = None
    sequence_parallel: bool | None = None
    context: int | None = None
    context_exchange: Literal["ring", "all-gather"] | None = None
    context_heads: int | None = None
    pipeline: int | None = None
    virtual_stages: int | None = None
    schedule: Literal["gpipe", "1f1b", "interleaved", "zero-bubble", "zb-h1", "zb-v", "dualpipe-v"] | None = None
    first_stage_layers: int | None = None
    last_stage_layers: int | None = None
    stage_layers: Sequence[int] | None = None
    expert: int | None = None
    expert_tensor: int | None = None
    zero: int | None = None
    shard: Literal["all", "node"] | None = None


@dataclass(kw_only=True)
class Bf16Layers(Builder):
    """With fp8, mxfp8, mxfp4 or nvfp4: layers whose products stay in 16 bits.

    Attributes:
        first: so many of the first layers
        last: and of the last ones
    """

    first: int | None = None
    last: int | None = None


@dataclass(kw_only=True)
class Routing(Builder):
    """How evenly tokens go to experts, and what these take at most.

    Attributes:
        imbalance: tokens that the experts of the fullest GPU get, beside the mean of all GPUs; default 1:
            balanced; default 1.0
        capacity: tokens that an expert takes at most, beside the mean (capacity factor); what is more is left
            out, so that nobody waits for numbers of tokens
        padded: experts are filled up to the capacity (moe_pad_expert_input_to_capacity)
    """

    imbalance: float | None = None
    capacity: float | None = None
    padded: bool | None = None


@dataclass(kw_only=True)
class Lora(Builder):
    """Low-rank adapters: they are trained, the model's own weights are frozen.

    Attributes:
        rank: width between the two products
        targets: products that have one: of queries, keys and values (q_proj, k_proj, v_proj), after attention
            (o_proj), up (gate_proj, up_proj) and down; default all
        weights: what frozen weights of layers are kept in: the precision of activations (compute), fp8, for
            products in fp8, or four bits that are made 16 before each product (nf4: QLoRA); default "compute"
        magnitudes: each output's magnitude is trained by itself, its direction by the adapter (DoRA)
        dropout: part of what goes into an adapter is dropped while training
        all_to_all: with sequence_parallel: tensor-parallel ranks turn the result of an adapter beside linear_proj
            and linear_fc2 from columns into tokens (NeMo's a2a_experimental); else each gathers all of it
    """

    rank: int
    targets: Sequence[Literal["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"]] | None = None
    weights: Literal["compute", "fp8", "nf4"] | None = None
    magnitudes: bool | None = None
    dropout: bool | None = None
    all_to_all: bool | None = None


@dataclass(kw_only=True)
class Job(Builder):
    """Job.

    Attributes:
        name: name of the job; default "train"
        model: the neural network; needed unless there is a program
        program: a work program to run instead of training a model (foretrain program show)
        framework: the training framework
        library: the collective library, like nccl-2.18; default: the framework's
        precision: arithmetic; fp8, mxfp8, mxfp4 and nvfp4 for products of transformers, int8 for inference.
            Default: as recorded, where the model was and the GPU can, else fp32; default "fp32"
        optimizer: updates the weights; default the one that the model is usually trained with
        mode: train, or inference: forward passes only; default "train"
        batch_per_gpu: samples per GPU and step (of a transformer whose GPUs share it: per replica of the model);
            transformers may have global_batch and micro_batch instead, a recorded model its own
        gradient_accumulation: batches whose gradients are added up before they are exchanged and applied,
            together a step (of transformers: global_batch and micro_batch say it); default 1
        input: where batches come from: synthetic (default), tfrecord, jpeg, raw, or an object
        gpus: number of GPUs; default 1
        anchor: measured rate that scales the times of kernels
        parameter_servers: how many parameter servers there are, and where
        placement: packed (default): fill nodes in turn; spread: one GPU per node in turn; round-robin: the same,
            beginning after the last job; or a list of [node, gpu]
        stack: software of this job, where it differs from the experiment's
        cores: cores of each node that it is confined to; default all, or its GPUs' share where the host layer
            isolates tenants
        memory: main memory of each node that it may use; default likewise; a size with its unit, like "64 MiB"
        warmup_steps: steps before measuring; default 2
        steps: measured steps; default 20, fewer on many GPUs; 5 of a transformer
        start: when it is launched; a time with its unit, like "1.5 us"; default "0 ns"
        ends: leaves after its measured steps; default: it runs on until every job has measured, so that all are
            measured while sharing
        epochs: length of the training in passes over the data set; of transformers those of images alone
        training_steps: length of the training in steps ("steps" are those that are measured)
        sequence: tokens of a sample of a transformer
        lengths: of sequences that differ, without padding or packed; default: all have `sequence` tokens, padding
            among them
        global_batch: samples of a step on all GPUs
        micro_batch: samples that pass through the model at once
        parallel: how a transformer is divided; data-parallel is what is left
        recompute: what the backward pass makes anew instead of keeping it; default "none"
        recompute_modules: parts of a layer that selective recomputation repeats, by Megatron-Core's words;
            default: as the framework has it
        recompute_layers: with full recomputation: so many layers of each stage, or of each of its pieces, are
            made anew, the others kept (Megatron's recompute_num_layers, method block); default all
        bf16_layers: with fp8, mxfp8, mxfp4 or nvfp4: layers whose products stay in 16 bits
        routing: how evenly tokens go to experts, and what these take at most
        lora: low-rank adapters: they are trained, the model's own weights are frozen
        offload: share of the optimizer's state in host memory
        offload_activations: so many layers of each stage, or of each of its pieces, keep their activations in
            host memory (Megatron's cpu_offloading_num_layers)
        attention: in one kernel, or with scores that pass through memory; the framework's where it is not told
        kernel_time: by this factor kernels take longer than computed, or the host's launches where a network's
            kernels are shorter than these; an anchor says it by a rate; default 1.0
        tokens: length of the training in tokens: a number or a text like "1T"
    """

    framework: str | Path | dict[str, Any]
    name: str | None = None
    model: str | Path | dict[str, Any] | None = None
    program: str | Path | dict[str, Any] | None = None
    library: str | Path | dict[str, Any] | None = None
    precision: Literal["fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "mxfp4", "nvfp4", "int8"] | None = None
    optimizer: str | Path | dict[str, Any] | None = None
    mode: Literal["train", "inference"] | None = None
    batch_per_gpu: int | None = None
    gradient_accumulation: int | None = None
    input: Any = None
    gpus: int | None = None
    anchor: Anchor | dict[str, Any] | None = None
    parameter_servers: ParameterServers | dict[str, Any] | None = None
    placement: Any = None
    stack: Stack | dict[str, Any] | None = None
    cores: float | None = None
    memory: str | None = None
    warmup_steps: int | None = None
    steps: int | None = None
    start: str | None = None
    ends: bool | None = None
    epochs: float | None = None
    training_steps: float | None = None
    sequence: int | None = None
    lengths: Lengths | dict[str, Any] | None = None
    global_batch: int | None = None
    micro_batch: int | None = None
    parallel: Parallel | dict[str, Any] | None = None
    recompute: Literal["none", "selective", "full"] | None = None
    recompute_modules: Sequence[Literal["core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "shared_experts"]] | None = None
    recompute_layers: int | None = None
    bf16_layers: Bf16Layers | dict[str, Any] | None = None
    routing: Routing | dict[str, Any] | None = None
    lora: Lora | dict[str, Any] | None = None
    offload: float | None = None
    offload_activations: int | None = None
    attention: Literal["flash", "plain"] | None = None
    kernel_time: float | None = None
    tokens: Any = None


@dataclass(kw_only=True)
class Expect(Builder):
    """Expect.

    Attributes:
        job: the job it is about; default every job
        point: settings of the points it is about; default every point
        quantity: pointer below the job's results, like /speedup
        than: settings: bounds are for the ratio to the point that differs in these
        than_job: bounds are for the ratio to this job
        at_least: lower bound
        at_most: upper bound
        contains: for texts: what must occur in it
        is_: for what is true or false: what it must be; of /fits: false says that a point may need more memory
            than there is
    """

    quantity: str
    job: str | None = None
    point: Any = None
    than: Any = None
    than_job: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    contains: str | None = None
    is_: bool | None = None


@dataclass(kw_only=True)
class Better(Builder):
    """What would be, were parts of the machine or its software so many times as good: what explain names.

    Attributes:
        gpu: GPUs
        nvlink: NVLink
        pcie: PCIe
        disk: disks
        storage_network: network of the file servers
        storage_cpu: processors of the file servers
        mount: connections and latency of the storage
        memory: memory bandwidth of the nodes
        cores: CPU cores
        core_speed: speed of the CPU cores
        threads: threads that decode
        files: thread that opens files
        page_cache: main memory of the nodes
        fabric: switches between the nodes
        nic: network adapters
        connections: connections of the transport
        latency: latency of network, links and collective library
        framework: overheads of the framework
        variation: variation of step times
    """

    gpu: float | None = None
    nvlink: float | None = None
    pcie: float | None = None
    disk: float | None = None
    storage_network: float | None = None
    storage_cpu: float | None = None
    mount: float | None = None
    memory: float | None = None
    cores: float | None = None
    core_speed: float | None = None
    threads: float | None = None
    files: float | None = None
    page_cache: float | None = None
    fabric: float | None = None
    nic: float | None = None
    connections: float | None = None
    latency: float | None = None
    framework: float | None = None
    variation: float | None = None


@dataclass(kw_only=True)
class Experiment(Builder):
    """A cluster, its software, jobs, and what is varied.

    Attributes:
        format: kind and version of this file; optional
        name: name of the experiment; default: that of the file
        description: what it asks, for people
        cluster: the cluster
        stack: software between jobs and hardware
        jobs: the training jobs
        sweep: JSON pointer -> list of values; all combinations are run; several pointers with spaces between vary
            together
        expect: what must hold; exit code 1 otherwise
        seed: seed of all random streams; --seed overrides
        profiles: calibrated parameters to lay over the presets (foretrain calibrate); later ones override
        better: what would be, were parts of the machine or its software so many times as good: what explain names
        extends: name or path of the file to build on
    """

    name: str | None = None
    description: str | None = None
    cluster: Cluster | dict[str, Any] | None = None
    stack: Stack | dict[str, Any] | None = None
    jobs: Sequence[Job | dict[str, Any]] | None = None
    sweep: Any = None
    expect: Sequence[Expect | dict[str, Any]] | None = None
    seed: int | None = None
    profiles: Sequence[Any] | None = None
    better: Better | dict[str, Any] | None = None
    extends: str | None = None


@dataclass(kw_only=True)
class Cost(Builder):
    """What it costs, in the plan's currency.

    Attributes:
        fixed: once
        node: for each node of the cluster
        gpu: for each GPU of the cluster
        node_hour: for each node and hour of the training: the jobs say how long that is (epochs, tokens or
            training_steps)
    """

    fixed: float | None = None
    node: float | None = None
    gpu: float | None = None
    node_hour: float | None = None


@dataclass(kw_only=True)
class Option(Builder):
    """Option.

    Attributes:
        name: what people call it
        set: JSON pointers into the experiment and their values
        cost: what it costs, in the plan's currency
    """

    name: str
    set: Any = None
    cost: Cost | dict[str, Any] | None = None


@dataclass(kw_only=True)
class Change(Builder):
    """Change.

    Attributes:
        name: what is decided
        options: one of them is taken; the first is what there is today
        vary: JSON pointer into the experiment or fleet, instead of options: values are the options
        values: at that pointer, named after themselves; the first is today's
    """

    name: str
    options: Sequence[Option | dict[str, Any]] | None = None
    vary: str | None = None
    values: Sequence[Any] | None = None


@dataclass(kw_only=True)
class Goal(Builder):
    """Goal.

    Attributes:
        job: the job it is about; default the first
        throughput_at_least: samples per second
        tokens_per_s_at_least: tokens per second of a transformer
        step_time_at_most: median time of a step; a time with its unit, like "1.5 us"
        training_at_most: time to train: the job says how long that is (epochs, tokens or training_steps); a time
            with its unit, like "1.5 us"
        wait_p90_at_most: of a fleet: nine of ten submitted jobs wait no longer; those that never run wait for
            ever; a time with its unit, like "1.5 us"
        goodput_at_least: of a fleet: productive GPU time, of the cluster's
        done_by: of a fleet: from the first submission until every job has ended; a time with its unit, like "1.5
            us"
    """

    job: str | None = None
    throughput_at_least: float | None = None
    tokens_per_s_at_least: float | None = None
    step_time_at_most: str | None = None
    training_at_most: str | None = None
    wait_p90_at_most: str | None = None
    goodput_at_least: float | None = None
    done_by: str | None = None


@dataclass(kw_only=True)
class Plan(Builder):
    """What may be bought or changed, at which cost, and a goal.

    Attributes:
        format: kind and version of this file; optional
        name: name of the plan; default "plan"
        description: what it asks, for people
        experiment: what runs today
        fleet: the jobs over time that there are today, instead of an experiment
        changes: what can be decided; all combinations are candidates
        goals: what must be reached, all of them
        cost: what every candidate costs, whatever is changed
        currency: of all costs, for people
        confidence: probability with which each goal must be reached; of fleets the share of the seeds that must
            reach all; default 0.9
        budget: costs above it are out of the question
        profiles: calibrated parameters to lay over the presets
        extends: name or path of the file to build on
    """

    name: str | None = None
    description: str | None = None
    experiment: str | Path | dict[str, Any] | None = None
    fleet: str | Path | dict[str, Any] | None = None
    changes: Sequence[Change | dict[str, Any]] | None = None
    goals: Sequence[Goal | dict[str, Any]] | None = None
    cost: Cost | dict[str, Any] | None = None
    currency: str | None = None
    confidence: float | None = None
    budget: float | None = None
    profiles: Sequence[Any] | None = None
    extends: str | None = None


@dataclass(kw_only=True)
class Power(Builder):
    """What is drawn, for the energy of the answer.

    Attributes:
        gpu_busy: watts of a GPU while it works
        gpu_idle: watts of a GPU that does not, in a node that is up
        node: watts of a node that is up, without its GPUs
    """

    gpu_busy: float
    gpu_idle: float | None = None
    node: float | None = None


@dataclass(kw_only=True)
class FleetCluster(Builder):
    """The machines.

    Attributes:
        platform: the machine; needed where speeds are simulated
        nodes: how many nodes, without spares
        gpus_per_node: where there is no platform to tell it
        nodes_per_switch: under one switch, for consolidate and for failures of switches; default all
        storage: where training data lies; default the first disk of each node
        price_per_gpu_hour: what a GPU costs for an hour, used or not: a number, or an object of platform and
            number
        currency: of it, for people
        power: what is drawn, for the energy of the answer
    """

    nodes: int
    platform: str | Path | dict[str, Any] | None = None
    gpus_per_node: int | None = None
    nodes_per_switch: int | None = None
    storage: str | Path | dict[str, Any] | None = None
    price_per_gpu_hour: Any = None
    currency: str | None = None
    power: Power | dict[str, Any] | None = None


@dataclass(kw_only=True)
class Queue(Builder):
    """Queue.

    Attributes:
        name: of the queue, as jobs name it
        quota_gpus: GPUs that its jobs may hold; default no limit
        borrow: it may use what other queues leave of their quotas; default true
        max_time: after which its jobs are killed, whatever they ask; a time with its unit, like "1.5 us"
    """

    name: str
    quota_gpus: int | None = None
    borrow: bool | None = None
    max_time: str | None = None


@dataclass(kw_only=True)
class Jobs(Builder):
    """Recorded jobs; else there are arrivals.

    Attributes:
        trace: file of recorded jobs, gzipped or not, relative to this one
        kind: who wrote it
        take: ended: jobs that have ended are replayed; unfinished (of sacct): those that run and wait go on from
            the end of the trace, and take as much of their limits as ended ones; default "ended"
        speed: recorded: run times are the trace's; simulated: they hold alone and packed, and jobs slow each
            other down as simulated; default "recorded"
        job: what each job does, as in an experiment but for its GPUs: for simulated speeds
        leases: CSV with columns job, start_s, end_s and nodes (like 0 1), relative to this file: who held what,
            for the policy recorded
    """

    trace: str
    kind: Literal["sacct", "swf", "batsim", "philly", "helios", "acme", "openb", "kueue"]
    take: Literal["ended", "unfinished"] | None = None
    speed: Literal["recorded", "simulated"] | None = None
    job: Any = None
    leases: str | None = None


@dataclass(kw_only=True)
class Mix(Builder):
    """Mix.

    Attributes:
        name: for reports
        share: of all arrivals, in any unit; default 1.0
        queue: that it is submitted to; default the first
        account: that it is charged to
        priority: higher goes first, where the policy looks at it
        limit: wall time after which it is killed; a time with its unit, like "1.5 us"
        job: a job as in an experiment: its speed is simulated
        epochs: of such a job, over its data set
        steps: of such a job, instead of epochs
        tokens: of such a job of a transformer, instead of these: a number or a text like "10B"
        gpus: of a job of which only the run time is known
        run_time: of such a job, or the mean of its law; a time with its unit, like "1.5 us"
        law: of the run times; default "fixed"
        spread: coefficient of variation of the log-normal law; default 1.0
    """

    name: str | None = None
    share: float | None = None
    queue: str | None = None
    account: str | None = None
    priority: float | None = None
    limit: str | None = None
    job: Any = None
    epochs: float | None = None
    steps: float | None = None
    tokens: Any = None
    gpus: int | None = None
    run_time: str | None = None
    law: Literal["fixed", "exponential", "log-normal"] | None = None
    spread: float | None = None


@dataclass(kw_only=True)
class Arrivals(Builder):
    """Jobs that are drawn.

    Attributes:
        process: poisson: each by itself; even: at equal distances; default "poisson"
        per_hour: jobs that come in an hour, on average
        burst: mean number of jobs that come at once (geometric); default 1.0
        by_hour: 24 relative rates from midnight on, of any mean
        by_weekday: 7 relative rates from Monday on; time 0 is a Monday
        mix: what comes
        until: when no more jobs come; a time with its unit, like "1.5 us"
    """

    per_hour: float
    mix: Sequence[Mix | dict[str, Any]]
    until: str
    process: Literal["poisson", "even"] | None = None
    burst: float | None = None
    by_hour: Sequence[float] | None = None
    by_weekday: Sequence[float] | None = None


@dataclass(kw_only=True)
class Repair(Builder):
    """How long these repairs take; default that of all failures.

    Attributes:
        median: half of the repairs take less; a time with its unit, like "1.5 us"
        mean: of all repairs, at least the median; a time with its unit, like "1.5 us"
    """

    median: str
    mean: str


@dataclass(kw_only=True)
class Gpus(Builder):
    """Failures of single GPUs.

    Attributes:
        per_1000_days: failures of 1,000 of them in a day
        repair: how long these repairs take; default that of all failures
        takes: node: the whole node goes down with it; gpu: the others go on; default "node"
    """

    per_1000_days: float
    repair: Repair | dict[str, Any] | None = None
    takes: Literal["node", "gpu"] | None = None


@dataclass(kw_only=True)
class Storage(Builder):
    """Failures of the storage that all jobs share: jobs hang until it is back, and lose nothing.

    Attributes:
        per_1000_days: failures of 1,000 of them in a day
        repair: how long these repairs take; default that of all failures
    """

    per_1000_days: float
    repair: Repair | dict[str, Any] | None = None


@dataclass(kw_only=True)
class Lemons(Builder):
    """Nodes that fail more often than others.

    Attributes:
        nodes: share of the nodes, by number from the first; default 0.1
        failures: share of the failures that they have; default 0.4
    """

    nodes: float | None = None
    failures: float | None = None


@dataclass(kw_only=True)
class Failures(Builder):
    """When nodes go down and come back; default never.

    Attributes:
        trace: CSV with columns node, start_day, end_day, relative to this file
        per_1000_node_days: failures of 1,000 nodes in a day
        per_1000_switch_days: failures of 1,000 switches in a day: all nodes below one go down
        gpus: failures of single GPUs
        storage: failures of the storage that all jobs share: jobs hang until it is back, and lose nothing
        law: of the time between the failures of one node; default "exponential"
        shape: of Weibull's law; below 1: failures come in clusters; default 1.0
        repair: how long repairs take: log-normal by median and mean
        lemons: nodes that fail more often than others
        drained: share of the failures of nodes, and of GPUs that take their node, which checks find before a job
            fails: nothing starts on the node, and it is repaired when its jobs have ended
        detect: from a failure until the job gives up its GPUs; a time with its unit, like "1.5 us"; default "0
            ns"
        spares: further nodes that take the place of those that are down
        spare_start: until a spare that is called is in service: cold spares; default at once; a time with its
            unit, like "1.5 us"; default "0 ns"
        keep_place: a job that failed keeps its other nodes and waits, before all others, for one in place of that
            which is down; else it gives all back and queues again
    """

    trace: str | None = None
    per_1000_node_days: float | None = None
    per_1000_switch_days: float | None = None
    gpus: Gpus | dict[str, Any] | None = None
    storage: Storage | dict[str, Any] | None = None
    law: Literal["exponential", "weibull"] | None = None
    shape: float | None = None
    repair: Repair | dict[str, Any] | None = None
    lemons: Lemons | dict[str, Any] | None = None
    drained: float | None = None
    detect: str | None = None
    spares: int | None = None
    spare_start: str | None = None
    keep_place: bool | None = None


@dataclass(kw_only=True)
class Maintenance(Builder):
    """Maintenance.

    Attributes:
        from_: when it begins: after the first submission of a trace, of drawn jobs after midnight of the first
            Monday; a time with its unit, like "1.5 us"
        length: until it is over; a time with its unit, like "1.5 us"
        times: how often; default 1
        every: from one beginning to the next; a time with its unit, like "1.5 us"
        first_node: of those that it takes, from 0
        nodes: how many it takes; default all from the first
    """

    from_: str
    length: str
    times: int | None = None
    every: str | None = None
    first_node: int | None = None
    nodes: int | None = None


@dataclass(kw_only=True)
class Reservation(Builder):
    """Reservation.

    Attributes:
        from_: when it begins: after the first submission of a trace, of drawn jobs after midnight of the first
            Monday; a time with its unit, like "1.5 us"
        length: until it is over; a time with its unit, like "1.5 us"
        times: how often; default 1
        every: from one beginning to the next; a time with its unit, like "1.5 us"
        first_node: of those that it takes, from 0
        nodes: how many it takes; default all from the first
        accounts: whose jobs may have these nodes then
        queues: whose jobs may have these nodes then
    """

    from_: str
    length: str
    times: int | None = None
    every: str | None = None
    first_node: int | None = None
    nodes: int | None = None
    accounts: Sequence[str] | None = None
    queues: Sequence[str] | None = None


@dataclass(kw_only=True)
class Checkpoint(Builder):
    """What a failure leaves; default nothing.

    Attributes:
        interval: of work between two writes: a time, best (Daly's), or simulated (the best of nine from a quarter
            to four times that)
        write: how long a write takes; default simulated, with who meets it, as is a rate; a time with its unit,
            like "1.5 us"
        bytes_per_gpu: that a write has, where its time is not given; default what the job trains, with the
            optimizer's state, over its GPUs; a size with its unit, like "64 MiB"
        rate: at which all GPUs of a job write together; a bandwidth with its unit, like "12.5 GB/s"
        read: how long a job that goes on reads its last checkpoint; default simulated where writes are, else no
            time beyond restart; a time with its unit, like "1.5 us"
        read_rate: at which all its GPUs read it together, beside rate; a bandwidth with its unit, like "12.5
            GB/s"
        to: the cluster's storage, the first disk of each node, or neighbour: each part into memory of its node
            and of the job's next one, which is lost with both; default "storage"
        asynchronous: work goes on during a write
        restart: from having GPUs again until work goes on; a time with its unit, like "1.5 us"; default "0 ns"
    """

    interval: Any
    write: str | None = None
    bytes_per_gpu: str | None = None
    rate: str | None = None
    read: str | None = None
    read_rate: str | None = None
    to: Literal["storage", "disk", "neighbour"] | None = None
    asynchronous: bool | None = None
    restart: str | None = None


@dataclass(kw_only=True)
class FleetExpect(Builder):
    """FleetExpect.

    Attributes:
        quantity: pointer into the answer, like /wait_s/p90; of ranges the median
        point: settings of the points it is about; default every point
        than: settings: bounds are for the ratio to the point that differs in these
        at_least: least value allowed
        at_most: greatest value allowed
    """

    quantity: str
    point: Any = None
    than: Any = None
    at_least: float | None = None
    at_most: float | None = None


@dataclass(kw_only=True)
class Fleet(Builder):
    """A cluster, its queues and policy, and jobs that come over time.

    Attributes:
        format: kind and version of this file; optional
        name: name of the fleet; default "fleet"
        description: what it asks, for people
        cluster: the machines
        stack: software of all jobs, as in an experiment
        queues: quotas and limits; queues that are not named here have none
        policy: which job runs next, and where; default fifo
        jobs: recorded jobs; else there are arrivals
        arrivals: jobs that are drawn
        failures: when nodes go down and come back; default never
        maintenance: planned: jobs that would not end before are held back, those still there keep their work and
            wait again
        reservations: nodes that only jobs of some accounts or queues may have for a while; others start there
            only if they would end before, and those that still run are left
        checkpoint: what a failure leaves; default nothing
        seeds: how often it is simulated, for intervals; default 1
        seed: the first seed; default 1
        sweep: JSON pointer -> list of values; all combinations are simulated; several pointers with spaces
            between vary together
        expect: what must hold of the answer, else foretrain ends with 1
        extends: name or path of the file to build on
    """

    name: str | None = None
    description: str | None = None
    cluster: FleetCluster | dict[str, Any] | None = None
    stack: Any = None
    queues: Sequence[Queue | dict[str, Any]] | None = None
    policy: str | Path | dict[str, Any] | None = None
    jobs: Jobs | dict[str, Any] | None = None
    arrivals: Arrivals | dict[str, Any] | None = None
    failures: Failures | dict[str, Any] | None = None
    maintenance: Sequence[Maintenance | dict[str, Any]] | None = None
    reservations: Sequence[Reservation | dict[str, Any]] | None = None
    checkpoint: Checkpoint | dict[str, Any] | None = None
    seeds: int | None = None
    seed: int | None = None
    sweep: Any = None
    expect: Sequence[FleetExpect | dict[str, Any]] | None = None
    extends: str | None = None

"""Foretrain in Python: how fast will this training run on that cluster, and what limits it?

    import foretrain as ft

    answer = ft.predict("c4140-resnet50", set={"/jobs/0/gpus": 8})
    for point in answer.points:
        print(point.jobs[0].throughput_samples_per_s)

Each function runs the program `foretrain` in a process of its own and gives its answer as an object (docs/python.md).
"""

from .builders import (
    Anchor,
    Arrivals,
    Change,
    Checkpoint,
    Cluster,
    Expect,
    Experiment,
    Failures,
    Fleet,
    FleetCluster,
    FleetExpect,
    Goal,
    Job,
    Jobs,
    Lora,
    Mix,
    Option,
    Parallel,
    ParameterServers,
    Plan,
    Queue,
    Stack,
)
from .catalog import (
    experiments,
    frameworks,
    import_model,
    import_platform,
    kinds,
    model,
    models,
    parameters,
    platforms,
    presets,
    schema,
    version,
)
from .commands import (
    calibrate,
    check,
    compare,
    explain,
    fleet,
    fleet_sweep,
    fleet_when,
    nccl_tests,
    plan,
    predict,
    program,
    sweep,
    tune,
    validate,
)
from .errors import ForetrainError, InputError, InternalError, ProgramNotFound
from .policy import State
from .values import Range, Record

__version__ = "0.3.0"

__all__ = [
    "Anchor", "Arrivals", "Change", "Checkpoint", "Cluster", "Expect", "Experiment", "Failures", "Fleet",
    "FleetCluster", "FleetExpect", "ForetrainError", "Goal", "InputError", "InternalError", "Job", "Jobs", "Lora",
    "Mix", "Option", "Parallel", "ParameterServers", "Plan", "ProgramNotFound", "Queue", "Range", "Record", "Stack",
    "State",
    "calibrate", "check", "compare", "experiments", "explain", "fleet", "fleet_sweep", "fleet_when",
    "frameworks", "import_model", "import_platform", "kinds", "model", "models", "nccl_tests", "parameters", "plan", "platforms", "predict",
    "presets", "program", "schema", "sweep", "tune", "validate", "version",
]

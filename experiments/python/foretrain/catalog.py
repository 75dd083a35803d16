"""What foretrain knows: presets, parameters with their sources, schemas; and imports that make more of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any, Union

from .errors import error_of
from .given import plain_options
from .process import run
from .values import Record, wrapped

Path = Union[str, "PathLike[str]"]


def _told(*words: str) -> str:
    finished = run(words)
    if finished.status != 0:
        raise error_of(finished.messages, finished.status)
    return finished.output


def version() -> str:
    """Version and commit of the program."""
    return _told("--version").strip()


def kinds() -> list[str]:
    """Kinds of files that have a schema: "experiment", "platform", "framework" ..."""
    return _told("schema", "--list").split()


def presets(kind: str) -> list[str]:
    """Names of the bundled files of a kind (see `kinds`), sorted."""
    return _told("schema", kind, "--presets").split()


def schema(kind: str) -> dict[str, Any]:
    """JSON Schema of a kind of file."""
    found: dict[str, Any] = json.loads(_told("schema", kind))
    return found


def platforms() -> dict[str, str]:
    """Bundled platforms: name -> what it is."""
    lines = (line.split(maxsplit=1) for line in _told("platform", "list").splitlines())
    return {words[0]: words[1] if len(words) > 1 else "" for words in lines}


def models() -> list[Record]:
    """Bundled models with their totals (parameters, bytes, FLOP)."""
    return [wrapped(entry) for entry in json.loads(_told("model", "list", "--json"))]


def model(name: Path) -> Record:
    """Give a model, bundled or of a file, layer by layer."""
    return wrapped(json.loads(_told("model", "show", fspath(name), "--json")))  # type: ignore[no-any-return]


def frameworks() -> list[str]:
    """Names of the bundled training frameworks."""
    return presets("framework")


def experiments() -> list[str]:
    """Names of the bundled experiments."""
    return presets("experiment")


def parameters(kind: str | None = None, name: Path | None = None) -> list[Record]:
    """Give the numbers behind every prediction, with spread and source.

    Args:
        kind: of preset, like "gpu" or "library"; default all.
        name: one preset of that kind, by name or path; default all.
    """
    words = [fspath(word) for word in (kind, name) if word is not None]
    return [wrapped(entry) for entry in json.loads(_told("parameters", *words, "--format=json"))]


def import_model(files: Path | Iterable[Path], *, name: str | None = None, batch: int | None = None,
                 ranks: int | None = None, like: str | None = None, gpu: str | None = None,
                 exchanges: str | None = None, steps: int | None = None) -> dict[str, Any]:
    """Read a model of another program: Hugging Face's config.json, a PyTorch trace, Chakra, ONNX, an operator table.

    Args:
        files: the file, or those of all ranks.
        name: of the model; default that of the file.
        batch: samples per device, where the file does not tell.
        ranks: GPUs of the recorded job, where the file does not tell.
        like: a bundled network that it is like.
        gpu: preset of the GPU that it was recorded on.
        exchanges: how exchanges are taken over (docs/traces.md).
        steps: that an operator table sums up; one if not given.

    Returns:
        The model, to be named inside an experiment (`"model": imported`) or written to a file.
    """
    listed = [files] if isinstance(files, (str, PathLike)) else list(files)
    words = plain_options({"name": name, "batch": batch, "ranks": ranks, "like": like, "gpu": gpu, "exchanges": exchanges,
                           "steps": steps})
    imported: dict[str, Any] = json.loads(_told("model", "import", *[fspath(file) for file in listed], *words))
    return imported


def import_platform(file: Path, *, name: str | None = None, gpu: str | None = None, cpu: str | None = None,
                    nic: str | None = None, nvlink: str | None = None, memory: str | None = None,
                    fabric: str | None = None, nodes: int | None = None,
                    numa_per_socket: int | None = None) -> dict[str, Any]:
    """Make a platform of what a machine printed: `nvidia-smi topo -m`, or NCCL's topology as XML.

    Args:
        file: what the machine printed.
        name: of the platform; default that of the file.
        gpu: preset of the GPUs.
        cpu: preset of the CPUs.
        nic: preset of every adapter.
        nvlink: platform whose NVLink is taken over.
        memory: main memory of the node, like "384 GB".
        fabric: preset of the fabric that joins the nodes.
        nodes: how many there can be.
        numa_per_socket: NUMA nodes of a socket.

    Returns:
        The platform, to be named inside an experiment or written to a file.
    """
    words = plain_options({"name": name, "gpu": gpu, "cpu": cpu, "nic": nic, "nvlink": nvlink, "memory": memory,
                     "fabric": fabric, "nodes": nodes, "numa_per_socket": numa_per_socket})
    imported: dict[str, Any] = json.loads(_told("platform", "import", fspath(file), *words))
    return imported

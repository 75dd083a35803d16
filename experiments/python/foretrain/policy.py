"""A policy of the user's own for `fleet`: a function that is asked which jobs start and stop."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union

from .builder import plain
from .process import end
from .values import Record

Start = Union[int, Record, tuple[int, Iterable[int]]]
"""A waiting job, or its number; or its number and the nodes that it gets, with as many GPUs on each."""

Policy = Callable[["State"], Union[Iterable[Start], Mapping[str, Any]]]
"""Gives the jobs that start; or a mapping with `start`, `stop` (running jobs that stop first), `again_s` (seconds from now
on, after which it is asked again) and `when_full` (from now on it is asked also while no GPU is free)."""


class State(Record):
    """What a policy is told: asked while jobs wait and GPUs are free, whenever something has happened.

    Attributes:
        seed: of this simulation; a new one begins with time at its start
        time_s: now
        gpus_per_node: of each node
        free: GPUs that are free, by node
        waiting: jobs with `job` (a number), `id`, `queue`, `account`, `gpus`, `submit_s`, `expected_s` (limit, else run
            time), `limit_s`, `priority`, and `nodes` where they ask for a number of nodes
        running: jobs with `job`, `id`, `queue`, `account`, `gpus`, `submit_s`, `priority`, `expected_end_s`, and `held`:
            node -> GPUs
    """

    seed: int
    time_s: float
    gpus_per_node: int
    free: tuple[int, ...]
    waiting: tuple[Record, ...]
    running: tuple[Record, ...]
    _known = ("seed", "time_s", "gpus_per_node", "free", "waiting", "running")


class Conversation:
    """Answers the program's questions in a thread, through two pipes that the program's child inherits."""

    def __init__(self, policy: Policy) -> None:
        """Open the pipes."""
        self._policy = policy
        self._questions, self._ask = os.pipe()
        self._answers, self._tell = os.pipe()
        self._lock = threading.Lock()
        self._closed = False
        self._thread: threading.Thread | None = None
        self.failure: BaseException | None = None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What the program's child inherits."""
        return self._ask, self._answers

    @property
    def command(self) -> str:
        """Shell command that joins its standard streams with the pipes."""
        return f"cat /dev/fd/{self._answers} & exec cat >/dev/fd/{self._ask}"

    @property
    def name(self) -> str:
        """What the policy is called: the function's name."""
        return getattr(self._policy, "__name__", type(self._policy).__name__)

    def start(self, process: subprocess.Popen[bytes]) -> None:
        """Answer what the process asks; where the policy fails, end the process."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self._thread = threading.Thread(target=self._answer, args=(process,), daemon=True)
        self._thread.start()

    def _answer(self, process: subprocess.Popen[bytes]) -> None:
        with os.fdopen(self._questions, encoding="utf-8", newline="\n") as questions:
            for line in questions:
                try:
                    answer = json.dumps(_answer(self._policy(State(json.loads(line))), self.name)) + "\n"
                except BaseException as error:  # the policy's own: raised where the fleet was asked for
                    self.failure = error
                    end(process)
                    return
                self._write(answer.encode())

    def _write(self, answer: bytes) -> None:
        with self._lock:
            try:
                while answer and not self._closed:
                    answer = answer[os.write(self._tell, answer) :]
            except BrokenPipeError:
                pass  # the program has ended

    def close(self) -> None:
        """End the thread: without somebody who answers, the child ends, and with it the questions."""
        with self._lock:
            self._closed = True
            os.close(self._tell)
        if self._thread is not None:
            self._thread.join()


def _answer(told: Any, name: str) -> dict[str, Any]:
    """JSON of what the policy of that name gives."""
    if not isinstance(told, Mapping):
        return {"start": _decisions(told, f"policy function '{name}' must give the jobs that start now, or a mapping with "
                                          "'start', 'stop', 'again_s' and 'when_full'")}
    answer = dict(told)
    for key in ("start", "stop"):
        answer[key] = _decisions(told.get(key, ()), f"'{key}' of policy function '{name}' must be jobs")
    return answer


def _decisions(told: Any, wanted: str) -> list[Any]:
    """JSON of several decisions: of one job, of a text or of nothing at all no list is made."""
    if not isinstance(told, Iterable) or isinstance(told, (str, Record)):
        raise TypeError(f"{wanted} (a list, or yield, of jobs, their numbers, or pairs of a number and its nodes; empty where "
                        f"none), got {type(told).__name__}")
    return [_decision(entry) for entry in told]


def _decision(start: Any) -> Any:
    """JSON of a decision."""
    if isinstance(start, (tuple, list)):
        job, nodes = start
        return {"job": plain(job), "nodes": plain(list(nodes))}
    return plain(start.job if isinstance(start, Record) else start)

"""A policy of the user's own for `fleet`: a function that is asked which jobs start."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Callable, Iterable
from typing import Any, Union

from .builder import plain
from .process import end
from .values import Record

Start = Union[int, Record, tuple[int, Iterable[int]]]
"""A waiting job, or its number; or its number and the nodes that it gets, with as many GPUs on each."""

Policy = Callable[["State"], Iterable[Start]]


class State(Record):
    """What a policy is told: asked while jobs wait and GPUs are free, whenever something has happened.

    Attributes:
        seed: of this simulation; a new one begins with time at its start
        time_s: now
        gpus_per_node: of each node
        free: GPUs that are free, by node
        waiting: jobs with `job` (a number), `id`, `queue`, `account`, `gpus`, `submit_s`, `expected_s` (limit, else run
            time), `limit_s`, `priority`, and `nodes` where they ask for a number of nodes
        running: jobs with `job`, `id`, `gpus`, `expected_end_s`, and `held`: node -> GPUs
    """

    seed: int
    time_s: float
    gpus_per_node: int
    free: list[int]
    waiting: list[Record]
    running: list[Record]
    _known = ("seed", "time_s", "gpus_per_node", "free", "waiting", "running")


class Conversation:
    """Answers the program's questions in a thread, through a socket that the program's child inherits."""

    def __init__(self, policy: Policy) -> None:
        """Open the socket."""
        self._policy = policy
        self._here, self._there = socket.socketpair()
        self.failure: BaseException | None = None
        self._thread: threading.Thread | None = None

    @property
    def descriptor(self) -> int:
        """What the program's child inherits."""
        return self._there.fileno()

    @property
    def command(self) -> str:
        """Shell command that joins its standard streams with the socket."""
        return f"cat <&{self.descriptor} & exec cat >&{self.descriptor}"

    def start(self, process: subprocess.Popen[bytes]) -> None:
        """Answer what the process asks; where the policy fails, end the process."""
        self._there.close()
        self._thread = threading.Thread(target=self._answer, args=(process,), daemon=True)
        self._thread.start()

    def _answer(self, process: subprocess.Popen[bytes]) -> None:
        try:
            with self._here.makefile("rw", encoding="utf-8", newline="\n") as stream:
                for line in stream:
                    stream.write(json.dumps({"start": [_decision(start) for start in self._policy(State(json.loads(line)))]}))
                    stream.write("\n")
                    stream.flush()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the program has ended
        except BaseException as error:  # the policy's own: raised where the fleet was asked for
            self.failure = error
            end(process)

    def close(self) -> None:
        """End the thread and forget the socket."""
        try:
            self._here.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end is gone
        if self._thread is not None:
            self._thread.join()
        self._here.close()
        self._there.close()


def _decision(start: Any) -> Any:
    """JSON of a decision."""
    if isinstance(start, (tuple, list)):
        job, nodes = start
        return {"job": plain(job), "nodes": plain(list(nodes))}
    return plain(start.job if isinstance(start, Record) else start)

"""Runs the program `foretrain`: each call is a process of its own, so threads do not wait for each other."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .errors import ProgramNotFound

Progress = Callable[[int, int, str], None]
"""Called with what is done, the total, and the unit ("points")."""

_PROGRESS_LINE = "progress: "


@dataclass(frozen=True)
class Finished:
    """What a run of the program left behind."""

    command: tuple[str, ...]
    status: int
    output: str
    messages: str
    interrupted: bool


def find_program() -> str:
    """Path of the program: $FORETRAIN, else beside this package, else in PATH.

    Raises:
        ProgramNotFound: it is nowhere.
    """
    named = os.environ.get("FORETRAIN")
    if named:
        found = shutil.which(named)
        if found is None:
            raise ProgramNotFound(f"$FORETRAIN names '{named}', which is not a program")
        return found
    folders = Path(__file__).resolve().parents
    beside = [folders[4] / "bin" / "foretrain"] if len(folders) > 4 else []  # <prefix>/lib/python3/dist-packages
    beside += [folders[3] / "build" / "release" / "foretrain"]  # the source tree
    for candidate in beside:
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return str(candidate)
    found = shutil.which("foretrain")
    if found is None:
        places = ", ".join(str(path) for path in beside)
        raise ProgramNotFound(f"the program foretrain is not in PATH, nor at {places}; set $FORETRAIN to its path")
    return found


class Partner(Protocol):
    """Somebody whom the program talks to while it runs."""

    failure: BaseException | None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What the program inherits."""

    def start(self, process: subprocess.Popen[bytes]) -> None:
        """Begin."""

    def close(self) -> None:
        """Be done."""


class TextFile:
    """A text as a file in memory that a child process can open."""

    def __init__(self, text: str) -> None:
        """Write the text."""
        self.descriptor = os.memfd_create("foretrain")
        with os.fdopen(os.dup(self.descriptor), "wb") as file:
            file.write(text.encode())

    @property
    def path(self) -> str:
        """What a child that inherits the descriptor calls it."""
        return f"/dev/fd/{self.descriptor}"

    def close(self) -> None:
        """Forget it."""
        os.close(self.descriptor)

    def __enter__(self) -> TextFile:
        """Keep it for a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Forget it."""
        self.close()


class _Messages(threading.Thread):
    """Reads standard error: progress to who asked for it, the rest kept."""

    def __init__(self, process: subprocess.Popen[bytes], progress: Progress | None) -> None:
        super().__init__(daemon=True)
        self.process = process
        self.progress = progress
        self.lines: list[str] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        assert self.process.stderr is not None
        with os.fdopen(os.dup(self.process.stderr.fileno()), encoding="utf-8", errors="replace", newline="\n") as file:
            for line in file:
                if self.progress and line.startswith(_PROGRESS_LINE):
                    self._tell(line[len(_PROGRESS_LINE) :])
                else:
                    self.lines.append(line)

    def _tell(self, line: str) -> None:
        counts, _, unit = line.strip().partition(" ")
        done, _, total = counts.partition("/")
        try:
            if self.progress and self.failure is None:
                self.progress(int(done), int(total), unit)
        except BaseException as error:  # the caller's own: raised where it called
            self.failure = error
            end(self.process)


def run(
    arguments: Sequence[str],
    *,
    standard_input: TextFile | None = None,
    files: Sequence[TextFile] = (),
    progress: Progress | None = None,
    partner: Partner | None = None,
) -> Finished:
    """Run the program to its end.

    Ctrl-C asks it to stop with what it has; a second one ends it at once.
    """
    command = (find_program(), *arguments)
    environment = dict(os.environ)
    environment.pop("FORETRAIN_PROGRESS", None)
    if progress:
        environment["FORETRAIN_PROGRESS"] = "lines"
    process = subprocess.Popen(
        command,
        stdin=standard_input.descriptor if standard_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[*(file.descriptor for file in files), *(partner.descriptors if partner else ())],
        env=environment,
        start_new_session=True,  # the terminal's Ctrl-C is ours to pass on
        bufsize=0,
    )
    messages = _Messages(process, progress)
    messages.start()
    if partner:
        partner.start(process)
    try:
        output, interrupted = _read_all(process)
    finally:
        if process.poll() is None:
            end(process)
            process.wait()
        if partner:
            partner.close()  # before the messages end: what the program started for it writes there, too
        messages.join()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    for failure in (messages.failure, partner.failure if partner else None):
        if failure is not None:
            raise failure
    return Finished(command, process.returncode, output.decode(), "".join(messages.lines), interrupted)


def end(process: subprocess.Popen[bytes]) -> None:
    """End the process and those that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _read_all(process: subprocess.Popen[bytes]) -> tuple[bytes, bool]:
    assert process.stdout is not None
    chunks: list[bytes] = []
    interrupts = 0
    while True:
        try:
            chunk = os.read(process.stdout.fileno(), 1 << 20)
            if not chunk:
                process.wait()
                return b"".join(chunks), interrupts > 0
            chunks.append(chunk)
        except KeyboardInterrupt:
            interrupts += 1
            if interrupts == 1:
                process.send_signal(signal.SIGINT)
            else:
                end(process)

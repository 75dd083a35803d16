"""What can go wrong, as exceptions that know what the program's message says."""

from __future__ import annotations

import re


class ForetrainError(Exception):
    """Anything that foretrain refuses or fails at; its text is the program's message."""


class ProgramNotFound(ForetrainError):
    """The program `foretrain` is not where it is looked for; the text names the places."""


class InternalError(ForetrainError):
    """A mistake of foretrain itself (exit code 3): please report it with the input."""


class InputError(ForetrainError):
    """Input that is wrong (exit code 2), with all that the message tells.

    Attributes:
        file: the file, or "standard input" for what came from Python; None for options.
        line: of the mistake, counted from 1; None where the message has no place.
        column: likewise.
        pointer: JSON pointer of the value, like "/jobs/0/gpus"; None where the message has none.
        problem: what is wrong.
        found: what was found there, as the message shows it; None where it does not.
        allowed: what would be right, where the message lists it.
        nearest: the valid name that is most like the one found; None where none is near.
        hint: the message's advice; "" where it has none.
    """

    def __init__(self, message: str) -> None:
        """Read the message of the program."""
        super().__init__(message)
        text, _, hint = message.partition("\n  hint: ")
        self.file: str | None = None
        self.line: int | None = None
        self.column: int | None = None
        self.pointer: str | None = None
        self.hint: str = hint.strip()
        self.problem: str = text.strip()
        located = re.match(r"(?s)(?P<file>.+?)(?::(?P<line>\d+))?(?::(?P<column>\d+))?: error: (?P<rest>.*)", text)
        if located:
            self.file = located["file"]
            self.line = int(located["line"]) if located["line"] else None
            self.column = int(located["column"]) if located["column"] else None
            self.problem = located["rest"]
            pointed = re.match(r"(?s)(?P<pointer>/\S*) (?P<problem>.*)", self.problem)
            if pointed:
                self.pointer, self.problem = pointed["pointer"], pointed["problem"]
        self.found: str | None = _found(self.problem, self.pointer)
        self.allowed: list[str] = _allowed(self.problem, self.hint)
        self.nearest: str | None = _nearest(self.hint)


def _found(problem: str, pointer: str | None) -> str | None:
    if pointer and problem.startswith("is not a known key"):
        return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    for pattern in (r"\bgot (.+)$", r"is not a [^']*'(.*)'", r"^'(.*?)' is not a", r"^is ('[^']*'|-?[0-9][^\s,]*)(?:,| )"):
        match = re.search(pattern, problem, re.DOTALL)
        if match:
            found = match[1]
            return found[1:-1] if len(found) > 1 and found[0] == found[-1] and found[0] in "'\"" else found
    return None


def _allowed(problem: str, hint: str) -> list[str]:
    for pattern, text in (
        (r"must be one of (.+?)[;,] got", problem),
        (r"must be (true or false)", problem),
        (r"it has: (.+)$", problem),
        (r"known [^:]+: (.+?)(?: \(or .*)?$", hint),
        (r"^one of (.+)$", hint),
        (r"did you mean one of (.+)\?", hint),
        (r"^nearest(?: that do)?: (.+)$", hint),
        (r"allowed units: (.+?)$", problem + "\n" + hint),
    ):
        match = re.search(pattern, text, re.DOTALL)
        if match:
            return [word.strip(" '") for word in re.split(r", | or ", match[1]) if word.strip() != "..."]
    return []


def _nearest(hint: str) -> str | None:
    match = re.search(r"did you mean (?:'(.+?)'\?|one of (.+?)[,?])|^nearest(?: that do)?: ([^,]+)", hint)
    return (match[1] or match[2] or match[3]) if match else None


def error_of(stderr: str, status: int) -> ForetrainError:
    """The exception for what a run that ended with `status` wrote to standard error."""
    lines = stderr.rstrip("\n").split("\n")
    starts = [i for i, line in enumerate(lines) if ": error: " in line or line.startswith("foretrain: ")]
    message = "\n".join(lines[starts[0] :] if starts else lines)
    if message.startswith("foretrain: "):
        message = message[len("foretrain: ") :]
    if status == 2:
        return InputError(message)
    if status == 3:
        return InternalError(message)
    return ForetrainError(message or f"foretrain ended with exit code {status} and no message")

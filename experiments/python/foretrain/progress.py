"""A bar for long runs, where tqdm is installed and somebody looks."""

from __future__ import annotations

import sys
import time
from typing import Any

_PATIENCE_S = 1.0


class Bar:
    """A tqdm bar that appears once a run takes longer than a second."""

    def __init__(self) -> None:
        """Start the clock."""
        self._bar: Any = None
        self._start = time.monotonic()

    def __call__(self, done: int, total: int, unit: str) -> None:
        """Show that `done` of `total` are done."""
        if self._bar is None:
            if time.monotonic() - self._start < _PATIENCE_S:
                return
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit=" " + unit, leave=False)
        self._bar.total = total
        self._bar.n = done
        self._bar.refresh()

    def close(self) -> None:
        """Remove it."""
        if self._bar is not None:
            self._bar.close()


def default_bar() -> Bar | None:
    """A bar where tqdm is installed and standard error is a terminal or a notebook's."""
    if "ipykernel" not in sys.modules and not (sys.stderr and sys.stderr.isatty()):
        return None
    try:
        import tqdm  # noqa: F401
    except ImportError:
        return None
    return Bar()

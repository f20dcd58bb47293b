"""What commands print, read and write."""

from __future__ import annotations

import shutil
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from fairbound.verify.strict import MOST_BYTES
from fairbound.wording.names import printable, shortened

#: Work that takes longer than this, in seconds, is worth a word.
PATIENCE = 1.0

#: How long the bar is, in characters.
BAR = 25


class ProblemError(Exception):
    """Something a person can mend: one line on the standard error, and exit status 2."""


def say(*lines: str) -> None:
    """Print lines, if there are any.

    Names of files, groups and labels come from strangers, so nothing may steer the terminal, and no name may go on in a
    line of its own, which could look like a verdict.
    """
    for line in lines:
        print(printable(line).replace("\n", "\ufffd").replace("\u2028", "\ufffd"))  # noqa: T201 (a command's output)
    sys.stdout.flush()  # what goes wrong is said after it


def say_text(text: str) -> None:
    """Print a text of several lines that we wrote ourselves."""
    say(*text.split("\n"))


def complain(text: str) -> None:
    """Print one line on the standard error."""
    line = " ".join(printable(text).split())
    print(f"fairbound: {shortened(line, 2000)}", file=sys.stderr)  # noqa: T201 (the message of a command)


def annotate(commands: Iterable[str]) -> None:
    """Print what a pipeline reads of the standard error, as results are of the standard output."""
    for command in commands:
        print(command, file=sys.stderr)  # noqa: T201 (likewise)


def paragraphs(texts: Iterable[str], mark: str = "* ") -> list[str]:
    """Return texts, as points of a list if there is a mark, wrapped to the width of the terminal."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    first, rest = (f"  {mark}", "  " + " " * len(mark)) if mark else ("", "")
    return [
        line
        for text in texts
        for line in textwrap.wrap(
            text, max(width, 40), initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
        )
    ]


def read_file(path: str) -> bytes:
    """Return a file's bytes, refusing what is too large to be a certificate; pipes and devices may have no end."""
    try:
        with Path(path).open("rb") as file:
            read = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if len(read) > MOST_BYTES:
        message = f"{path} has more than the {MOST_BYTES:,} bytes that are read of a certificate"
        raise ProblemError(message)
    return read


def unreadable(path: str, error: OSError | ValueError) -> ProblemError:
    """Return the problem of a file that cannot be read."""
    return ProblemError(f"{path} cannot be read: {_reason(error)}")


def unwritable(path: object, error: OSError | ValueError) -> ProblemError:
    """Return the problem of a file that cannot be written."""
    return ProblemError(f"{path} cannot be written: {_reason(error)}")


def _reason(error: OSError | ValueError) -> str:
    return str((error.strerror if isinstance(error, OSError) else None) or error)


def check_outputs(sources: Iterable[str], outputs: Iterable[str | None]) -> None:
    """Find out before the work, not after it, that a file cannot be written."""
    taken: list[Path] = []
    for output in outputs:
        if output is None:
            continue
        try:
            taken = taken or [Path(source).resolve() for source in sources]
            file = Path(output).resolve()
            if file in taken:
                message = f"{output} is named twice; choose another file"
                raise ProblemError(message)
            taken.append(file)
            existed = file.exists()
            with file.open("ab"):
                pass
            if not existed:
                file.unlink()
        except (OSError, ValueError) as error:
            raise unwritable(output, error) from None


def write_file(path: str | Path, text: str) -> None:
    """Write a text."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from None


class Progress:
    """How much of some work is done, told on a terminal: what takes long, for how long it has, and a bar if known."""

    def __init__(self, what: str) -> None:
        self.share: float | None = None
        self._what, self._start, self._width = printable(what), monotonic(), 0

    def __call__(self, share: float) -> None:
        """Take note of how much is done."""
        self.share = share

    def show(self) -> None:
        """Write the line anew."""
        line = f"{self._what} ... {monotonic() - self._start:.0f} s"
        if self.share is not None:
            full = int(BAR * min(max(self.share, 0.0), 1.0))
            line += f" [{'#' * full}{'-' * (BAR - full)}] {full * 100 // BAR}%"
        self._width = max(self._width, len(line))
        sys.stderr.write(f"\r{line:<{self._width}}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave nothing behind."""
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Tell, on a terminal, how long work takes that takes long; nothing stays there when it is done."""
    told, done = Progress(what), threading.Event()
    if not sys.stderr.isatty():
        yield told
        return

    def tell() -> None:
        wait = PATIENCE
        while not done.wait(wait):
            told.show()
            wait = 0.5
        told.clear()

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield told
    finally:
        done.set()
        teller.join()

"""The command line: a file for each command or family of commands."""

from fairbound.cli.program import main

__all__ = ["main"]

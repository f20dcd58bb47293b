"""``fairbound completion``: scripts for shells, made from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from fairbound.cli.output import say_text

EXAMPLES = """\
examples:
  eval "$(fairbound completion bash)"        in ~/.bashrc
  eval "$(fairbound completion zsh)"         in ~/.zshrc
  fairbound completion fish > ~/.config/fish/completions/fairbound.fish
"""


@dataclass(frozen=True)
class Option:
    """An option: its names, what it is for, the words that may follow, and whether something must follow."""

    names: tuple[str, ...]
    purpose: str
    choices: tuple[str, ...]
    takes_value: bool


@dataclass(frozen=True)
class Command:
    """A command, its options, and the words that may stand in place of a file."""

    name: str
    purpose: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``completion``."""
    parser.epilog = EXAMPLES
    parser.add_argument("shell", choices=list(SCRIPTS), help="for which shell")
    parser.set_defaults(run=run_completion)


def run_completion(arguments: argparse.Namespace) -> int:
    """Print the script."""
    say_text("\n".join(SCRIPTS[arguments.shell](list(_commands(arguments.parser())))))
    return 0


def _commands(top: argparse.ArgumentParser) -> Iterator[Command]:
    (group,) = (a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    purposes = {action.dest: action.help or "" for action in group._choices_actions}
    for name, parser in group.choices.items():
        options = [
            Option(tuple(a.option_strings), (a.help or "").split(" (default")[0], _words(a), a.nargs != 0)
            for a in parser._actions
            if a.option_strings
        ]
        words = [word for a in parser._actions if not a.option_strings for word in _words(a)]
        yield Command(name, purposes[name], tuple(options), tuple(words))


def _words(action: argparse.Action) -> tuple[str, ...]:
    return tuple(map(str, action.choices or ()))


def _bash(commands: list[Command]) -> list[str]:
    """Options after a dash, choices after an option that has some, else files."""
    names = " ".join(c.name for c in commands)
    lines = [
        "_fairbound() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"',
        "    COMPREPLY=()",
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        COMPREPLY=($(compgen -W "{names} --help --version" -- "$word"))',
        "        return",
        "    fi",
        '    case "$command $before" in',
    ]
    for command in commands:
        for option in command.options:
            if option.takes_value:
                places = "|".join(f'"{command.name} {name}"' for name in option.names)
                found = f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$word")); ' if option.choices else ""
                lines.append(f"        {places}) {found}return ;;")
    lines += ["    esac", '    case "$command" in']
    for command in commands:
        words = " ".join([*(name for option in command.options for name in option.names), *command.words])
        lines.append(f'        {command.name}) COMPREPLY=($(compgen -W "{words}" -- "$word")) ;;')
    return [*lines, "    esac", "}", "complete -o default -F _fairbound fairbound"]


def _zsh(commands: list[Command]) -> list[str]:
    """Zsh understands the functions of bash."""
    return [
        "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }",
        "autoload -Uz bashcompinit && bashcompinit",
        *_bash(commands),
    ]


def _fish(commands: list[Command]) -> list[str]:
    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    lines = []
    for command in commands:
        lines.append(
            f"complete -c fairbound -n __fish_use_subcommand -f -a {command.name} -d {quoted(command.purpose)}"
        )
        here = quoted(f"__fish_seen_subcommand_from {command.name}")
        if command.words:
            lines.append(f"complete -c fairbound -n {here} -f -a {quoted(' '.join(command.words))}")
        for option in command.options:
            flags = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            value = (
                f" -x -a {quoted(' '.join(option.choices))}" if option.choices else " -r" if option.takes_value else ""
            )
            lines.append(f"complete -c fairbound -n {here} {flags}{value} -d {quoted(option.purpose)}")
    return lines


SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}

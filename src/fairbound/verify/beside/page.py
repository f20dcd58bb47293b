"""How a notebook shows the result of a check."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def page(
    verdict: str, claims: Sequence[str], gates: Sequence[tuple[bool, str]], lists: Sequence[tuple[str, Sequence[str]]]
) -> str:
    """Return the verdict, what is claimed, the gates, and lists of sentences with their titles."""
    said = [f"<p><strong>{escape(verdict.capitalize())}</strong></p>"]
    said += [f"<p>{_shown(claim)}</p>" for claim in claims]
    said += [f"<p>gate {_shown(gate)}</p>" for _, gate in gates]
    for title, sentences in lists:
        if sentences:
            items = "".join(f"<li>{_shown(sentence)}</li>" for sentence in sentences)
            said.append(f"<details><summary>{title}</summary><ul>{items}</ul></details>")
    return "".join(said)


def _shown(sentence: str) -> str:
    """Return a sentence that is harmless on a page, and can be stored: names come from strangers."""
    return escape("".join(c if c.isprintable() else "\ufffd" for c in sentence))

"""Names of losses that say what the values are: section "Names of losses" of docs/specification.md."""

from __future__ import annotations

#: The name of the value that is 1 where the model predicts ``pos_label``, and else 0.
SELECTED = "selected"

#: Names that say what the values are: of these there is nothing but 0 and 1, and of those nothing above.
TWO_VALUED = ("zero_one", SELECTED)
CEILINGS = {"zero_one": 1.0, SELECTED: 1.0, "brier": 1.0, "jsd": 1.0, "absolute": 1.0}

#: Names of losses that are ours.
OURS = (*CEILINGS, "cross_entropy")

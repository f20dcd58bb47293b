"""Write the JSON Schema of documents, made from their description: ``python tools/make_schema.py``.

A test fails if it was not run after ``src/fairbound/verify/document.py`` changed.
"""

from __future__ import annotations

import json
from pathlib import Path

from fairbound.certificate.schema import schema
from fairbound.verify.document import VERSION

FILE = Path(__file__).resolve().parents[1] / f"src/fairbound/verify/schemas/{VERSION}/certificate.json"


def main() -> None:
    """Write the file."""
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")
    print(FILE)


if __name__ == "__main__":
    main()

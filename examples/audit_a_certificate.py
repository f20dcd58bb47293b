"""Check a certificate that somebody handed over, as an auditor would.

    python examples/audit_a_certificate.py certificate.json

The proof is checked from the document alone. Then the auditor compares what no program can: that the question is the
right one, and that the statistics are those of the data. Without a file the script writes a certificate of the
demonstration data, audits it, and then audits a copy in which the bound was made to look better.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from fairbound import Certificate, certify, verify
from fairbound.datasets.demo import demo_columns, demo_population


def audit(file: Path) -> bool:
    """Print what a certificate claims and whether it is proved."""
    text = file.read_bytes()
    result = verify(text)
    print(f"{file.name}: {result.verdict.value}")
    for reason in result.reasons[:3]:
        print(f"  because: {reason}")
    if not result.valid:
        print(f"  {len(result.reasons)} reasons in all")
        return False
    for what in result.checks:
        print(f"  checked: {what}")
    certificate = Certificate.from_json(text)
    population = certificate.population
    print(f"  claimed: {population.loss_name} at most {certificate.bound:.6f} at rho = {certificate.rho:g}")
    print("To be compared with the data:")
    for s, group in enumerate(population.groups):
        for y, label in enumerate(population.labels):
            print(f"  {group} {label}: weight {population.weight[s, y]:g}, mean loss {population.mean[s, y]:.4f}")
    print("To be agreed with:")
    for sentence in certificate.assumptions:
        print(f"  * {sentence}")
    return True


def main() -> int:
    """Audit a file, or an honest and a forged example."""
    parser = argparse.ArgumentParser(description="Audit a certificate.")
    parser.add_argument("file", type=Path, nargs="?", help="a certificate, as written by to_json()")
    given = parser.parse_args().file
    if given is not None:
        return 0 if audit(given) else 1
    with TemporaryDirectory() as folder:
        honest, forged = Path(folder) / "honest.json", Path(folder) / "forged.json"
        text = certify(demo_population(demo_columns()), 0.2, shift="sensitive").to_json()
        honest.write_text(text, encoding="utf-8")
        document = json.loads(text)
        for claim in (
            document["questions"][0]["points"][0]["claim"],
            document["questions"][0]["points"][0]["answers"][0],
        ):
            claim.update(bound=0.2, attained=0.19)
        forged.write_text(json.dumps(document), encoding="utf-8")
        return 0 if audit(honest) and not audit(forged) else 1


if __name__ == "__main__":
    sys.exit(main())

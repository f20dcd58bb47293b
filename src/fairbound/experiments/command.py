"""The command ``fairbound reproduce``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

#: In the order of the page; the functions are found in the modules when they are run.
EXPERIMENTS = {
    "sensitive": "sensitive shifting against generated distributions",
    "general": "general shifting against generated distributions and the paper's certificate",
    "limits": "limits on the skewness of groups and labels",
    "wrm": "comparison with WRM on a mixture of Gaussians",
    "tables": "a trained model against one with equal losses (Appendix E.8)",
    "samples": "certificates with 90% confidence",
}

#: Studies with a page of their own, run only if they are named.
STUDIES = {"improve": "what chosen thresholds, weights and Fairlearn's remedies gain; needs scikit-learn and Fairlearn"}
DATASETS = ("adult", "compas", "health", "law", "crime", "german")
SHIPPED = ("adult", "crime", "german")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.description = "Run the paper's experiments; write figures, every number as CSV, and a page that shows them."
    listed = "".join(f"  {name:<10} {what}\n" for name, what in (EXPERIMENTS | STUDIES).items())
    parser.epilog = (
        f"experiments (all but the last, if none is named):\n{listed}\n"
        "exit status: 0 all checks passed, 1 one failed (such as a generated distribution above its certificate),\n"
        "2 the question cannot be used as given\n\n"
        "examples:\n"
        "  fairbound reproduce --quick --out results\n"
        "  fairbound reproduce sensitive tables --dataset adult --out results\n"
    )
    parser.add_argument("experiment", nargs="*", metavar="EXPERIMENT", help="which ones (default: all; see below)")
    parser.add_argument("--out", required=True, metavar="DIR", help="where to write; what is done there is kept")
    parser.add_argument(
        "--dataset",
        action="append",
        nargs="+",
        metavar="NAME",
        help=f"of {', '.join(DATASETS)} (default: all that can be loaded; with --quick those that ship)",
    )
    parser.add_argument(
        "--model",
        help="network (default; needs PyTorch), logistic (default with --quick), or the full name of a scikit-learn "
        "classifier, such as sklearn.ensemble.RandomForestClassifier",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of split, training and distributions (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="coarser, in less than two minutes, without PyTorch")
    parser.add_argument("--data-folder", metavar="DIR", help="where the sources of datasets that do not ship may lie")
    parser.add_argument("--accept-terms", action="store_true", help="accept the terms of the dataset health")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the experiments that were asked for."""
    from fairbound.experiments.bench import Bench, Settings  # noqa: PLC0415 (only when asked for)
    from fairbound.experiments.progress import Progress  # noqa: PLC0415 (likewise)
    from fairbound.experiments.reproduce import reproduce  # noqa: PLC0415 (likewise)
    from fairbound.experiments.store import Store  # noqa: PLC0415 (likewise)

    study = _study(arguments.experiment)
    experiments = () if study else _chosen("EXPERIMENT", arguments.experiment, tuple(EXPERIMENTS))
    named = [name for names in arguments.dataset or [] for name in names]
    wanted = _chosen("--dataset", named, DATASETS) if named or not (study or arguments.quick) else SHIPPED
    settings = Settings(
        wanted,
        model=arguments.model or ("" if study else "logistic" if arguments.quick else "network"),
        seed=arguments.seed,
        quick=arguments.quick,
        folder=None if arguments.data_folder is None else Path(arguments.data_folder),
        accept_terms=arguments.accept_terms,
    )
    _need("matplotlib", "the figures need")
    if settings.model == "network":
        _need("torch", "the paper's network needs", ", or choose another model, such as --model logistic")
    bench = Bench(settings, Store(Path(arguments.out)), Progress())
    if study:
        _need("sklearn", "the study improve needs", name="scikit-learn")
        _need("fairlearn", "the study improve needs")
        from fairbound.experiments.improving import MODELS, improving  # noqa: PLC0415 (it stands on scikit-learn)

        if arguments.model:
            _chosen("--model", [arguments.model], tuple(MODELS))
        results = improving(bench)
    else:
        results = reproduce(bench, experiments, skip_missing=not named)
    failed = [check for check in results.checks if not check.holds]
    for check in failed:
        _say(f"FAILED: {check.statement}: {check.detail}", sys.stderr)
    _say(f"{len(results.checks) - len(failed)} of {len(results.checks)} checks passed", sys.stdout)
    _say(f"Written: {Path(arguments.out) / 'index.html'}", sys.stdout)
    return 1 if failed else 0


def _study(named: list[str]) -> bool:
    """Whether the study was named; it has a page of its own, so it is run alone."""
    from fairbound.errors import InputError  # noqa: PLC0415 (the command's parser needs nothing of the package)

    if not set(named) & set(STUDIES):
        return False
    if len(named) > 1:
        message = f"{next(iter(STUDIES))} is a study with a page of its own; run it alone"
        raise InputError(message)
    return True


def _chosen(argument: str, given: list[str], known: tuple[str, ...]) -> tuple[str, ...]:
    from fairbound.errors import InputError  # noqa: PLC0415 (the command's parser needs nothing of the package)

    strangers = [name for name in given if name not in known]
    if strangers:
        message = f"{argument} {strangers[0]!r} is not known; use {', '.join(known)}"
        raise InputError(message)
    return tuple(name for name in known if name in given) or known


def _need(library: str, what: str, instead: str = "", *, name: str | None = None) -> None:
    """Refuse before the work begins, not after."""
    from fairbound.errors import InputError  # noqa: PLC0415 (as above)

    if find_spec(library) is None:
        name = name or library
        message = f"{what} {name}, which is not installed; pip install {name}{instead}"
        raise InputError(message)


def _say(line: str, stream: Any) -> None:
    write: Callable[[str], object] = stream.write
    write(f"{line}\n")

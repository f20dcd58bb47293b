"""MLflow: numbers, certificate and report of a run in one call, and an evaluator.

MLflow finds the evaluator by the entry point ``mlflow.model_evaluator``, and loads it whenever models are evaluated. It
asks for two methods and no base class, so nothing is imported before something is certified or logged.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairbound.errors import InputError, given

if TYPE_CHECKING:
    from fairbound.integrations.summary import Source, Summary

#: Where files and numbers stand in a run, and the tags that say how it ended.
FOLDER = "fairbound"
PROOF, GATES, REASON = "fairbound.proof", "fairbound.gates", "fairbound.not_certified"

#: What the evaluator itself reads of its configuration; the rest are keywords of :func:`fairbound.certify_all`.
SENSITIVE, METRICS, RADII = "sensitive_features", "metrics", "rho"

#: Longer tags are refused by some stores.
LONGEST_TAG = 500

_logger = logging.getLogger(__name__)


def log_certificate(source: Source | Summary, *, run_id: str | None = None) -> dict[str, float]:
    """Log bounds, certificate and report to a run, and return the numbers by their names there.

    Parameters
    ----------
    source
        A certificate, a curve, the answers to several questions, or a JSON document of any of them. It is checked, and
        a tag says what the checker found.
    run_id
        The run; by default the active one, or a new one that becomes active.
    """
    import mlflow  # noqa: PLC0415 (only where something is logged)

    from fairbound.integrations.summary import Summary  # noqa: PLC0415 (likewise)
    from fairbound.reporting.report import report  # noqa: PLC0415 (likewise)

    run = run_id or (mlflow.active_run() or mlflow.start_run()).info.run_id
    summary = Summary.of(source)
    numbers = metrics_of(summary)
    mlflow.log_metrics(numbers, run_id=run)
    mlflow.log_text(summary.document.decode("ascii"), f"{FOLDER}/certificate.json", run_id=run)
    mlflow.log_text(str(report(summary.document)), f"{FOLDER}/report.html", run_id=run)
    client = mlflow.MlflowClient()
    client.set_tag(run, PROOF, summary.verification.verdict.value)
    client.set_tag(run, GATES, summary.verdict)
    return numbers


def metrics_of(summary: Summary) -> dict[str, float]:
    """Return bound, attained value and the value on the data of each line, by names that MLflow takes."""
    return {
        f"{FOLDER}/{_safe(line.name)}/rho_{line.rho:g}/{key}": float(value)
        for line in summary.lines
        for key, value in (("bound", line.bound), ("attained", line.attained), ("on_data", line.on_data))
    }


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name)


class CertificateEvaluator:
    """Certify a classifier while MLflow evaluates it.

    ``mlflow.models.evaluate(..., model_type="classifier", evaluators=["default", "fairbound"], evaluator_config=
    {"fairbound": {"sensitive_features": "sex", "rho": 0.1, "metrics": ["loss"]}})``. ``sensitive_features`` are a
    column of the data, several, or values for each row; ``rho`` is a radius or several; ``metrics`` are those of
    :func:`fairbound.certify_all`, with thresholds if they are a mapping. All else are keywords of it.

    What cannot be certified is logged as a warning and a tag, and the evaluation goes on.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Mapping[str, Any] | None, **_: Any) -> bool:
        """Whether this evaluator was asked for, and about a classifier; MLflow asks every evaluator that it finds."""
        if SENSITIVE not in (evaluator_config or {}):
            _logger.debug("fairbound certifies nothing: evaluator_config has no %r", SENSITIVE)
            return False
        if model_type != "classifier":
            _logger.warning("fairbound certifies classifiers only, and model_type is %r", model_type)
            return False
        return True

    def evaluate(
        self,
        *,
        dataset: Any,
        run_id: str,
        evaluator_config: Mapping[str, Any],
        model: Any = None,
        predictions: str | None = None,
        **_: Any,
    ) -> Any:
        """Certify, log to the run, and return the numbers and where the files are."""
        import mlflow  # noqa: PLC0415 (MLflow calls)
        from mlflow.models import EvaluationResult  # noqa: PLC0415 (likewise)

        try:
            summary = _certified(dataset, model, predictions, dict(evaluator_config))
        except ValueError as error:
            _logger.warning("fairbound cannot certify this model: %s", error)
            mlflow.MlflowClient().set_tag(run_id, REASON, str(error)[:LONGEST_TAG])
            return EvaluationResult(metrics={}, artifacts={}, run_id=run_id)
        numbers = log_certificate(summary, run_id=run_id)
        return EvaluationResult(metrics=numbers, artifacts=_artifacts(summary, run_id), run_id=run_id)


def _certified(dataset: Any, model: Any, predictions: str | None, config: dict[str, Any]) -> Summary:
    """Certify what a model predicts of an evaluation's data."""
    from fairbound.certificate.evidence import certify_all  # noqa: PLC0415 (only where something is certified)
    from fairbound.data.population import Population  # noqa: PLC0415 (likewise)
    from fairbound.integrations.summary import Summary  # noqa: PLC0415 (likewise)

    sensitive, metrics, radii = config.pop(SENSITIVE), config.pop(METRICS, ["loss"]), config.pop(RADII, None)
    if not dataset.has_targets:
        message = f"{given('targets', None)}: bounds are about true labels; name their column in evaluate(targets=...)"
        raise InputError(message)
    population = Population.from_predictions(
        dataset.labels_data,
        _predicted(dataset, model, predictions),
        sensitive_features=_sensitive(dataset.features_data, sensitive),
    )
    rhos = [radii] if isinstance(radii, int | float) else radii
    return Summary.of(certify_all(population, metrics, rhos, **config))


def _predicted(dataset: Any, model: Any, predictions: str | None) -> Any:
    """Return the predicted labels: those of the data, or what the model says."""
    if dataset.has_predictions:
        return dataset.predictions_data
    found = model.predict(dataset.features_data)
    columns = getattr(found, "columns", None)
    if columns is None:
        return found
    if predictions is None and len(columns) != 1:
        message = f"{given('predictions', None)}: the model returns the columns {[*columns]}; name that of the labels"
        raise InputError(message)
    return found[columns[0] if predictions is None else predictions]


def _sensitive(features: Any, named: Any) -> Any:
    """Return a column, several, or what was given for each row."""
    columns = getattr(features, "columns", ())
    names = [named] if isinstance(named, str) else named
    if not (isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names)):
        return named
    if len(names) == len(features) and not set(names) <= set(columns):
        return named
    absent = [name for name in names if name not in columns]
    if absent:
        message = f"{given(SENSITIVE, absent[0])} is no column of the data; they are {[*columns]}"
        raise InputError(message)
    return features[names[0]] if len(names) == 1 else features[list(names)]


def _artifacts(summary: Summary, run_id: str) -> dict[str, Any]:
    """Return the files that were logged, as MLflow hands them out."""
    import mlflow  # noqa: PLC0415 (only where something is logged)
    from mlflow.models.evaluation.artifacts import JsonEvaluationArtifact  # noqa: PLC0415 (likewise)

    uri = f"{mlflow.get_run(run_id).info.artifact_uri}/{FOLDER}/certificate.json"
    return {f"{FOLDER}/certificate": JsonEvaluationArtifact(uri=uri, content=json.loads(summary.document))}

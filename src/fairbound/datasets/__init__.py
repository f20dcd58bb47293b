"""The six datasets of the experiments: features, label and sensitive attribute, split and standardised."""

from fairbound.datasets.catalogue import NAMES
from fairbound.datasets.dataset import PARTS, Dataset, Part, Split
from fairbound.datasets.fetching import DatasetError, TermsError
from fairbound.datasets.loading import load
from fairbound.datasets.store import cache_folder

__all__ = ["NAMES", "PARTS", "Dataset", "DatasetError", "Part", "Split", "TermsError", "cache_folder", "load"]

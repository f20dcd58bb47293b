"""The six datasets of the experiments: features, label and sensitive attribute, split and standardised."""

from fairbound.datasets.dataset import PARTS, Dataset, Part, Split
from fairbound.datasets.loading import NAMES, load

__all__ = ["NAMES", "PARTS", "Dataset", "Part", "Split", "load"]

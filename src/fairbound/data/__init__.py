"""From rows to what is known of them.

In: arrays, frames, files, models, moments. Out: a :class:`~fairbound.Population`: cells, weights, laws of losses.
It knows nothing of questions and solvers, and imports only wording and arithmetic.
"""

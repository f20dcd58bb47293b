"""The statement: what is asked of a population.

In: the arguments of a call. Out: a validated question: shift, divergence, condition, limits, objective, confidence.
Nothing is solved here; it imports data and sampling, and no room that comes after.
"""

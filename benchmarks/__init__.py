"""Benchmarks: the package beside other ways to reach the same numbers, timed in the same run.

Run them from the repository's root with ``python -m benchmarks``; name parts to run only these, for example
``python -m benchmarks scip paper``. What is compared are ratios of times measured side by side, on the same
machine and in the same minute, together with the bounds that the times bought. Nothing here fails on time.
"""

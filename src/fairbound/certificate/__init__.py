"""What a user gets: certificates, curves, and documents that carry their own proof.

In: a population, radii, and what is asked. Out: certificates, curves, JSON, plots.
It imports the solvers, and of verify how documents are read; no report and no command.
"""

"""What a sample says of the distribution that it was drawn from.

In: a population of rows and a confidence. Out: a surrogate, and how near to it the truth is.
It knows nothing of questions and solvers, and imports only data and what data imports.
"""

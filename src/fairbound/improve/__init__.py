"""Making models better: decisions chosen by the prices of certificates.

In: a classifier of scikit-learn, rows, and what is to be certified. Out: a classifier. A room of its own: it stands on
scikit-learn, which is imported only when this is used, and nothing below needs it.
"""

"""How numbers, names and chances are put into words, and small tables, wherever they are shown.

In: names and numbers. Out: texts, and rows of tables.
It imports no other room but arithmetic's types: what is said of a certificate stands with the certificate.
"""

"""What all computing shares: the types of arrays, and sums that are rounded outward.

In: nothing. Out: :mod:`arrays`, :mod:`rounding`.
It imports no other room.
"""

"""Multipliers and worst cases.

In: a question. Out: answers: at each radius a bound, multipliers that prove it, and a distribution that comes close.
It words nothing and writes nothing; it imports no certificate, report or command.
"""

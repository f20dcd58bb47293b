"""What stands beside the checker: its sentences for people, and the estimate of how long a check takes.

No verdict rests on it: the sentences are made of what was found, after it was found; and the estimate only refuses.
"""

"""What stands beside the checker: its sentences for people, how long a check takes, and what names look like.

Nothing is proved by it. The sentences are made of what was found, after it was found; the estimate, and names that
could be taken for others, are reasons to refuse and nothing else.
"""

"""Where people work: test runners, pipelines, trackers, model cards and files for audits. One file a partner.

In: populations, certificates, documents. Out: what the partner takes, with bound and attained value in it.
Each file imports its partner only when it is used, and no other file of this room. Nothing but commands imports it.
"""

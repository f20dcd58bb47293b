"""Where people work: test runners, pipelines, trackers, model cards and files for audits. One file a partner.

In: populations, certificates, documents. Out: what the partner takes, with bound and attained value in it.
What all partners say of a certificate is the :class:`Summary` of ``summary.py``. Besides that each file imports its
partner, only when it is used, and no other partner's file. Nothing but commands imports it.
"""

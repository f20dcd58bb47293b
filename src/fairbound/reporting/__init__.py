"""Pages and texts about certificates, for people.

In: a document, or a certificate. Out: a report in HTML, tables and words for a terminal.
What is shown of the question is worded from what the checker has read; it imports no command.
(The room is not called report, for that is what the public function is called.)
"""

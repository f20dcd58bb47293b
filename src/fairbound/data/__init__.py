"""From rows to what is known of them.

In: arrays, frames, files, models, moments, counts. Out: a :class:`~fairbound.Population`: cells, weights, laws of
losses. It knows nothing of questions and solvers, and imports only wording and arithmetic.

The way of a row, and the files that it meets:

* What the user says of it: ``columns`` (of frames), ``losses``, ``predictions``, ``estimators``, ``moments``.
* Rows that are held become ``Rows`` of numbers (``cells``, ``counted``): ``csv_file``, ``csv_engine`` and ``csv_rows``;
  ``frames`` and ``collected_frames``. Others are counted by their engine: ``lazy_frames``, ``lazy_losses``,
  ``dialects``, ``exact_sums``. Values are checked by ``frame_values``.
* What was counted (``counted``): ``loss_summary`` and ``atoms``, ``predicted``, ``strata``.
* Counts that are sent and added up: ``tally``; ``tally_plan``, ``tally_rows``, ``tally_cells``, ``tally_document``.
* All of it ends in ``population``; beside it stand ``provenance``, ``rows_seen`` and ``native_frame``.
"""

"""How Sphinx builds the documentation: ``make docs`` writes it to build/docs."""

from fairbound import __version__

project = "fairbound"
author = "The fairbound developers"
copyright = author  # noqa: A001 (the name that Sphinx reads)
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md"]

# Pages are Markdown. Headings get anchors, so that pages can point at each other's sections.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

# Patterns in the table of contents may match no page.
suppress_warnings = ["toc.empty_glob"]

# The reference is made from the docstrings.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a line may name several of them
python_maximum_signature_line_length = 100

# Every reference must lead somewhere, but for types in signatures that are not documented here.
nitpicky = True
nitpick_ignore_regex = [("py:class", r"(numpy|collections|matplotlib|fairbound\.(knowledge|proof|sample))\..*|.*Axes")]

html_theme = "furo"
html_title = f"fairbound {__version__}"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}

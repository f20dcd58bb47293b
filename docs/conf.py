"""How Sphinx builds the documentation: ``make docs`` writes it to build/docs."""

from pathlib import Path

from sphinx.application import Sphinx

from fairbound import __version__

project = "fairbound"
author = "The fairbound developers"
copyright = author  # noqa: A001 (the name that Sphinx reads)
release = version = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["README.md", "**.ipynb_checkpoints"]

# The tutorial is a notebook without outputs: it is run whenever the pages are made, and an error in it ends that.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120

# What is copied from an example is what one types.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Pages are Markdown. Headings get anchors, so that pages can point at each other's sections.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

# The reference is made from the docstrings.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a line may name several of them
python_maximum_signature_line_length = 100

# Every reference must lead somewhere, but for types in signatures that are not documented here.
nitpicky = True
nitpick_ignore_regex = [
    (
        "py:class",
        r"(numpy|collections|matplotlib|pathlib|fairbound\.(arithmetic|data|problem|sampling|solve))\..*|.*Axes|Source|Writes",
    )
]

html_theme = "furo"
html_title = f"fairbound {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}


#: Pages that the table of contents names although they may be absent.
OPTIONAL = ("command-line.md", "results.md", "datasets/*.md")


def _leave_absent_pages_out(app: Sphinx, page: str, source: list[str]) -> None:
    """Take the optional pages that are not there out of the table of contents."""
    if page == "index":
        absent = {name.removesuffix(".md") for name in OPTIONAL if not list(Path(app.srcdir).glob(name))}
        source[0] = "\n".join(line for line in source[0].split("\n") if line not in absent)


def setup(app: Sphinx) -> None:
    """Let Sphinx call this file's own function."""
    app.connect("source-read", _leave_absent_pages_out)

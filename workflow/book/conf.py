"""Sphinx settings of the site: the manual alone, or the manual and the book.

The pages are assembled by ``reproduction.book.build_manual`` and ``reproduction.book.build``.
"""

import inspect
from importlib.resources import files
from typing import Any

from sphinx.application import Sphinx

project = "ermlab"
author = "The ermlab authors"
html_title = "ermlab"
language = "en"

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
exclude_patterns: list[str] = []
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}
root_doc = "index"

# Notebooks come executed: the book shows them and runs nothing.
nb_execution_mode = "off"
# Computed text may have tables and formulas, as all other text.
nb_render_markdown_format = "myst"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
nb_merge_streams = True
myst_enable_extensions = ["amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# The API reference, from the docstrings.
default_role = "py:obj"
autodoc_typehints = "none"  # the docstrings have the types
add_module_names = False
python_maximum_signature_line_length = 90
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

# Mathematics without a network: one script with every TeX extension, and SVG output that needs no fonts.
_MATHJAX = files("sphinx-mathjax-offline") / "static" / "mathjax" / "tex-svg-full.js"
mathjax_path = "tex-svg-full.js"
mathjax3_config = {
    "options": {"enableMenu": False},
    "svg": {"fontCache": "global"},
    # A formula with a mistake in it is to look like one; these two packages would show its source.
    "tex": {"packages": {"[-]": ["noerrors", "noundefined"]}},
}

html_theme = "furo"
html_static_path = ["_static", str(_MATHJAX)]
html_css_files = ["book.css"]
html_favicon = "_static/mark.svg"
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "stamp.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_use_index = False
# A search result's summary is fetched, which browsers refuse for pages opened from disk.
html_show_search_summary = False

_FONTS = {
    "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif",
    "font-stack--monospace": "ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace",
}
html_theme_options = {
    "light_logo": "mark.svg",
    "dark_logo": "mark-dark.svg",
    "top_of_page_buttons": [],
    "light_css_variables": {
        **_FONTS,
        "color-brand-primary": "#0b3c5d",
        "color-brand-content": "#0065a0",
        "color-brand-visited": "#5b4a8a",
        "color-background-secondary": "#f6f7f9",
    },
    "dark_css_variables": {
        **_FONTS,
        "color-brand-primary": "#8cc8f2",
        "color-brand-content": "#6db7ec",
        "color-brand-visited": "#b4a3e0",
    },
}


def _skip_inherited(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: dict[str, Any]
) -> bool | None:
    """Leave out what a class inherits from other libraries, which document it themselves."""
    value = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", None) or member)
    module = getattr(value, "__module__", None) or "ermlab"
    return True if not module.startswith("ermlab") else None


def setup(app: Sphinx) -> None:
    """Connect the handlers of this file."""
    app.connect("autodoc-skip-member", _skip_inherited)

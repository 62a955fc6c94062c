"""What MkDocs calls while it builds the site: docstrings are written for `help()`, and look a little different here."""

import re
from typing import Any

_ROLE = re.compile(r":(?:class|func|meth|mod|attr):<code>~?(?:rankwright\.)?")
_SAID_AS_TYPE = re.compile(r'\(<code>(.*)</code>\)\s*–\s*<div class="doc-md-description">\s*</div>')
_NOTHING_SAID = re.compile(r'–\s*<div class="doc-md-description">\s*</div>')


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Names without roles, and what is said of an attribute on the line of its name as text."""
    if not page.file.src_uri.startswith("reference/"):
        return html
    html = _ROLE.sub("<code>", html).replace("``", "")
    return _NOTHING_SAID.sub("", _SAID_AS_TYPE.sub(r"– \1", html))

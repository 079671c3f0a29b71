"""What of a text a reader looks at rather than reads: badges, logos, tags, and lists of links within a page.

A row of pictures that link somewhere, the mark of a fold, the places of a table of contents: written down
they have many words, and none of them tells anything about the matter.
"""

from __future__ import annotations

import re

__all__ = ["without_pictures"]

_DIRECTIVE = re.compile(
    r"^[ \t]*+\.\. (?:\|[^|\n]{1,100}\| )?(?:image|figure|contents|toctree)::[^\n]*+"
    r"(?:\n[ \t]++:[\w-]++:[^\n]*+)*+",
    re.MULTILINE,
)
_SUBSTITUTED = re.compile(r"^[ \t]*+(?:\|[\w.-]{1,60}\|_{0,2}[ \t]*+){1,30}$", re.MULTILINE)
_DRAWN = re.compile(r"\bimage::?[^\s\[\]]{1,1000}\[[^\]\n]{0,300}\]")
_PICTURE = re.compile(r"!\[[^\]\n]{0,300}\](?:\([^)\n]{0,1000}\)|\[[^\]\n]{0,200}\])?")
_LINK_OF_NOTHING = re.compile(
    r"\[[ \t\n]{0,20}\](?:\([^)\n]{0,1000}\)|\[[^\]\n]{0,200}\])|https?://\S{1,500}\[[ \t]*\]"
)
_DEFINITION = re.compile(r"^[ \t]{0,3}\[(?!\^)[^\]\n]{1,200}\]:[ \t]++[^\s]++[^\n]*$", re.MULTILINE)
_WITHIN = (
    r"(?:\[[^\]\n]{1,200}\]\(#[^)\n]{0,300}\)"
    r"|<a[ \t][^<>\n]{0,100}href=[\"']?#[^<>\n]{0,300}>[^<>\n]{0,200}</a>"
    r"|<<[^<>\n]{1,200}>>|xref:#?[\w.-]{1,200}\[[^\]\n]{0,200}\])"
)
_CONTENTS = re.compile(
    rf"^[ \t]*+(?:(?:[-*+•.]{{1,6}}|\d{{1,3}}[.)])[ \t]++|<li>[ \t]*+)?+"
    rf"(?:{_WITHIN}[ \t|·•,/-]*+){{1,40}}(?:</li>)?[ \t\r]*$",
    re.MULTILINE,
)
_FOLD = re.compile(r"<summary\b[^<>]{0,200}>.{0,300}?</summary>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:a|abbr|b|br|center|code|dd|del|details|div|dl|dt|em|figure|font|h[1-6]|hr|i|img|ins|kbd|li|ol|p|picture"
    r"|pre|s|small|source|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul|video)\b[^<>]{0,2000}>",
    re.IGNORECASE,
)
"""Of HTML alone: what an XML file says stands in its own tags."""
_ENTITY = re.compile(r"&#?\w{1,10};")


def without_pictures(text: str) -> str:
    r"""Return a text without pictures, tags, what they link to, folds, and lines that only lead within it.

    Example:
        >>> without_pictures('<a href="https://a.b"><img alt="build passing" src="c.svg"></a>').strip()
        ''
        >>> without_pictures("- [Usage](#usage)\n- [License](#license)\n\nIt rains.").strip()
        'It rains.'
    """
    if "<" in text:
        text = _CONTENTS.sub("", text)
        text = _TAG.sub(" ", _FOLD.sub(" ", text))
    if "&" in text:
        text = _ENTITY.sub(" ", text)
    if "::" in text or "image:" in text:
        text = _DRAWN.sub("", _DIRECTIVE.sub("", text))
    if "|" in text:
        text = _SUBSTITUTED.sub("", text)
    if "]" in text:
        text = _LINK_OF_NOTHING.sub("", _PICTURE.sub("", text))
        text = _CONTENTS.sub("", _DEFINITION.sub("", text))
    return text

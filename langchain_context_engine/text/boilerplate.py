"""Boilerplate: what of a text tells nothing by itself, and to what else it belongs.

A heading, a label, an introduction that ends in a colon say what follows; a bare reference, a closing mark
say nothing without what they follow; a badge or a commit's trailer says nothing about its matter at all.
"""

from __future__ import annotations

import re

from langchain_context_engine.text.memoize import memoize
from langchain_context_engine.text.words import STOP_WORDS, words

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
    rf"^[ \t]*+(?:(?:[-*+•.]{{1,6}}|\d{{1,3}}[.)])[ \t]++|<li>[ \t]*+)?"
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


LEAST_WORDS = 4
"""A part of a text that has fewer telling words than this says nothing by itself."""

LEAST_ASIDE = 8
"""So many has a lone extract of a document that has no word of the question."""

_SAY_NOTHING = STOP_WORDS | frozenset(
    [
        "e",
        "g",
        "i",
        "eg",
        "ie",
        "etc",
        "ex",
        "example",
        "examples",
        "note",
        "notes",
        "see",
        "use",
        "used",
        "uses",
        "using",
    ]
)

_TRAILER = (
    r"(?:[A-Z][\w-]*-(?:[Bb]y|[Tt]o|[Oo]n|[Ii]d|ID|RevId)|[Cc][Cc]|git-svn-id): ?\S.*"
    r"|\(cherry picked from commit [0-9a-f]+\)"
    r"|(?:- |[ ]{2})?(?:dependency-[a-z]+|update-type|updated-dependencies|directory|rebase-strategy):.*"
    r"|\.\.\.|-{3}"
)
_BADGE = r"\[?!\[[^\]\n]*\]\([^)\n]*\)(?:\]\([^)\n]*\))?|\[?!\[[^\]\n]*\]\[[^\]\n]*\]\]?(?:\[[^\]\n]*\])?"
_REFERENCE = (
    r"[\[(]?(?:(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|see|pull(?: request)?|pr|issue|gh|via|in)"
    r"[ :-]*)*"
    r"[#!]\d+[\])]?(?:\([^)\n]*\))?[.,;]?"
)
_MARK = (
    r"\([\w.:-]+\)=|\[\[[^\]\n]*\]\]|<!--[^\n]*?-->|</?[A-Za-z][^<>\n]*>|%[^\n]*"
    r"|:{3,}[ \t]*(?:\{[\w:-]+\})?[^\n]*|\.\. _[^\n]*:|\.\. \[[^\n]*"
)
_ORNAMENTS = re.compile(rf"^[ \t]*(?:{_TRAILER}|(?:(?:{_BADGE})[ \t]*)+|{_MARK})[ \t\r]*$", re.MULTILINE)
_ROLE = r"\{[\w:.-]{1,40}\}(?=`)|(?<!\w):[\w:.-]{1,40}:(?=`)"
_WITHOUT_WORDS = (
    ("![", re.compile(_BADGE)),
    ("`", re.compile(_ROLE)),
    ("://", re.compile(r"https?://\S+")),
    ("", re.compile(r"\b[0-9a-f]{12,}\b")),
)
"""What tells nothing, each with what must stand in a text that has it."""
_CHANGED_FILE = re.compile(r"^\S.* \(\+\d+ −\d+\)[ \t]*$", re.MULTILINE)
_MORE_FILES = re.compile(r"^… and \d+ more files$", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}[ \t][^\n]*|(?:\*\*|__)[^*_\n]+(?:\*\*|__)|[-*+•]|#\.|(?<!\d)\d++[.)]")
_UNDERLINED = re.compile(r"^[ \t]*(\S[^\n]*(?<!\.))\n[ \t]*([=~^\"'`#*+:._-])\2{2,}[ \t\r]*$", re.MULTILINE)
"""A heading of Markdown or reStructuredText with a line of marks below it."""
_OPENING = re.compile(
    r"\([\w.:-]+\)=|\[\[[^\]\n]*\]\]|<!--.*-->|<[A-Za-z][^<>\n]*(?<!/)>|%[^\n]*"
    r"|:{3,}[ \t]*\{?[\w-]+[^\n]*|\.\. [\w:-]+::[^\n]*",
    re.DOTALL,
)
_CLOSING = re.compile(
    rf":{{3,}}|</[A-Za-z][^<>\n]*>|(?:{_REFERENCE}[ \t]*(?:[…·]|and)?[ \t]*)+", re.IGNORECASE
)
_COLON = re.compile(r"[:：][*_\"'`)]*\Z")
_OPENS_BLOCK = re.compile(r"[({\[]$|^(?:\.{3}|…)$")
_LONGEST = 4000
"""Characters of a text that are looked at: what is longer says something."""


_LONGEST_MARK = 400
_LONGEST_END = 8


@memoize(2**23)
def telling_words(text: str, is_read: bool) -> int:
    """Return how many different words of a text tell something: no stop words, numbers, links or trailers.

    Of a script without spaces, each two characters that stand together count as a word.

    Args:
        text: The text.
        is_read: What is but looked at, a badge or a list of links within a page, has no words; else its have.

    Example:
        >>> [telling_words(text, True) for text in ("For example:", "Bob likes tea", "(Pull #608)")]
        [0, 3, 1]
    """
    bare = _ORNAMENTS.sub("", without_pictures(text[:_LONGEST]) if is_read else text[:_LONGEST])
    for mark, expression in _WITHOUT_WORDS:
        if mark in bare:
            bare = expression.sub(" ", bare)
    return sum(not _is_number(word) for word in set(words(bare)) - _SAY_NOTHING)


def figures(text: str) -> int:
    """Return how many different numbers stand in a text.

    Example:
        >>> figures("S & P 500 | 100.00 | 77.90 | 100.00")
        3
    """
    return len({word for word in words(text[:_LONGEST]) if _is_number(word)})


def _is_number(word: str) -> bool:
    return not word.isalpha() and not any(map(str.isalpha, word))


def has_word(text: str) -> bool:
    """Return whether a text has a word or a number at all: an emoji alone, or a rule, says nothing."""
    return any(character.isalnum() for character in text)


@memoize(2**23)
def is_ornament(text: str, is_read: bool) -> bool:
    """Return whether a piece holds nothing but trailers, badges, labels and marks.

    Args:
        text: The piece.
        is_read: As for `telling_words`.

    Example:
        >>> is_ornament("Signed-off-by: Ana <ana@a.org>", True), is_ornament("Signed off by Ana.", True)
        (True, False)
    """
    piece = text[:_LONGEST]
    if not _ORNAMENTS.sub("", piece).strip():
        return True
    return is_read and not has_word(_ORNAMENTS.sub("", without_pictures(piece))) and has_word(piece)


def is_appendix(text: str) -> bool:
    r"""Return whether a piece is but the files that a commit changed, and trailers: it belongs to a message.

    Example:
        >>> is_appendix("a.py (+1 −2)\nb.py (+0 −9)"), is_appendix("Fix a.py")
        (True, False)
    """
    bare = _MORE_FILES.sub("", _CHANGED_FILE.sub("", text[:_LONGEST]))
    return not _ORNAMENTS.sub("", bare).strip()


def opens(piece: str) -> bool:
    """Return whether a piece says what follows it: a heading, a label, a list mark, an introduction.

    Example:
        >>> opens("## Removed"), opens("For example:"), opens("It rained.")
        (True, True, False)
    """
    end = piece[-_LONGEST_END:]
    if (":" in end or "：" in end) and _COLON.search(end):
        return has_word(piece[piece.rfind("\n") + 1 :]) and not is_ornament(piece, False)
    if len(piece) > _LONGEST_MARK or (piece[:1].isalpha() and "\n" not in piece):
        return False
    return bool(_HEADING.fullmatch(piece) or _OPENING.fullmatch(piece) or _UNDERLINED.fullmatch(piece))


def opens_block(piece: str) -> bool:
    r"""Return whether a piece ends with a line of a program whose block is missing.

    Example:
        >>> opens_block("app.get('/', (req, res) => {"), opens_block(">>> def f(x):\n...")
        (True, True)
    """
    last = piece[-_LONGEST_MARK:].rstrip().rpartition("\n")[2]
    return bool(_OPENS_BLOCK.search(last))


def only_opens(piece: str) -> bool:
    r"""Return whether each line of a piece only says what follows, and what follows is missing.

    Example:
        >>> only_opens("# Unreleased\n\n## Bug fixes"), only_opens("## Bug fixes\n\n* It drips no more.")
        (True, False)
        >>> only_opens("Suppressing type checks\n+++++++++++++++++++++++")
        True
    """
    if len(piece) > _LONGEST_MARK:
        return False
    lines = _UNDERLINED.sub(r"# \1", piece).split("\n")
    return all(opens(line) for line in lines if line.strip())


def closes(piece: str) -> bool:
    """Return whether a piece belongs to the one before it: a bare reference, or a mark that ends a block.

    Example:
        >>> closes("(Pull #608)"), closes("</details>"), closes("See the pull request.")
        (True, True, False)
    """
    return len(piece) <= _LONGEST_MARK and _CLOSING.fullmatch(piece) is not None

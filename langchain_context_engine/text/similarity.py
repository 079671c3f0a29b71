"""How alike two texts are, whether texts that look alike say different things, and which to compare.

Alike is `fuzz.ratio` of RapidFuzz (twice the longest common subsequence over both lengths, 0–100), of
the texts as they are and without light punctuation and articles; the larger counts. It is no containment
score: a part is not like its whole.

A ratio cannot see what one word or digit means: "Python 3.12" and "Python 3.13" are 96 alike, so are a
function and its asynchronous twin. So what differs between two texts is looked at: numbers, negation,
`async`, and words: where each has one that the other lacks ("five mg", "five g"), something is said of
another thing, in any language; what only one of them adds is a detail. A program changes by
numbers and `not`s without becoming another, so only one that swaps numbers, or differs by its negations
alone, is held for another. Below a shared banner, what remains must be somewhat alike too.

Which of many texts may be alike is found without comparing each with each. Two that are mostly the same share
runs of tokens. A text is kept under its runs, cut one after the other; another is looked up by all of its
runs, wherever they start. Where edits touch fewer places than the text has runs, one run is untouched and the
pair is found (the pigeonhole of PassJoin, Li et al. 2011). A run is as long as that allows: long runs are
seldom shared by chance. Of a long text, an eighth of the runs must be shared. Short texts and those without
spaces between words are taken by characters, others by words.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from rapidfuzz.fuzz import ratio

from langchain_context_engine.models.locks import kept_property
from langchain_context_engine.text.sentences import is_code
from langchain_context_engine.text.words import stem

_LIGHT_PUNCTUATION = str.maketrans(dict.fromkeys("\"'`.,;:()[]{}*!?‘’“”", " "))
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")
_ARTICLES = frozenset({"a", "an", "the"})
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"(?:(?<!\w)[-−])?\d+")
_INFLECTION = re.compile(r"(?<=\w\w)(?:ing|es|ed|s|d|e)$")

_NEGATION = re.compile(
    r"\b(?:not?|non|never|none|nothing|nobody|nowhere|nor|neither|without|cannot|unless|except|hardly|barely"
    r"|(?:revert|remov|delet|undo|drop|reject|refus|den[iy]|cancel|abort|fail|deprecat|disabl|prevent)\w*)\b"
    r"|n['’]t\b"
    # German, French, Spanish, Italian, Portuguese, Dutch, Polish, Czech, Russian, Ukrainian; a French n' too
    r"|\b(?:nicht|kein\w*|nie|niemals|nichts|ohne|pas|jamais|aucune?|rien|sans|ne|nunca|jam[aá]s|nada|nadie|sin"
    r"|non|mai|senza|n[aã]o|sem|niet|geen|nooit|zonder|nigdy|bez|není|nikdy|не|нет|ни|никогда|без|ні|немає)\b"
    r"|\bn['’](?=\w)"
    # Chinese, Japanese, Korean
    r"|不|没|沒|無|无|未|非|ない|なかっ|ません|せず|ずに|않|안\s|없|못"
    # Hindi, Arabic, Persian, Hebrew, Turkish
    r"|\b(?:नहीं|मत|बिना|لا|لم|لن|ليس\w*|بدون|نیست|نمی\w*|לא|אין|בלי|değil\w*|yok\w*)(?!\w)"
)
"""What turns a statement round; it must stand in both texts, or in neither."""

_LEAST_BELOW_BANNER = 50.0


@dataclass(frozen=True)
class Wording:
    """A text in the forms in which it is compared; each is made when first asked for."""

    text: str

    @kept_property
    def folded(self) -> str:
        """What is seen of it in NFC, case-folded, a run of space as one: equal for exact duplicates."""
        return " ".join(self._lower.split())

    @kept_property
    def tokens(self) -> list[str]:
        """The words between spaces, without light punctuation; of a text without any, as they are."""
        return self._lower.translate(_LIGHT_PUNCTUATION).split() or self._lower.split()

    @kept_property
    def bare(self) -> str:
        """The tokens without articles."""
        return " ".join(token for token in self.tokens if token not in _ARTICLES)

    @kept_property
    def vocabulary(self) -> frozenset[str]:
        """The words that occur."""
        return frozenset(_WORD.findall(self._lower))

    @kept_property
    def numbers(self) -> list[str]:
        """Runs of digits, in order, each with its minus."""
        return _NUMBER.findall(self._lower)

    @kept_property
    def negations(self) -> list[str]:
        """Stems of the words that turn a statement round, sorted."""
        return sorted(stem(word) for word in _NEGATION.findall(self._lower))

    @kept_property
    def stems(self) -> frozenset[str]:
        """Its words but articles, without what a verb or a plural ends in: adds and added are one."""
        return frozenset(_INFLECTION.sub("", word) for word in self.vocabulary - _ARTICLES)

    @kept_property
    def affirmed(self) -> list[str]:
        """What is left without negations."""
        return _NEGATION.sub(" ", self._lower).split()

    @kept_property
    def lines(self) -> list[str]:
        """Folded lines that are not empty."""
        return [" ".join(line.split()) for line in self._lower.splitlines() if line and not line.isspace()]

    @kept_property
    def is_program(self) -> bool:
        """Whether the text is program code."""
        return is_code(self.text)

    @kept_property
    def is_async(self) -> bool:
        """Whether it says `async` or `await`."""
        return "async" in self._lower or "await" in self._lower

    @kept_property
    def _lower(self) -> str:
        if self.text.isascii():
            return self.text.lower()
        seen = _UNSEEN.sub("", self.text)
        return unicodedata.normalize("NFC", unicodedata.normalize("NFC", seen).casefold())


def similarity(a: Wording, b: Wording, threshold: float, *, is_same_thing: bool = False) -> float:
    """Return how alike two texts are, 0–100, or 0.0 if below the threshold or saying different things.

    Args:
        a: One text.
        b: The other.
        threshold: The least ratio, 0–100.
        is_same_thing: The texts are known to be of one thing, such as versions of one function; then
            numbers, negations and banners may differ.

    Example:
        >>> similarity(Wording("We chose Stripe."), Wording("we chose  stripe"), 90)
        100.0
        >>> similarity(Wording("Support Python 3.12"), Wording("Support Python 3.13"), 90)
        0.0
    """
    # Numbers first: they cost least, and texts made from a template differ by them alone.
    if not is_same_thing and _numbers_differ(a, b):
        return 0.0
    found = max(ratio(a.folded, b.folded, score_cutoff=threshold), _bare_ratio(a, b, threshold))
    if not found or _are_twins(a, b) or (not is_same_thing and _words_differ(a, b)):
        return 0.0
    return float(found)


def _bare_ratio(a: Wording, b: Wording, threshold: float) -> float:
    return ratio(a.bare, b.bare, score_cutoff=threshold) if a.bare and b.bare else 0.0


def _are_twins(a: Wording, b: Wording) -> bool:
    """Whether one text is the asynchronous form of the other: read and aread, Client and AsyncClient."""
    if a.is_async != b.is_async:
        return True
    only_a, only_b = (
        _without_underscores(a.vocabulary - b.vocabulary),
        _without_underscores(b.vocabulary - a.vocabulary),
    )
    return any(
        not twins.isdisjoint(prefix + word for word in plain for prefix in ("a", "async"))
        for plain, twins in ((only_a, only_b), (only_b, only_a))
    )


def _without_underscores(words: frozenset[str]) -> set[str]:
    return {word.strip("_") for word in words} - {""}


def _numbers_differ(a: Wording, b: Wording) -> bool:
    if a.numbers == b.numbers:
        return False
    if not (a.is_program and b.is_program):
        return True
    count_a, count_b = Counter(a.numbers), Counter(b.numbers)
    return bool(count_a - count_b) and bool(count_b - count_a)


def _words_differ(a: Wording, b: Wording) -> bool:
    if a.is_program and b.is_program:
        is_turned_round = a.negations != b.negations and a.affirmed == b.affirmed
    else:
        is_swapped = (
            bool(a.stems - b.stems and b.stems - a.stems) or _swaps_letter(a, b) or _swaps_letter(b, a)
        )
        is_turned_round = a.negations != b.negations or is_swapped
    return is_turned_round or _differ_below_banner(a.lines, b.lines)


def _swaps_letter(a: Wording, b: Wording) -> bool:
    """Whether an `a` is no article but a name, and another letter in the other text: plan A and plan B."""
    is_more = a.tokens.count("a") > b.tokens.count("a")
    return is_more and any(len(word) == 1 for word in b.stems - a.stems)


def _differ_below_banner(a: list[str], b: list[str]) -> bool:
    shared = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest_a, rest_b = " ".join(a[shared:]), " ".join(b[shared:])
    return bool(shared and rest_a and rest_b) and not ratio(rest_a, rest_b, score_cutoff=_LEAST_BELOW_BANNER)


_SHORT_TEXT = 32
"""Characters up to which a text is taken by characters."""

_LONG_WORD = 12
"""Mean characters between spaces above which a text is taken by characters."""

_LONGEST_RUN = 5
_LONGEST_RUN_UNSPACED = 8
_LONGEST_RUN_SHORT = 4
_LEAST_SHARED = 0.12

_MOST_PLACES = 32
"""Texts kept under one run, the first ones; a run that more texts share is boilerplate and says little."""

_MOST_CANDIDATES = 16


@dataclass(frozen=True, slots=True)
class Shingles:
    """The runs of a text as hashes: those that it is kept under, and those that it is looked up by.

    Equal hashes of different runs only make a pair be compared for nothing.
    """

    kept_under: array[int]
    looked_up: array[int]

    @classmethod
    def of(cls, tokens: Sequence[str], threshold: float) -> Shingles:
        """Cut a text.

        Args:
            tokens: The text's words.
            threshold: The least similarity of a pair that must be found, 0–100.
        """
        return cls(_hashed(_cut(tokens, threshold)), _hashed(_runs(tokens, threshold)))


class ShingleIndex:
    """Texts by number, found again by what they share with another.

    Example:
        >>> index = ShingleIndex()
        >>> words = "we decided to use stripe for all billing in europe from now on".split()
        >>> index.add(7, Shingles.of(words, 90))
        >>> index.candidates(Shingles.of(words[:6] + words[7:], 90))
        [7]
    """

    def __init__(self) -> None:
        self._places: dict[int, int | list[int]] = {}
        self._kept_under: dict[int, int] = {}

    def add(self, number: int, shingles: Shingles) -> None:
        """Keep a text under its runs."""
        if self._places.keys().isdisjoint(shingles.kept_under):
            # So it is of most texts, and told at the speed of C.
            self._places.update(dict.fromkeys(shingles.kept_under, number))
            self._kept_under[number] = len(shingles.kept_under)
            return
        kept_under = 0
        for run in shingles.kept_under:
            place = self._places.setdefault(run, number)
            kept_under += 1
            # A bare number is cheaper than a list of one.
            if not isinstance(place, list):
                if place != number:
                    self._places[run] = [place, number]
            elif len(place) < _MOST_PLACES:
                place.append(number)
            else:
                kept_under -= 1
        self._kept_under[number] = kept_under

    def candidates(self, shingles: Shingles) -> list[int]:
        """Return the numbers of texts that share enough runs: the largest share first, then the lowest.

        At most `_MOST_CANDIDATES`.
        """
        # Most texts share nothing, which this tells at the speed of C.
        shared = self._places.keys() & shingles.looked_up
        if not shared:
            return []
        places = [self._places[run] for run in shared]
        hits = Counter(chain.from_iterable(p if isinstance(p, list) else (p,) for p in places))
        shares = {number: count / self._kept_under[number] for number, count in hits.items()}
        enough = (number for number, share in shares.items() if share >= _LEAST_SHARED)
        return sorted(enough, key=lambda number: (-shares[number], number))[:_MOST_CANDIDATES]


def _hashed(runs: Iterable[tuple[str, ...]]) -> array[int]:
    return array("I", [number & 0xFFFFFFFF for number in map(hash, runs)])


def _cut(tokens: Sequence[str], threshold: float) -> Iterator[tuple[str, ...]]:
    """Yield the runs of a text, cut one after the other."""
    for sequence in _sequences(tokens, margin=0.0):
        size = _run_length(len(sequence), threshold, isinstance(sequence, str))
        yield from zip(*(sequence[i::size] for i in range(size)), strict=False)


def _runs(tokens: Sequence[str], threshold: float) -> Iterator[tuple[str, ...]]:
    """Return the runs of a text wherever they start, as long as those of texts that may be alike."""
    return chain.from_iterable(
        zip(*(sequence[i:] for i in range(size)), strict=False)
        for sequence in _sequences(tokens, margin=0.25)
        for size in _partner_run_lengths(len(sequence), threshold, isinstance(sequence, str))
    )


def _sequences(tokens: Sequence[str], margin: float) -> Iterator[Sequence[str]]:
    """Yield the sequence to cut into runs; near the borders, where a partner may differ, both."""
    characters = sum(map(len, tokens)) + len(tokens) - 1
    length = characters / (_SHORT_TEXT + 1)
    mean = characters / max(1, len(tokens)) / _LONG_WORD
    if length < 1 + margin or mean > 1 - margin:
        yield " ".join(tokens)
    if length >= 1 - margin and mean <= 1 + margin:
        yield tokens


@lru_cache(maxsize=4096)
def _run_length(count: int, threshold: float, is_unspaced: bool) -> int:
    """Return the longest run of which a text has four, and one more than edits that leave it alike enough.

    Within a short text each inserted or deleted character may be an edit of its own. In a long one
    without spaces, edits are taken for substitutions, which are two; of words, most edits change more
    than one character, so somewhat fewer are reckoned with.
    """
    dissimilar = (100 - threshold) / max(threshold, 1)
    if not is_unspaced:
        share, longest = 1.75 * dissimilar, _LONGEST_RUN
    elif count > 2 * _SHORT_TEXT:
        share, longest = dissimilar, _LONGEST_RUN_UNSPACED
    else:
        share, longest = 2 * dissimilar, _LONGEST_RUN_SHORT
    return next((n for n in range(longest, 1, -1) if count // n >= max(4, count * share + 1)), 1)


@lru_cache(maxsize=4096)
def _partner_run_lengths(count: int, threshold: float, is_unspaced: bool) -> tuple[int, ...]:
    """Return the run lengths of all texts whose count is near enough to be alike."""
    reach = (200 - threshold) / max(threshold, 1)
    counts = range(int(count / reach), min(int(count * reach) + 2, count + 400))
    return tuple(sorted({_run_length(n, threshold, is_unspaced) for n in counts}))

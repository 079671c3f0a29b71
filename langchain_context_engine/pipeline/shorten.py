"""Shorten: make one item fit that does not fit whole, by a compactor if there is one, else by a cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from langchain_context_engine.rendering.compact import Compactor, Cut, compact
from langchain_context_engine.text.asking import asking, by_lines
from langchain_context_engine.text.truncate import Span, Truncator, keep_start, locate


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """A text that fits, "" where nothing does.

    Attributes:
        text: What is left.
        spans: Its pieces in the original; () where it was rewritten.
        is_compacted: A compactor wrote it.
        warnings: What went wrong on the way.
    """

    text: str
    spans: tuple[Span, ...] = ()
    is_compacted: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shorten:
    """Make a text fit an allowance of tokens.

    Attributes:
        truncator: Cuts; one that gives too much is cut once more.
        compactor: Tried first where there is one; may rewrite. Called at most once for a text.
    """

    truncator: Truncator
    compactor: Compactor | None = None

    def asking(self, query: str) -> Shorten:
        """Return the same for a question: extracts are chosen by what answers it, of a table by rows."""
        return self._with(lambda truncator: asking(truncator, query))

    def by_lines(self) -> Shorten:
        """Return the same for a program: extracts are its first lines, whole."""
        return self._with(by_lines)

    def _with(self, changed: Callable[[Truncator], Truncator]) -> Shorten:
        """Return the same with what cuts changed, in a compactor that only cuts too."""
        compactor = self.compactor
        if isinstance(compactor, Cut):
            compactor = replace(compactor, truncator=changed(compactor.truncator))
        return replace(self, truncator=changed(self.truncator), compactor=compactor)

    def __call__(self, text: str, allowance: int, count: Callable[[str], int]) -> Short:
        """Return the shortened text; it never costs more than the allowance."""
        if self.compactor is not None:
            compacted = compact(text, allowance, count, self.compactor)
            if compacted.is_compacted:
                return Short(text=compacted.text, is_compacted=True)
            warnings = (compacted.warning,) if compacted.warning else ()
            return Short(text=compacted.text, spans=locate(text, compacted.text), warnings=warnings)
        cut = self.truncator(text, allowance, count)
        if not isinstance(cut, str):
            problem = f"a truncator gave {type(cut).__name__}, expected a text; the start was kept"
            cut = keep_start(text, allowance, count)
            return Short(text=cut, spans=locate(text, cut), warnings=(problem,))
        if count(cut) > allowance:
            cut = keep_start(text, allowance, count)
        return Short(text=cut, spans=locate(text, cut))

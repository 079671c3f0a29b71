"""Settings of an engine: checked at the door, resolved once, told in every trace, read from a file."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
    with_config,
)

from langchain_context_engine.errors import ConfigError, UnknownNameError
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.freeze import as_config_error, copy_mapping, quoted
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.pipeline.pack import Packing, Shorten
from langchain_context_engine.pipeline.rank import scale_weights
from langchain_context_engine.pipeline.selection import Diversity
from langchain_context_engine.pipeline.thresholds import Threshold
from langchain_context_engine.ranking.answerability import DOUBTFUL_BELOW, UNSURE_BELOW
from langchain_context_engine.ranking.fusion import Fusion
from langchain_context_engine.ranking.identity import (
    DEDUPE_RULES,
    AcrossKinds,
    DedupeRule,
    SameMetadata,
    Versions,
)
from langchain_context_engine.ranking.signals import (
    SIGNALS,
    ForKinds,
    Keyword,
    Lookup,
    Recency,
    Signal,
    Stated,
    TreeDistance,
    TypeMatch,
    UserAffinity,
)
from langchain_context_engine.rendering.citations import CITATION_STYLES
from langchain_context_engine.rendering.compact import Cut, resolve_compactor
from langchain_context_engine.rendering.layout import ORDERS, Layout
from langchain_context_engine.rendering.templates import TEMPLATES, Template
from langchain_context_engine.text.tokens import TokenCounter, resolve_tokenizer
from langchain_context_engine.text.truncate import TRUNCATORS, AtLeast, Extractive, extractive, keep_whole

Selection = Literal["adaptive", "score", "density", "knapsack"]

FUNCTION = "function:"
"""Begins the name of a part that was given as an object; only an engine that has it can replay it."""

PART = "part"
"""The key under which a part's name stands in data, beside its settings."""

PARTS: Mapping[str, Any] = {
    "recency": Recency,
    "stated": Stated,
    "keyword": Keyword,
    "lookup": Lookup,
    "for_kinds": ForKinds,
    "tree_distance": TreeDistance,
    "type_match": TypeMatch,
    "user_affinity": UserAffinity,
    "same_metadata": SameMetadata,
    "versions": Versions,
    "across_kinds": AcrossKinds,
    "extract": Extractive,
    "at_least": AtLeast,
    "cut": Cut,
    **{
        name: part
        for known in (SIGNALS, TRUNCATORS, ORDERS, CITATION_STYLES)
        for name, part in known.items()
        if not dataclasses.is_dataclass(part)
    },
}
"""Parts by the name that stands for them in data: classes, which have settings, and functions."""

AT_CONSTRUCTION = ("index_dir",)
"""What sources were bound to when the engine was made: no later change of it could act."""

_REQUEST_FIELDS = frozenset({"k", "template", "budget", "depth", "kinds", "sources", "min_confidence"})


T = TypeVar("T")


class Registry(dict[str, T]):
    """Parts by name.

    Args:
        kind: What the parts are, for messages: `"template"`, `"signal"`, …
        items: The built-in parts; their names cannot be taken.
    """

    def __init__(self, kind: str, items: Mapping[str, T]) -> None:
        super().__init__(items)
        self.kind = kind
        self._reserved = frozenset(items)

    def __getitem__(self, name: str) -> T:
        try:
            return super().__getitem__(name)
        except (KeyError, TypeError):
            raise UnknownNameError(self.kind, name, self) from None

    def register(self, name: str, item: T) -> None:
        """Add a part, or replace one that was added before."""
        if not isinstance(name, str) or not name:
            raise ConfigError(f"a {self.kind} needs a name, got {name!r}")
        if name in self._reserved:
            raise ConfigError(f"{name!r} is a built-in {self.kind}; choose another name")
        self[name] = item


def with_own(kind: str, built_in: Mapping[str, Any], own: Mapping[str, Any]) -> Registry[Any]:
    """Return the built-in parts and one's own by name."""
    registry: Registry[Any] = Registry(kind, built_in)
    for name, part in own.items():
        registry.register(name, part)
    return registry


def part_named(kind: str, known: Mapping[str, Any], given: Any) -> Callable[..., Any]:
    """Return the part of a name, or the callable that was given."""
    found: Callable[..., Any] = given if callable(given) else Registry(kind, known)[given]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Settings, and what their names resolve to: the parts that do the work from rank to render."""

    config: EngineConfig
    signals: Mapping[str, Signal]
    weights: Mapping[str, float] | None
    dedupe_rules: Sequence[DedupeRule]
    packing: Packing
    template_of: Callable[[Any], Template]
    count_warning: str

    def packing_for(self, request: ContextRequest) -> Packing:
        """Return the packing with the request's own budget, template, question and number of passages.

        Shares are only those of the sources (or kinds) that the request asks for.
        """
        layout, budget, shorten = self.packing.layout, self.packing.budget, self.packing.shorten
        asked = request.kinds if layout.group_by == "kind" else request.sources
        shares = {group: share for group, share in budget.shares.items() if asked is None or group in asked}
        tokens = budget.tokens if request.budget is None else request.budget
        return replace(
            self.packing,
            shorten=None if shorten is None else shorten.asking(request.query),
            layout=replace(layout, template=self.template_of(request.template), query=request.query),
            budget=replace(budget, tokens=tokens, shares=shares),
            k=request.k,
        )


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(with_config(ConfigDict(extra="forbid", arbitrary_types_allowed=True))(kind))


def _made(kind: type, value: Any) -> Any:
    """Return a dataclass of its fields given as a mapping; what is none is returned for others to check."""
    if not isinstance(value, Mapping):
        return value
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise ConfigError(f"{kind.__name__}: {as_config_error(error.errors())}") from None


def _budget(value: Any) -> Any:
    """A budget may be given as its tokens."""
    if isinstance(value, Mapping):  # not by pydantic, which would make whole shares fractions
        known: Registry[Any] = Registry(
            "setting of Budget", {each.name: None for each in dataclasses.fields(Budget)}
        )
        return Budget(**{name: value[name] for name in value if known[name] is None})
    if isinstance(value, Budget):
        return value
    return Budget() if value is None else Budget(tokens=value)


def _chosen(usual: Any, known: Mapping[str, Template], given: Any) -> Template:
    """Return the template that a request names, or the engine's."""
    chosen = usual if given is None else given
    return chosen if isinstance(chosen, Template) else known[chosen]


def _threshold(value: Any) -> Any:
    """A threshold may be given as the share of the best."""
    return _made(Threshold, {"of_best": value} if isinstance(value, (int, float)) else value)


def _of_fields(kind: type) -> BeforeValidator:
    return BeforeValidator(functools.partial(_made, kind))


def as_data(value: Any) -> Any:
    """Return a setting as JSON-ready data: parts of ours by name and settings, other functions by name."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_data(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((as_data(item) for item in value), key=repr)
    if isinstance(value, TokenCounter) and isinstance(value.given, str):
        return value.given
    name = next((name for name, part in PARTS.items() if part is value or part is type(value)), None)
    if PARTS.get(name or "") is value:
        return {PART: name}
    is_data = dataclasses.is_dataclass(value) and not isinstance(value, type)
    if name is None and (callable(value) or not is_data):
        return FUNCTION + _part_name(value)
    fields = {one.name: as_data(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if name is None:
        return fields
    return {PART: name, **{key: item for key, item in fields.items() if item is not None}}


def _part_name(part: Any) -> str:
    """Return the name of a function, or of an object's class with its settings; without addresses."""
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        shown = ((one.name, getattr(part, one.name)) for one in dataclasses.fields(part) if one.repr)
        told = ", ".join(f"{name}={as_data(value)!r}" for name, value in shown)
        return f"{type(part).__qualname__}({told})"
    owner = part if hasattr(part, "__qualname__") else type(part)
    return f"{owner.__module__}.{owner.__qualname__}"


def from_data(value: Any) -> Any:
    """Return a setting with the parts that stand in it as data made again; other values are as they were."""
    if not (isinstance(value, Mapping) and isinstance(value.get(PART), str)):
        if isinstance(value, Mapping):
            return {key: from_data(item) for key, item in value.items()}
        return [from_data(item) for item in value] if isinstance(value, (list, tuple)) else value
    if is_function(value):
        raise ConfigError(f"part {value[PART]!r} holds a function, which cannot be read from data")
    given = {key: from_data(item) for key, item in value.items() if key != PART}
    part = Registry("part", PARTS)[value[PART]]
    return _made(part, given) if given or isinstance(part, type) else part


def is_function(described: Any) -> bool:
    """Return whether a described setting stands for a part that data cannot hold."""
    if isinstance(described, Mapping):
        return any(map(is_function, described.values()))
    if isinstance(described, list):
        return any(map(is_function, described))
    return isinstance(described, str) and described.startswith(FUNCTION)


_Key = Annotated[str, Field(min_length=1)]
_Part = Annotated[Any, BeforeValidator(from_data)]


class EngineConfig(BaseModel):
    """Every setting of a `ContextEngine`. Frozen; unknown names are refused.

    Attributes:
        budget: Tokens, or a `Budget`; None is 2000.
        weights: Signal → weight, scaled to sum to 1; a name not given weighs 0. None: relevance alone,
            and recency where the question asks for the latest.
        signals: Your own signals by name.
        template: A template's name, or a `Template`.
        templates: Your own templates by name.
        tokenizer: "auto", an encoding, a model, "estimate", any `text -> int`, or a chat model.
        scope_keys: Metadata keys that every request's scope must name.
        timeout_seconds: One deadline for all sources, from the start of collecting; a day at most.
        limit: Candidates that a source may offer, unless the request says otherwise. None: 100 where one
            source is asked, else 50, and one for every 80 tokens of a larger budget.
        min_score: Candidates that score less are dropped; None keeps all.
        thresholds: Source → how similar its candidates must be: a `Threshold`, or the share of its best.
        truncator: "extractive", "keep_start", "keep_end", "none", or `(text, allowance, count) -> text`.
        compactor: Tried before cutting: a name, or `(text, allowance) -> text`.
        selection: "adaptive" (the best sentences or whole passages, whichever the budget bears),
            "score", "density" or "knapsack" (whole passages first).
        diversity: A rule against one kind dominating.
        order: "relevance", "edges", "chronological", "stable", or `passages -> passages`.
        dedupe_threshold: Similarity from which two texts are one, 0–100; None: only equal texts are.
        dedupe_rules: What makes two candidates one by identity: names, or `candidate -> hashable or None`.
        dedupe_key: A metadata key whose text is compared in place of the shown one.
        fusion: How search legs are fused.
        citations: A style's name, or `(passages, texts where no marker may stand) -> markers`.
        group_by: What sections and shares are by: "source" or "kind".
        titles: Group → section title, in the order of sections.
        empty_section: What stands in a named section without passages; "" leaves it out.
        notes: Kind → what stands after a cut passage of it, in place of the template's note.
        closing: What stands after everything; its one variable is `{{query}}`, the question.
        uncounted: Groups whose passages header and footer do not count.
        doubtful_below: A context whose `confidence` is less is doubtful; 0: none is, and nothing is measured.
        unsure_below: A context whose `confidence` is less has a warning that says what is missing; 0: none.
        when_doubtful: "keep" gives a doubtful context as it is, "empty" gives an empty one.
        counted_by: A metadata key: passages with the same value count once in header and footer.
        shown_score: What `{{score}}` shows: "score", which sorts, or "relevance", the source's own claim.
        index_dir: A folder for indexes; None is beside a local Chroma's files, else the user's cache.

    Raises:
        ConfigError: A value is wrong; the message names the field.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, validate_default=True
    )

    budget: Annotated[Any, BeforeValidator(_budget)] = 2000
    weights: Mapping[str, Any] | None = None
    signals: Mapping[str, _Part] = {}
    template: Annotated[Any, _of_fields(Template)] = "placed"
    templates: Mapping[str, Annotated[Any, _of_fields(Template)]] = {}
    tokenizer: Any = "auto"
    scope_keys: Annotated[tuple[_Key, ...], BeforeValidator(lambda v: (v,) if isinstance(v, str) else v)] = ()
    timeout_seconds: float = Field(default=2.0, gt=0, le=86_400, allow_inf_nan=False)
    limit: int | None = Field(default=None, ge=0)
    min_score: float | None = Field(default=None, allow_inf_nan=False)
    thresholds: Mapping[str, Annotated[Threshold, BeforeValidator(_threshold)]] = {}
    truncator: _Part = "extractive"
    compactor: _Part = None
    selection: Selection = "adaptive"
    diversity: Annotated[Diversity | None, _of_fields(Diversity)] = None
    order: _Part = "relevance"
    dedupe_threshold: float | None = Field(default=90.0, ge=0, le=100)
    dedupe_rules: tuple[_Part, ...] = tuple(DEDUPE_RULES)
    dedupe_key: str | None = None
    fusion: Annotated[Fusion, _of_fields(Fusion)] = Fusion()
    citations: _Part = "number"
    group_by: Literal["source", "kind"] = "source"
    titles: Mapping[str, str] = {}
    empty_section: str = ""
    notes: Mapping[str, str] = {}
    closing: str = ""
    uncounted: tuple[str, ...] = ()
    counted_by: str = ""
    shown_score: Literal["score", "relevance"] = "score"
    doubtful_below: float = Field(default=DOUBTFUL_BELOW, ge=0, le=1)
    unsure_below: float = Field(default=UNSURE_BELOW, ge=0, le=1)
    when_doubtful: Literal["keep", "empty"] = "keep"
    index_dir: Path | None = None
    _counter: TokenCounter | None = PrivateAttr(default=None)

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise as_config_error(error.errors()) from None

    @field_validator("titles", "empty_section", "notes", "closing")
    @classmethod
    def _clean(cls, value: Any) -> Any:
        return copy_mapping({"": value}, "titles and notes")[""]

    @model_validator(mode="after")
    def _resolve_names(self) -> EngineConfig:
        """Names resolve while building, never while answering; a tokenizer once, since it may warn."""
        for name in type(self).model_fields:
            if is_function(given := getattr(self, name)):
                raise ConfigError(
                    f"this trace was made with {name}={given!r}, which was given as a function; "
                    "pass the engine that has it: replay(trace, engine=…)"
                )
        self._counter = resolve_tokenizer(self.tokenizer)
        self.parts()
        return self

    def parts(self) -> Parts:
        """Return the settings resolved into the parts that do the work.

        Raises:
            ConfigError: A name is unknown, or a part is not callable.
        """
        for name, signal in self.signals.items():
            if not callable(signal):
                raise ConfigError(f"signals {name!r} must be (candidates, request) -> floats, got {signal!r}")
        for name, template in self.templates.items():
            if not isinstance(template, Template):
                raise ConfigError(f"templates: {name!r} must be a Template, got {template!r}")
        signals: Registry[Signal] = with_own("signal", SIGNALS, self.signals)
        templates: Registry[Template] = with_own("template", TEMPLATES, self.templates)

        template_of = functools.partial(_chosen, self.template, templates)
        counter = self._counter or resolve_tokenizer(self.tokenizer)
        truncator = part_named("truncator", TRUNCATORS, self.truncator)
        compactor = None if self.compactor is None else resolve_compactor(self.compactor)
        layout = Layout(
            template=template_of(None),
            arrange=part_named("order", ORDERS, self.order),
            markers=part_named("citation style", CITATION_STYLES, self.citations),
            group_by=self.group_by,
            titles=self.titles,
            empty_section=self.empty_section,
            shown_score=self.shown_score,
            uncounted=self.uncounted,
            counted_by=self.counted_by,
            notes=self.notes,
            closing=self.closing,
        )
        packing = Packing(
            count=counter,
            layout=layout,
            budget=self.budget,
            selection=self.selection,
            splits=truncator == extractive and compactor is None,
            shorten=None
            if truncator is keep_whole and compactor is None
            else Shorten(truncator=truncator, compactor=compactor),
            diversity=self.diversity,
        )
        return Parts(
            config=self,
            signals=signals,
            weights=None if self.weights is None else scale_weights(self.weights, signals.__getitem__),
            dedupe_rules=[part_named("dedupe rule", DEDUPE_RULES, rule) for rule in self.dedupe_rules],
            packing=packing,
            template_of=template_of,
            count_warning=counter.warning,
        )

    def described(self) -> dict[str, Any]:
        """Return the settings as JSON-ready data, but for this machine's folder; functions by their names."""
        return {name: as_data(getattr(self, name)) for name in type(self).model_fields if name != "index_dir"}

    @classmethod
    def read(cls, described: Mapping[str, Any], own: EngineConfig | None = None) -> EngineConfig:
        """Return the settings that `described` gave.

        Args:
            described: The data; a missing name is the default.
            own: Where parts that were given as functions come from.

        Raises:
            ConfigError: A value is wrong, or a function is not at hand.
        """
        settings = dict(described)
        for name, value in described.items() if own is not None else ():
            given = getattr(own, name, None)
            if is_function(value) and as_data(given) == value:
                settings[name] = given
            elif name == "signals" and isinstance(value, Mapping):
                at_hand: Mapping[str, Any] = given or {}
                settings[name] = {
                    k: at_hand[k] if as_data(at_hand.get(k)) == v else v for k, v in value.items()
                }
        return cls(**settings)

    def changed(self, **settings: Any) -> EngineConfig:
        """Return a copy with some settings changed; `budget` as a number keeps the rest of the budget.

        Raises:
            ConfigError: A name or a value is wrong, or it is one that only acts while an engine is made.
        """
        for name in settings:
            if name not in type(self).model_fields:
                raise UnknownNameError("setting", name, type(self).model_fields)
        own = {name: getattr(self, name) for name in type(self).model_fields}
        if isinstance(settings.get("budget"), int):
            settings["budget"] = replace(self.budget, tokens=settings["budget"])
        return type(self)(**{**own, **settings})


class SettingsFile(NamedTuple):
    """What a file says: settings of `EngineConfig`, read and checked; fields of a question, for `build`."""

    settings: Mapping[str, Any]
    request: Mapping[str, Any]


def read_settings(path: str | os.PathLike[str]) -> SettingsFile:
    """Return the settings in a TOML or JSON file.

    Every name of `EngineConfig` may stand in it; `budget` as tokens or a table. Fields of the question stand
    in the table `request`. "null" is None.

    Args:
        path: A file whose name ends in `.toml` or `.json`.

    Raises:
        ConfigError: The file cannot be read, or a name or a value in it is wrong.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        data = _without_none(json.loads(text) if file.suffix == ".json" else tomllib.loads(text))
    except OSError as error:
        raise ConfigError(f"the settings {file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not {file.suffix[1:].upper() or 'TOML'}: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{file} holds no settings: one is NAME = VALUE")
    request = data.pop("request", {})
    if not isinstance(request, dict) or set(request) - _REQUEST_FIELDS:
        known = ", ".join(sorted(_REQUEST_FIELDS))
        raise ConfigError(f"{file}: the table 'request' may hold {known}; got {quoted(request)}")
    try:
        config = EngineConfig().changed(**data)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    return SettingsFile({name: getattr(config, name) for name in data}, request)


def _without_none(value: Any) -> Any:
    """Return data with None for "null", which TOML has no word for."""
    if isinstance(value, dict):
        return {name: _without_none(item) for name, item in value.items()}
    return None if value == "null" else value

"""The settings of an engine: checked at the door, resolved once, told in every trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.freeze import copy_mapping
from langchain_context_engine.models.registry import Registry, part_named, with_own
from langchain_context_engine.models.settings import as_config_error
from langchain_context_engine.pipeline.pack import Packing
from langchain_context_engine.pipeline.rank import scale_weights
from langchain_context_engine.pipeline.select import Diversity
from langchain_context_engine.pipeline.shorten import Shorten
from langchain_context_engine.ranking.doubt import DOUBTFUL_BELOW, UNSURE_BELOW
from langchain_context_engine.ranking.fusion import Fusion
from langchain_context_engine.ranking.identity import DEDUPE_RULES
from langchain_context_engine.ranking.signals import SIGNALS, Signal
from langchain_context_engine.rendering.citations import CITATION_STYLES
from langchain_context_engine.rendering.compact import resolve_compactor
from langchain_context_engine.rendering.layout import Layout
from langchain_context_engine.rendering.orders import ORDERS
from langchain_context_engine.rendering.templates import TEMPLATES, Template
from langchain_context_engine.text.tokens import TokenCounter, resolve_tokenizer
from langchain_context_engine.text.truncate import TRUNCATORS, extractive, keep_whole
from langchain_context_engine.text.units import UnitValue
from langchain_context_engine.trace.as_made import settings_as_made
from langchain_context_engine.trace.assemble import Parts
from langchain_context_engine.trace.named_parts import as_data, from_data
from langchain_context_engine.trace.reading import read_setting, read_thresholds

ONLY_EQUAL = 101.0
"""A threshold that no two different texts reach."""

Selection = Literal["adaptive", "score", "density", "knapsack"]


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
            source is asked, else 50: beyond about 100 over all, more candidates bring no more evidence.
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
        unit_value: How sentences are valued.
        citations: A style's name, or `passages -> markers`.
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

    budget: Any = 2000
    weights: Mapping[str, Any] | None = None
    signals: Mapping[str, Any] = {}
    template: Any = "placed"
    templates: Mapping[str, Any] = {}
    tokenizer: Any = "auto"
    scope_keys: tuple[str, ...] = ()
    timeout_seconds: float = Field(default=2.0, gt=0, le=86_400, allow_inf_nan=False)
    limit: int | None = Field(default=None, ge=0)
    min_score: float | None = Field(default=None, allow_inf_nan=False)
    thresholds: Mapping[str, Any] = {}
    truncator: Any = "extractive"
    compactor: Any = None
    selection: Selection = "adaptive"
    diversity: Diversity | None = None
    order: Any = "relevance"
    dedupe_threshold: float | None = Field(default=90.0, ge=0, le=100)
    dedupe_rules: tuple[Any, ...] = tuple(DEDUPE_RULES)
    dedupe_key: str | None = None
    fusion: Fusion = Fusion()
    unit_value: UnitValue = UnitValue()
    citations: Any = "number"
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

    @field_validator("signals", "dedupe_rules", "truncator", "compactor", "order", "citations", mode="before")
    @classmethod
    def _read_parts(cls, value: Any) -> Any:
        """A part may be given as data, as a trace tells it: see `named_parts`."""
        return from_data(value)

    @field_validator("thresholds", mode="before")
    @classmethod
    def _read_thresholds(cls, value: Any) -> Any:
        return read_thresholds(value)

    @field_validator("scope_keys", mode="before")
    @classmethod
    def _read_keys(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("titles", "empty_section", "notes", "closing")
    @classmethod
    def _clean(cls, value: Any) -> Any:
        return copy_mapping({"": value}, "titles and notes")[""]

    @field_validator("budget", mode="before")
    @classmethod
    def _read_budget(cls, value: Any) -> Budget:
        if value is None:
            return Budget()
        return value if isinstance(value, Budget) else Budget(tokens=value)

    @field_validator("scope_keys")
    @classmethod
    def _check_keys(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if all(value):
            return value
        raise ValueError(f"scope_keys must be names of metadata keys, got {value!r:.200}")

    @model_validator(mode="after")
    def _resolve_names(self) -> EngineConfig:
        """Names resolve while building, never while answering; a tokenizer once, since it may warn."""
        self._counter = resolve_tokenizer(self.tokenizer)
        self.parts()
        return self

    def registry_of_signals(self) -> Registry[Signal]:
        """Return the built-in signals and this engine's own."""
        for name, signal in self.signals.items():
            if not callable(signal):
                raise ConfigError(f"signals {name!r} must be (candidates, request) -> floats, got {signal!r}")
        return with_own("signal", SIGNALS, self.signals)

    def registry_of_templates(self) -> Registry[Template]:
        """Return the built-in templates and this engine's own."""
        for name, template in self.templates.items():
            if not isinstance(template, Template):
                raise ConfigError(f"templates: {name!r} must be a Template, got {template!r}")
        return with_own("template", TEMPLATES, self.templates)

    def template_of(self, template: Any = None) -> Template:
        """Return the template that a request names, or the engine's.

        Raises:
            UnknownNameError: No template has that name.
        """
        chosen = self.template if template is None else template
        return chosen if isinstance(chosen, Template) else self.registry_of_templates()[chosen]

    def parts(self) -> Parts:
        """Return the settings resolved into the parts that do the work.

        Raises:
            ConfigError: A name is unknown, or a part is not callable.
        """
        counter = self._counter or resolve_tokenizer(self.tokenizer)
        signals = self.registry_of_signals()
        truncator = part_named("truncator", TRUNCATORS, self.truncator)
        compactor = None if self.compactor is None else resolve_compactor(self.compactor)
        layout = Layout(
            template=self.template_of(),
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
            splits=truncator is extractive and compactor is None,
            shorten=None
            if truncator is keep_whole and compactor is None
            else Shorten(truncator=truncator, compactor=compactor),
            unit_value=self.unit_value,
            diversity=self.diversity,
        )
        return Parts(
            signals=signals,
            weights=None if self.weights is None else scale_weights(self.weights, signals.__getitem__),
            fusion=self.fusion,
            min_score=self.min_score,
            thresholds=self.thresholds,
            dedupe_threshold=ONLY_EQUAL if self.dedupe_threshold is None else self.dedupe_threshold,
            dedupe_rules=[part_named("dedupe rule", DEDUPE_RULES, rule) for rule in self.dedupe_rules],
            dedupe_key=self.dedupe_key,
            packing=packing,
            doubtful_below=self.doubtful_below,
            unsure_below=self.unsure_below,
            is_empty_when_doubtful=self.when_doubtful == "empty",
            template_of=self.template_of,
            count_warning=counter.warning,
        )

    def described(self) -> dict[str, Any]:
        """Return the settings as JSON-ready data, but for this machine's folder; functions by their names."""
        return {name: as_data(getattr(self, name)) for name in type(self).model_fields if name != "index_dir"}

    @classmethod
    def read(cls, described: Mapping[str, Any], own: EngineConfig | None = None) -> EngineConfig:
        """Return the settings that `described` gave.

        Args:
            described: The data; a missing name is the default, or what there was before there was that name.
            own: Where parts that were given as functions come from.

        Raises:
            ConfigError: A value is wrong, or a function is not at hand.
        """
        at_hand = [config for config in (own, cls()) if config is not None]
        return cls(
            **{
                name: read_setting(name, value, at_hand)
                for name, value in settings_as_made(described).items()
            }
        )

    def changed(self, **settings: Any) -> EngineConfig:
        """Return a copy with some settings changed.

        Raises:
            ConfigError: A name or a value is wrong.
        """
        unknown = set(settings) - set(type(self).model_fields)
        if unknown:
            with_own("setting", dict.fromkeys(type(self).model_fields), {})[min(unknown)]
        own = {name: getattr(self, name) for name in type(self).model_fields}
        if "budget" in settings and isinstance(settings["budget"], int):
            own_budget: Budget = self.budget
            settings["budget"] = replace(own_budget, tokens=settings["budget"])
        return type(self)(**{**own, **settings})

"""The options of the designs as data: checked when made, frozen, unknown names refused."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from langchain_context_engine.models.errors import ConfigError


class Checked(BaseModel):
    """Options that are checked when they are made.

    Raises:
        ConfigError: A name is unknown or a value wrong; the message names it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError("; ".join(map(_told, error.errors()))) from None


def _told(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    message = str(error["msg"]).removeprefix("Value error, ")
    given = "" if error["type"] in {"missing", "value_error"} else f", got {error['input']!r}"
    return f"{place}: {message}{given}" if place else message

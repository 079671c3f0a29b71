"""What the package's extras hold, and whether that is here: in the right version, whole, to be loaded."""

from __future__ import annotations

import importlib
import warnings
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from typing import TYPE_CHECKING

from langchain_context_engine.cli.failure import one_line
from langchain_context_engine.models.redact import safe_message

if TYPE_CHECKING:
    from packaging.requirements import Requirement

EXTRAS = ("local", "openai", "inspector", "agents", "server", "mcp", "code", "documents")

_LONGEST = 160


def told_of_extra(extra: str) -> tuple[str, bool]:
    """Tell which versions there are of what an extra holds, or what is missing or broken; and if all is well.

    An extra that is not here, or not whole, is no fault: nobody may want it.
    """
    stated = packages_of(extra)
    if not stated:
        return "not known to what is installed here: install this version anew", True
    numbers = {package.name: version_of(package.name) for package in stated}
    told = ", ".join(f"{name} {number}" for name, number in numbers.items() if number)
    wrong = [p for p in stated if not _meets(numbers[p.name], p)]
    if wrong:
        lacking = ", ".join(
            f"{p.name} {numbers[p.name] or 'missing'}, {p.specifier or 'any'} is needed" for p in wrong
        )
        return (
            f"not whole ({lacking}): {_install(extra)}" if told else f"not installed: {_install(extra)}",
            True,
        )
    broken = [f"{p.name} {numbers[p.name]}: {why}" for p in stated if (why := _cannot_be_loaded(p.name))]
    if broken:
        return f"broken ({'; '.join(broken)}): {_install(extra, '--force-reinstall ')}", False
    return told, True


def _install(extra: str, how: str = "") -> str:
    return f'pip install {how}"langchain-context-engine[{extra}]"'


def _meets(number: str | None, package: Requirement) -> bool:
    return number is not None and package.specifier.contains(number, prereleases=True)


def version_of(name: str) -> str | None:
    """Return the version of a distribution, or None where there is none or only half of its papers."""
    try:
        return version(name)
    except (PackageNotFoundError, KeyError):
        return None


def packages_of(extra: str) -> list[Requirement]:
    """Return what an extra holds on this machine, as the package itself says; nothing where it is unknown."""
    from packaging.requirements import Requirement

    try:
        stated = map(Requirement, requires("langchain-context-engine") or [])
    except PackageNotFoundError:
        return []
    return [
        package
        for package in stated
        if package.marker is not None
        and package.marker.evaluate({"extra": extra})
        and not package.marker.evaluate({"extra": ""})
    ]


def _cannot_be_loaded(name: str) -> str:
    """Return why what a distribution holds cannot be loaded; "" where it can, or nothing is told of it."""
    module = _module_of(name)
    if not module:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(module)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return one_line(safe_message(error))[:_LONGEST]
    return ""


def _module_of(name: str) -> str:
    """Return the module by which a distribution is loaded: that of its name, else its first one; or ""."""
    found = dict.fromkeys(
        path.parts[0].removesuffix(".py")
        for path in distribution(name).files or ()
        if path.suffix == ".py" and (len(path.parts) == 1 or path.parts[1:] == ("__init__.py",))
    )
    modules = [module for module in found if module.isidentifier() and not module.startswith("_")]
    own = name.replace("-", "_").lower()
    return next((module for module in modules if module.lower() == own), modules[0] if modules else "")

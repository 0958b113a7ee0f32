"""What a run says about itself, in words, for the page, the Markdown report and models.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def run_facts(meta: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts of a run as pairs of a name and a text; what its meta.json does not hold is left out."""
    facts = []
    tasks = meta.get("tasks") or {}
    if tasks:
        split = f", split {tasks['split']}" if tasks.get("split") else ""
        digest = f", sha256 {str(tasks['digest'])[:16]}" if tasks.get("digest") else ""
        facts.append(("tasks", f"{tasks.get('source')}{split}, {tasks.get('count')} tasks{digest}"))
    facts += [("model", model_words(model)) for model in meta.get("models") or []]
    machine = meta.get("machine") or {}
    if machine:
        memory = machine.get("memory")
        parts = [machine.get("cpu"), machine.get("cores") and f"{machine['cores']} cores"]
        parts.append(f"{memory} GiB" if isinstance(memory, (int, float)) else memory)
        facts.append(("machine", ", ".join(str(part) for part in parts if part)))
    if meta.get("versions"):
        facts.append(("versions", ", ".join(f"{name} {version}" for name, version in meta["versions"].items())))
    if meta.get("settings"):
        facts.append(
            ("settings", ", ".join(f"{name} {setting_word(value)}" for name, value in meta["settings"].items()))
        )
    seeds = meta.get("seeds") or ([meta["seed"]] if meta.get("seed") is not None else [])
    if seeds:
        facts.append(("seed" if len(seeds) == 1 else "seeds", ", ".join(map(str, seeds))))
    if meta.get("created"):
        facts.append(("begun", str(meta["created"])))
    return facts


def model_words(model: Mapping[str, Any]) -> str:
    """A model's name, family, size, file and digest."""
    count = model.get("parameters")
    size = f"{count / 1e6:,.0f} million parameters" if isinstance(count, int) else count
    file = model.get("path_name") if model.get("path_name") != model.get("name") else None
    digest = f"sha256 {str(model['digest'])[:16]}" if model.get("digest") else None
    return ", ".join(str(part) for part in (model.get("name"), model.get("family"), size, file, digest) if part)


def commands_of(metas: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every command that made these runs, once."""
    given = [command for meta in metas for command in meta.get("commands") or [meta.get("command")] if command]
    return list(dict.fromkeys(" ".join(str(command).split()) for command in given))


def ablation_name(settings: Mapping[str, Any]) -> str | None:
    """What a run is called that differs from a usual one in its steering policies alone; None where it does not."""
    agent = settings.get("agent") or {}
    if set(agent) != {"policies"} or not (agent["policies"] is None or isinstance(agent["policies"], Mapping)):
        return None
    if settings.get("label"):
        return str(settings["label"])
    if agent["policies"] is None:
        return "not steered"
    return ", ".join(
        f"without {name}" if value is False else f"with {name} {setting_word(value)}"
        for name, value in agent["policies"].items()
    )


def setting_word(value: Any) -> str:
    """The value of a setting in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return '""' if value == "" else str(value)

"""Loads the plugins for TrainJobs: built-in ones and those of installed distributions.

A third party adds one by an entry point of the group `jobledger.trainjob_plugins` that names a
subclass of `core.trainjob.building.framework.Plugin`. One that cannot be loaded stops the start: a
job must not be built without what its operator has installed.
"""

from importlib.metadata import EntryPoint, entry_points, version

from jobledger.core.errors import JobledgerError
from jobledger.core.trainjob.building.framework import Plugin
from jobledger.core.trainjob.contributions.declared import declaration_problems
from jobledger.core.trainjob.plugins import all_plugins

GROUP = "jobledger.trainjob_plugins"

ANYWHERE = "https://anywhere"
"""With an address, so that the name of every plugin of ours is taken, whatever is set."""


class BrokenPlugin(JobledgerError):
    """An installed plugin cannot be used."""

    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name, problem
        super().__init__(f"the TrainJob plugin {name} cannot be used: {problem}; mend or remove it")


def trainjob_plugins(status_url: str = "") -> tuple[Plugin, ...]:
    """Return all plugins in the order in which they are asked.

    `status_url` is where Pods report their progress; empty: nowhere.

    Raises:
        BrokenPlugin: an installed one cannot be loaded, is none, has a name that is taken, or
            declares conditions that it cannot give.
    """
    others: dict[str, Plugin] = {}
    taken = {plugin.name for plugin in all_plugins(status_url=ANYWHERE)}
    for entry in sorted(entry_points(group=GROUP), key=lambda item: item.name):
        plugin = _loaded(entry)
        if plugin.name in taken or plugin.name in others:
            raise BrokenPlugin(entry.name, f"another plugin is called {plugin.name!r}")
        others[plugin.name] = plugin
    plugins = all_plugins(*others.values(), status_url=status_url)
    for name, problem in declaration_problems(plugins):
        raise BrokenPlugin(name, problem)
    return plugins


def builder() -> str:
    """Return the versions of what builds: this program, and each distribution with a plugin."""
    others = {
        f"{entry.dist.name} {entry.dist.version}"
        for entry in entry_points(group=GROUP)
        if entry.dist is not None
    }
    return ", ".join([f"jobledger {version('jobledger')}", *sorted(others)])


def _loaded(entry: EntryPoint) -> Plugin:
    try:
        made = entry.load()
        plugin = made() if isinstance(made, type) else made
    except Exception as error:  # whatever foreign code stumbles over
        raise BrokenPlugin(entry.name, f"{type(error).__name__}: {error}") from error
    if not isinstance(plugin, Plugin) or not plugin.name:
        raise BrokenPlugin(entry.name, "it is no Plugin with a name")
    return plugin

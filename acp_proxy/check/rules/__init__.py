"""The functions that find breaches of rules, one module per group; `load` registers all."""

from importlib import import_module

from acp_proxy.check.registry import registered_ids

_MODULES = (
    "framing",
    "json_rpc",
    "initialization",
    "sessions",
    "mcp_servers",
    "prompts",
    "cancellation",
    "updates",
    "modes_and_options",
    "tool_calls",
    "terminals",
    "data",
    "draft",
    "version_2",
    "schemas",
    "remarks",
)


def load() -> set[str]:
    """Imports all modules of rules. Returns the ids of the rules that have functions."""
    for name in _MODULES:
        import_module(f"acp_proxy.check.rules.{name}")
    return registered_ids()

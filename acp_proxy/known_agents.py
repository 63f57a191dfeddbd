"""The known ACP agents and their commands, made by ``make agents`` from the official registry.

It imports nothing, since `record` reads it before the agent starts, if its command begins with
``@``.
"""

REGISTRY = "https://github.com/agentclientprotocol/registry"
REGISTRY_SHA256 = "5035ebc4a7e69cb0245f4320dcbca2035a2606f3bcc9a1b87a35905cc144df1b"
"""Of the registry's file that the rows were made of."""
ROWS_SHA256 = "f081c64cbe030ef15bd79d2ca1a5eeaac6dc0732d4f393e531bddeca58d5fbad"
"""Of the rows; a test compares it."""

# By id: the name; the command of an agent that is installed; what runs its package, in place of its
# program; variables that it needs; its version, the commit of its entry, and the day on which the
# repository that the package names was the project's, and which one. Without a day nothing runs the
# package: whoever takes a free name, or one that looks alike, could run what he likes.
AGENTS: "dict[str, tuple[str, tuple[str, ...], tuple[str, ...], dict[str, str], str]]" = {
    "agoragentic-acp": (
        "Agoragentic",
        ("agoragentic-mcp", "--acp"),
        ("npx", "-y", "agoragentic-mcp"),
        {},
        "1.3.1 6869fd2ed773",
    ),
    "amp-acp": ("Amp", ("amp-acp",), (), {}, "0.9.0 7936660b7acf"),
    "auggie": (
        "Auggie CLI",
        ("auggie", "--acp"),
        ("npx", "-y", "@augmentcode/auggie"),
        {},
        "0.21.0 123c5b932949",
    ),
    "claude-acp": (
        "Claude Agent",
        ("claude-agent-acp",),
        ("npx", "-y", "@agentclientprotocol/claude-agent-acp"),
        {},
        "0.85.1 05cdbae4d66b 2026-11-28 github.com/agentclientprotocol/claude-agent-acp",
    ),
    "cline": (
        "Cline",
        ("cline", "--acp"),
        ("npx", "-y", "cline"),
        {},
        "3.0.4 36da3aa518d5 2026-11-28 github.com/cline/cline",
    ),
    "codebuddy-code": (
        "Codebuddy Code",
        ("codebuddy", "--acp"),
        ("npx", "-y", "@tencent-ai/codebuddy-code"),
        {},
        "2.156.0 00f0798d693f",
    ),
    "codex-acp": (
        "Codex",
        ("codex-acp",),
        ("npx", "-y", "@agentclientprotocol/codex-acp"),
        {},
        "1.4.0 0fd133598128 2026-11-28 github.com/agentclientprotocol/codex-acp",
    ),
    "cortex-code": ("Cortex Code", ("cortex", "acp", "serve"), (), {}, "1.1.27 06fd4ba7b8db"),
    "corust-agent": ("Corust Agent", ("corust-agent-acp",), (), {}, "0.3.7 999478abf7ec"),
    "cursor": ("Cursor", ("cursor-agent", "acp"), (), {}, "2026.10.01 2326ab365bd0"),
    "deepagents": (
        "DeepAgents",
        ("deepagents-acp",),
        ("npx", "-y", "deepagents-acp"),
        {},
        "0.1.0 243535fdcc46",
    ),
    "devin": ("Devin", ("devin", "acp"), (), {}, "3000.6.7 15bb98c17676"),
    "dimcode": ("DimCode", ("dimcode", "acp"), ("npx", "-y", "dimcode"), {}, "0.5.7 00f0798d693f"),
    "dirac": ("Dirac", ("dirac", "--acp"), ("npx", "-y", "dirac-cli"), {}, "0.3.1 0c918b98e39a"),
    "factory-droid": (
        "Factory Droid",
        ("droid", "exec", "--output-format", "acp-daemon"),
        ("npx", "-y", "droid"),
        {},
        "0.218.0 081b5b7cd42d",
    ),
    "fast-agent": (
        "fast-agent",
        ("fast-agent-acp", "-x"),
        ("uvx", "fast-agent-acp"),
        {"FAST_AGENT_MODEL": "codexplan"},
        "0.10.1 13235cf0c7bc 2026-11-28 github.com/evalstate/fast-agent",
    ),
    "gemini": (
        "Gemini CLI",
        ("gemini", "--acp"),
        ("npx", "-y", "@google/gemini-cli"),
        {},
        "0.37.0 014a409049fd 2026-11-28 github.com/google-gemini/gemini-cli",
    ),
    "github-copilot-cli": (
        "GitHub Copilot",
        ("copilot", "--acp"),
        ("npx", "-y", "@github/copilot"),
        {},
        "1.0.80 13235cf0c7bc 2026-11-28 github.com/github/copilot-cli",
    ),
    "glm-acp-agent": (
        "GLM Agent",
        ("glm-acp-agent",),
        ("npx", "-y", "glm-acp-agent"),
        {},
        "1.5.0 0fd133598128",
    ),
    "goose": ("goose", ("goose", "acp"), (), {}, "1.50.1 27ae7999f80e"),
    "grok-build": (
        "Grok Build",
        ("grok", "agent", "stdio"),
        ("npx", "-y", "@xai-official/grok"),
        {},
        "1.0.30 081b5b7cd42d",
    ),
    "harn": ("Harn", ("harn", "serve", "acp"), (), {}, "0.10.155 0821af9cc7f2"),
    "junie": ("Junie", ("junie", "--acp=true"), (), {}, "2698.3.0 06501741608a"),
    "kilo": (
        "Kilo",
        ("kilo", "acp"),
        ("npx", "-y", "@kilocode/cli"),
        {},
        "7.5.5 13235cf0c7bc 2026-11-28 github.com/kilo-org/kilocode",
    ),
    "kimi": ("Kimi CLI", ("kimi", "acp"), (), {}, "1.9.0 0595fa2d0382"),
    "minion-code": (
        "Minion Code",
        ("minion-code", "acp"),
        ("uvx", "minion-code"),
        {},
        "0.1.8 06daf99ba3b5",
    ),
    "mistral-vibe": ("Mistral Vibe", ("vibe-acp",), (), {}, "2.24.0 1acdc629c159"),
    "nova": ("Nova", ("nova", "acp"), ("npx", "-y", "@compass-ai/nova"), {}, "1.0.44 16665213a6b6"),
    "opencode": (
        "OpenCode",
        ("opencode", "acp"),
        ("npx", "-y", "@opencode/cli"),
        {},
        "2.0.23 0167779fc173",
    ),
    "pi-acp": (
        "pi ACP",
        ("pi-acp",),
        ("npx", "-y", "pi-acp"),
        {},
        "0.0.16 1a793463b48a 2026-11-28 github.com/svkozak/pi-acp",
    ),
    "poolside": ("Poolside", ("pool", "acp"), (), {}, "1.0.16 13235cf0c7bc"),
    "qoder": (
        "Qoder CLI",
        ("qodercli", "--acp"),
        ("npx", "-y", "@qoder-ai/qodercli"),
        {},
        "0.1.30 507aff0101d8",
    ),
    "qwen-code": (
        "Qwen Code",
        ("qwen", "--acp", "--experimental-skills"),
        ("npx", "-y", "@qwen-code/qwen-code"),
        {},
        "0.21.14 08ab5f8edde7 2026-11-28 github.com/qwenlm/qwen-code",
    ),
    "sigit": (
        "siGit Code",
        ("sigit",),
        ("npx", "-y", "@smbcloud/sigit"),
        {},
        "1.5.12 1e1badc53427",
    ),
    "stakpak": ("Stakpak", ("stakpak", "acp"), (), {}, "0.3.67 507aff0101d8"),
    "vtcode": (
        "VT Code",
        ("vtcode", "acp"),
        (),
        {"VT_ACP_ENABLED": "1", "VT_ACP_ZED_ENABLED": "1"},
        "0.96.14 0a885ed3a492",
    ),
}
"""Every known agent."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def known_names() -> "list[str]":
    """Returns every name that `agent_id` knows: ids, ids without ``-acp``, and programs."""
    names = dict.fromkeys(AGENTS)
    for id_, row in AGENTS.items():
        names.setdefault(id_.removesuffix("-acp"))
        names.setdefault(row[1][0])
    return list(names)


def agent_id(name: str) -> "str | None":
    """Returns the id of a known agent.

    Args:
        name: its id, its id without ``-acp``, or its program, in any case.
    """
    word = name.lower()
    if word in AGENTS:
        return word
    for id_, row in AGENTS.items():
        if word in (id_.removesuffix("-acp"), row[1][0]):
            return id_
    return None


def command_of(id_: str, is_installed: "Callable[[str], bool]") -> "list[str]":
    """Returns the command of a known agent: its own program, or what runs its compared package.

    Args:
        id_: the agent's id.
        is_installed: whether a program is found.
    """
    _, command, runner, _, facts = AGENTS[id_]
    if _is_compared(facts) and not is_installed(command[0]):
        return [*runner, *command[1:]]
    return [*command]


def advice(id_: str, is_installed: "Callable[[str], bool]") -> str:
    """Returns what to type if an agent is not there and its package was not compared; else nothing.

    Args:
        id_: the agent's id.
        is_installed: whether a program is found.
    """
    _, command, runner, _, facts = AGENTS[id_]
    if _is_compared(facts) or not runner or is_installed(command[0]):
        return ""
    return (
        f"{command[0]} is not in PATH, and nobody has compared the package {runner[-1]} with the"
        f" project of the agent; if you trust it, type: {' '.join([*runner, *command[1:]])}"
    )


def expanded(
    command: "Sequence[str]", is_installed: "Callable[[str], bool]"
) -> "tuple[list[str], Mapping[str, str], str] | None":
    """Replaces ``@NAME`` at the beginning of a command.

    Args:
        command: a command that begins with such a word.
        is_installed: whether a program is found.

    Returns:
        The command, the variables that the agent needs, and `advice`; None if no agent has this
        name.
    """
    id_ = agent_id(command[0][1:])
    if id_ is None:
        return None
    words = [*command_of(id_, is_installed), *command[1:]]
    return words, AGENTS[id_][3], advice(id_, is_installed)


def _is_compared(facts: str) -> bool:
    return len(facts.split()) > 2

"""Reports in which what the agent sent is wrong by itself, or was never offered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reports.conversation import EVERYTHING, FILES, LOADS, RUST, modes, said
from tests.reports.register import SCHEMA, V1, report

if TYPE_CHECKING:
    from tests.reports.conversation import Conversation


@report(
    "esengine/DeepSeek-Reasonix#8241",
    "[Bug]: ACP `session/prompt` returns `stopReason=error` without the underlying error cause,"
    " and long-reasoning turns abort with no recovery detail",
    "agent",
    "StopReason: end_turn, max_tokens, max_turn_requests, refusal, cancelled"
    f" ({V1}prompt-turn#stop-reasons)",
)
def reasonix_stop_reason_error(c: Conversation) -> list[int]:
    """A turn that fails at the provider is answered with a stop reason that does not exist."""
    c.start(
        "reasonix acp",
        "2026-08-11T12:00:40",
        client=("codeg", "0.23.5"),
        agent=("reasonix", "1.21.3"),
        client_ids="uuids",
    )
    c.initialize({}, {"promptCapabilities": {"image": False, "embeddedContext": True}})
    session = c.open()
    c.turn(session, "What does the cart do?", "It keeps the lines until checkout.", "Let me see.")
    c.turn(session, "And the total?", "The total is the sum of the lines.")
    asked = c.prompt(session, "Rewrite the whole checkout.")
    c.read(session, "/srv/shop/src/checkout.ts", "export async function checkout() {}\n")
    c.think(session, "This is long. I need to consider every step of it with care.")
    result = {"stopReason": "error", "transcriptPath": "/srv/shop/.reasonix/7f.jsonl"}
    answer = c.answer(asked, result, 61877.0)
    c.turn(session, "Try again, shorter.", "I will only rename the steps.")
    c.leave()
    return [answer]


@report(
    "agentclientprotocol/claude-agent-acp#375",
    "session/update usage_update returns Invalid params when used=null (via acpx 0.1.15)",
    "agent",
    f"used and size are required and non-null token counts ({V1}prompt-turn#session-usage-updates)",
)
def claude_usage_without_a_count(c: Conversation) -> list[int]:
    """The usage at the end of a turn has null where the number of used tokens is due."""
    c.start(
        "claude-agent-acp",
        "2026-03-04T07:44:52",
        client=("acpx", "0.1.15"),
        agent=("@zed-industries/claude-agent-acp", "0.20.2"),
        cwd="/srv/openclaw",
    )
    c.initialize(EVERYTHING, {**LOADS, "mcpCapabilities": {"http": True, "sse": True}})
    session = c.open(modes=modes("default", "plan"))
    c.commands(session, "context", "compact")
    asked = c.prompt(session, "Which files are here?")
    c.shell(session, "ls -1", "README.md\nsrc\n")
    c.stream(session, "A README and the sources.")
    money = {"amount": 0.0412, "currency": "USD"}
    c.update(session, "usage_update", used=18201, size=200000, cost=money)
    c.stop(asked)
    asked = c.prompt(session, "Return exactly SMOKE_OK")
    c.stream(session, "SMOKE_OK")
    money = {"amount": 0.0533, "currency": "USD"}
    broken = c.update(session, "usage_update", 3.0, used=None, size=200000, cost=money)
    c.stop(asked)
    c.leave()
    return [broken]


@report(
    "esengine/DeepSeek-Reasonix#5775",
    "[Bug]: ACP 模式下不应 offer allow_persistent option — 既非 spec kind,又越权改 reasonix 自己"
    " config(host/lib 边界)",
    "agent",
    "kind: allow_once, allow_always, reject_once, reject_always"
    f" ({V1}tool-calls#permission-options)",
)
def reasonix_permission_kind_of_its_own(c: Conversation) -> list[int]:
    """One of the options of a permission request has a kind that does not exist.

    The client refuses the request, and the agent takes that for a denial.
    """
    c.start(
        "reasonix acp",
        "2026-07-02T15:29:18",
        client=("paseo", "0.1.62"),
        agent=("reasonix", "1.14.0-rc.1"),
    )
    c.initialize({}, {})
    session = c.open()
    c.turn(session, "Hi", "Hi. What can I do?")
    asked = c.prompt(session, "Create notes.md with one line.")
    number = c.call(session, "write_file notes.md", "edit", rawInput={"path": "notes.md"})
    options = [
        {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
        {"optionId": "session", "name": "Allow in this session", "kind": "allow_always"},
        {"optionId": "persist", "name": "Always, and save it", "kind": "allow_persistent"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    need = c.permit(session, number, options)
    data = {"_errors": [], "options": {"2": {"_errors": ["Invalid option"]}, "_errors": []}}
    error = c.refuse(need, -32602, "Invalid params", data, 2.0)
    c.progress(session, number, "failed", content=said("blocked by permission policy"))
    c.stream(session, "I was not allowed to write the file.")
    c.stop(asked)
    c.leave()
    return [need.seq, error]


@report(
    "xinbo-tech/thincoder#9",
    "【acp】会话与鉴权链路的 4 处硬失败",
    "agent",
    "The Agent MUST respond with the complete list of all configuration options and their current"
    f" values ({V1}session-config-options)",
)
def thincoder_config_answered_with_nothing(c: Conversation) -> list[int]:
    """The answers to session/set_config_option lack the list of options that is required."""
    c.start(
        "thincoder acp",
        "2026-09-14T08:10:27",
        client=("zed", "1.19.2"),
        agent=("thincoder", "0.12.62"),
        client_ids="uuids",
        client_order=RUST,
    )
    c.initialize({**EVERYTHING}, {"loadSession": True})
    options = [
        {
            "id": "mode",
            "name": "Mode",
            "category": "mode",
            "type": "select",
            "currentValue": "plan",
            "options": [{"value": "normal", "name": "Normal"}, {"value": "plan", "name": "Plan"}],
        },
        {
            "id": "thinking",
            "name": "Thinking",
            "type": "select",
            "currentValue": "off",
            "options": [{"value": "on", "name": "On"}, {"value": "off", "name": "Off"}],
        },
    ]
    session = c.open(configOptions=options)
    params = {"sessionId": session, "configId": "mode", "value": "normal"}
    broken = c.answer(c.ask("session/set_config_option", params), {})
    params = {"sessionId": session, "configId": "thinking", "value": "on"}
    second = c.answer(c.ask("session/set_config_option", params), {})
    asked = c.prompt(session, "Is there a linter?")
    c.read(session, "/srv/shop/package.json", '{"name": "shop"}\n')
    c.stream(session, "No, there is none.")
    c.stop(asked)
    c.leave()
    return [broken, second]


@report(
    "Hmbown/Codewhale#5969",
    "`serve --acp` `initialize` response violates the ACP schema: `sessionCapabilities.list` is a"
    " boolean instead of an object — strict clients (JetBrains IDEA) fail to connect",
    "agent",
    f"sessionCapabilities.list is an object or null; {{}} means that it is supported ({SCHEMA})",
)
def codewhale_capability_that_is_true(c: Conversation) -> list[int]:
    """The answer to initialize has true where a capability is an object."""
    c.start(
        "codewhale serve --acp",
        "2026-09-07T11:52:33",
        client=("IntelliJ IDEA", "2026.2"),
        agent=("codewhale", "0.9.12"),
        client_ids="from 1",
    )
    can = {"loadSession": True, "sessionCapabilities": {"list": True, "load": True}}
    _, broken = c.initialize({**EVERYTHING}, can)
    session = c.open()
    c.turn(session, "Hello", "Hello from the whale.")
    asked = c.prompt(session, "Show me the readme.")
    c.read(session, "/srv/shop/README.md", "# Shop\n")
    c.stream(session, "It has only a title.")
    c.stop(asked)
    c.leave()
    return [broken]


@report(
    "kirodotdev/KiroCrew#8522",
    'Dashboard: tool calls with non-canonical content shapes render as "No input or output'
    ' captured" with no diagnostics',
    "agent",
    'regular content of a tool call is {"type": "content", "content": …}'
    f" ({V1}tool-calls#regular-content)",
)
def bare_text_as_tool_content(c: Conversation) -> list[int]:
    """The result of a tool call is a bare text block, without the wrapper of content."""
    c.start(
        "crew-backend --acp",
        "2026-09-04T16:40:05",
        client=("kiro-crew", "1.4.0"),
        agent=("crew-backend", "0.3.1"),
        agent_style="spaced",
    )
    c.initialize({}, {})
    session = c.open()
    asked = c.prompt(session, "How many tests are there?")
    c.shell(session, "pytest --collect-only -q", "112 tests\n")
    number = c.call(session, "count", "search", "in_progress")
    bare = [{"type": "text", "text": "112 in 14 files"}]
    broken = c.progress(session, number, "completed", content=bare)
    c.stream(session, "There are 112.")
    c.stop(asked)
    c.turn(session, "Thanks", "Any time.")
    c.leave()
    return [broken]


@report(
    "fontanierh/crab#263",
    "v2: project draft ACP v2 updates safely through the ACP v1 channel facade",
    "agent",
    "Clients and Agents MUST agree on a protocol version and act according to its specification"
    f" ({V1}initialization#protocol-version); version 1 has no state_update",
)
def crab_update_of_another_version(c: Conversation) -> list[int]:
    """Updates that only version 2 has are passed on over a connection that agreed on version 1."""
    c.start(
        "crab-v2-acp-channel",
        "2026-08-27T13:05:59",
        client=("t3-code", "0.9.1"),
        agent=("crab", "2.0.0-beta"),
    )
    c.initialize(FILES, LOADS)
    session = c.open()
    asked = c.prompt(session, "Hello")
    broken = c.update(session, "state_update", state="running")
    c.stream(session, "Hello, what is the plan?")
    second = c.update(session, "state_update", state="idle", stopReason="end_turn")
    c.stop(asked)
    c.leave()
    return [broken, second]


@report(
    "zeroclaw-labs/zeroclaw#5957",
    "fix(acp): accept prompt as content-part array per ACP spec",
    "agent",
    "prompt: ContentBlock[], required"
    f" ({V1}prompt-turn#1-user-message); text and resource links MUST be supported"
    f" ({V1}initialization#prompt-capabilities)",
)
def zeroclaw_refuses_content_blocks(c: Conversation) -> list[int]:
    """The agent wants the prompt to be a string and calls the list of blocks missing."""
    c.start(
        "zeroclaw acp",
        "2026-04-21T09:33:12",
        client=("agentic.nvim", "0.4.0"),
        client_ids="from 1",
        client_order="jsonrpc method params id",
        cwd="/srv/agentic",
    )
    c.initialize({**FILES, "terminal": False}, {})
    session = c.open()
    blocks = [
        {"type": "text", "text": "Add support for another agent."},
        {"type": "resource_link", "uri": "file:///srv/agentic/lua/init.lua", "name": "init.lua"},
    ]
    asked = c.prompt(session, blocks)
    error = c.refuse(asked, -32602, "Missing required parameter: prompt", after=0.8)
    c.leave()
    return [error, asked.seq]


@report(
    "kirodotdev/Kiro#11230",
    "ACP: tool_call paths are relative or resolved against the wrong directory",
    "agent",
    f"All file paths in the protocol MUST be absolute ({V1}overview#argument-requirements)",
)
def kiro_relative_location(c: Conversation) -> list[int]:
    """The location of a tool call is a bare file name."""
    c.start(
        "kiro-cli acp --agent-engine v2",
        "2026-09-05T18:22:47",
        client=("adapter", "0.2.0"),
        agent=("kiro-cli", "2.21.0"),
        client_ids="from 1",
        cwd="/srv/probe/ws",
    )
    c.initialize({}, {"loadSession": True})
    session = c.open("/srv/probe/ws", modes=modes("default"))
    asked = c.prompt(session, "Read in.txt and write probe_out.txt")
    c.read(session, "/srv/probe/ws/in.txt", "probe\n")
    where = [{"path": "probe_out.txt", "line": 1}]
    number = c.call(session, "Creating probe_out.txt", "edit", locations=where)
    broken = c.seq
    c.choose(c.permit(session, number))
    change = [
        {
            "type": "diff",
            "path": "/srv/probe/ws/probe_out.txt",
            "oldText": None,
            "newText": "probe\n",
        }
    ]
    c.progress(session, number, "completed", content=change)
    c.stream(session, "Done.")
    c.stop(asked)
    c.leave()
    return [broken]


@report(
    "openkaiden/kaiden#2110",
    "feat: add agents session",
    "agent",
    "The agent MUST NOT write anything to its stdout that is not a valid ACP message"
    f" ({V1}transports#stdio); initialize goes from client to agent",
)
def kaiden_terminal_echoes_the_request(c: Conversation) -> list[int]:
    """The agent runs on a terminal that echoes: the client's initialize comes back to it."""
    c.start(
        "openshell sandbox exec -n sb1 --tty -- opencode acp",
        "2026-06-09T12:44:21",
        client=("kaiden", "0.3.0"),
        agent=("OpenCode", "1.16.0"),
        cwd="/sandbox",
    )
    asked = c.ask_initialize(FILES)
    params = {
        "protocolVersion": 1,
        "clientCapabilities": FILES,
        "clientInfo": {"name": "kaiden", "version": "0.3.0"},
    }
    echoed = c.request("to-client", "initialize", params, 1.9, number=asked.id)
    data = {"method": "initialize"}
    c.refuse(echoed, -32601, '"Method not found": initialize', data, 2.4)
    result = {
        "protocolVersion": 1,
        "agentCapabilities": {**LOADS, "mcpCapabilities": {"http": True, "sse": True}},
        "authMethods": [],
        "agentInfo": {"name": "OpenCode", "version": "1.16.0"},
    }
    c.answer(asked, result, 6400.0)
    session = c.open(sid="ses_15a0ffe16ffeJ0Pq2c", modes=modes("build", "plan"))
    c.commands(session, "init", "review")
    c.turn(session, "Hello", "Hello from the sandbox.")
    c.leave()
    return [echoed.seq]


@report(
    "speakeasy-api/kit#213",
    "Support safe ACP v2-to-v1 negotiation with v1-only child harnesses",
    "agent",
    "If the Agent supports the requested version, it MUST respond with the same version. Otherwise,"
    f" the Agent MUST respond with the latest version it supports ({V1}initialization"
    "#version-negotiation)",
)
def kit_refuses_to_negotiate(c: Conversation) -> list[int]:
    """Asked for version 2, an agent of version 1 answers with an error instead of its version."""
    c.start(
        "kit acp --protocol-version 1",
        "2026-09-13T10:01:56",
        client=("kit", "0.1.134"),
        client_ids="from 1",
        cwd="/srv/kit",
    )
    info = {"name": "kit", "version": "0.1.134"}
    params = {
        "protocolVersion": 2,
        "info": info,
        "capabilities": {},
        "clientInfo": info,
        "clientCapabilities": {},
    }
    c.stderr("kit acp: ready", 190.0)
    asked = c.ask("initialize", params)
    data = "unsupported ACP protocol version 2; this endpoint only supports ACP protocol version 1"
    error = c.refuse(asked, -32600, "Invalid request", data, 3.0)
    c.leave()
    return [error, asked.seq]


@report(
    "yusheng-g/openagent-go#20",
    "docs(bug) & fix(acp) Client RPC tools on advertised client capabilities",
    "agent",
    "If terminal is false or not present, the Agent MUST NOT attempt to call any terminal methods"
    f" ({V1}terminals#checking-support)",
)
def openagent_terminal_not_offered(c: Conversation) -> list[int]:
    """The agent asks for a terminal though the client said that it has none."""
    c.start(
        "openagent acp",
        "2026-07-21T02:55:10",
        client=("acp-ui", "0.1.19"),
        agent=("openagent-go", "0.6.0"),
    )
    can = {"fs": {"readTextFile": True, "writeTextFile": False}, "terminal": False}
    c.initialize(can, {})
    session = c.open()
    asked = c.prompt(session, "Run the tests, please.")
    c.read(session, "/srv/shop/Makefile", "test:\n\tnpm test\n")
    number = c.call(session, "make test", "execute", rawInput={"command": "make test"})
    params = {"sessionId": session, "command": "make", "args": ["test"], "cwd": c.cwd}
    need = c.need("terminal/create", params)
    error = c.refuse(need, -32601, "Method not found", {"method": "terminal/create"})
    c.progress(session, number, "failed", content=said("terminal is not available"))
    c.stream(session, "I cannot run commands here.")
    c.stop(asked)
    c.leave()
    return [need.seq, error]


@report(
    "svkozak/pi-acp#58",
    "Method not found: session/list",
    "agent",
    "sessionCapabilities.list says that the Agent supports session/list; it MUST respond with a"
    f" list of sessions ({V1}session-list)",
)
def pi_lists_nothing_though_it_can(c: Conversation) -> list[int]:
    """The agent says that it lists sessions and answers session/list with method not found."""
    c.start(
        "pi-acp",
        "2026-06-17T08:59:03",
        client=("agent-shell", "0.56.1"),
        agent=("pi-acp", "0.0.30"),
        client_ids="from 1",
        client_order="jsonrpc method id params",
    )
    can = {
        "loadSession": True,
        "mcpCapabilities": {"http": False, "sse": False},
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": False},
        "sessionCapabilities": {"list": {}},
    }
    _, said_so = c.initialize(FILES, can)
    asked = c.ask("session/list", {"cwd": c.cwd})
    data = {"method": "session/list"}
    error = c.refuse(asked, -32601, '"Method not found": session/list', data, 4.4)
    session = c.open()
    c.commands(session, "compact", "export")
    c.turn(session, "Hi", "Hi, I am pi.")
    c.leave()
    return [error, asked.seq, said_so]


@report(
    "avante-corp/avante.nvim#3056",
    "bug: gemini-cli的acp接入，即使终端登录了gemini-cli，打开avante时，还是会报错："
    "Failed to parse JSON-RPC message: https://accounts.google.com/o/oauth2/v2/auth?redirect_uri=xxx",
    "agent",
    "The agent MUST NOT write anything to its stdout that is not a valid ACP message"
    f" ({V1}transports#stdio)",
)
def gemini_prints_the_login_page(c: Conversation) -> list[int]:
    """While it authenticates the agent prints the address of a page for people on stdout."""
    c.start(
        "gemini --acp",
        "2026-05-06T01:48:36",
        client=("avante.nvim", "0.0.29"),
        agent=("gemini-cli", "0.38.2"),
        client_ids="from 1",
        client_order="params jsonrpc method id",
    )
    auth: list[dict[str, Any]] = [
        {"id": "oauth-personal", "name": "Log in with Google", "description": None},
        {"id": "gemini-api-key", "name": "Use an API key", "description": None},
    ]
    c.initialize({**FILES, "terminal": False}, LOADS, auth=auth)
    asked = c.ask("authenticate", {"methodId": "oauth-personal"})
    first = c.text("to-client", "Open this page to log in:", 812.0)
    second = c.text("to-client", "", 0.1)
    page = (
        "https://accounts.google.com/o/oauth2/v2/auth?redirect_uri=http%3A%2F%2F127.0.0.1%3A41013"
    )
    third = c.text("to-client", page, 0.1)
    c.answer(asked, {}, 24813.0)
    session = c.open(modes=modes("default", "autoEdit", "yolo"))
    c.turn(session, "hello", "Hello! How can I help you with this project?", "Greeting the user")
    c.leave()
    return [first, second, third]

"""Reports in which the client broke the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reports.conversation import EVERYTHING, FILES, LOADS, RUST, modes, said
from tests.reports.register import SCHEMA, V1, report

if TYPE_CHECKING:
    from tests.reports.conversation import Conversation


@report(
    "aaif-goose/vscode-goose#80",
    "fix(acp): handle server-to-client JSON-RPC requests",
    "client",
    "outcome is required in the answer to session/request_permission"
    f" ({V1}tool-calls#requesting-permission); requests expect a response"
    f" ({V1}overview#error-handling)",
)
def vscode_goose_permission_never_answered(c: Conversation) -> list[int]:
    """The client takes a permission request with a UUID for a response and never answers."""
    c.start(
        "goose acp",
        "2026-09-14T09:26:50",
        client=("vscode-goose", "0.1.14"),
        agent=("goose", "1.50.0"),
        client_ids="from 1",
        agent_ids="uuids",
        agent_order=RUST,
    )
    c.initialize({}, {**LOADS, "sessionCapabilities": {"list": {}}})
    session = c.open(sid="20260914_1", modes=modes("smart_approve", "auto", "chat"))
    c.turn(session, "Hi", "Hi! What are we working on?")
    asked = c.prompt(session, "Delete the build directory.")
    c.stream(session, "I will remove it.")
    command = {"command": "rm -r build"}
    number = c.call(session, "developer: shell", "execute", rawInput=command)
    need = c.permit(session, number, title="rm -r build", kind="execute", rawInput=command)
    return [need.seq, *c.leave(187402.0), asked.seq]


@report(
    "ThinkInAIXYZ/deepchat#1881",
    "ACP permission request can hang after cancel",
    "client",
    "The Client MUST respond to all pending session/request_permission requests with the cancelled"
    f" outcome ({V1}prompt-turn#cancellation)",
)
def deepchat_permission_open_after_cancel(c: Conversation) -> list[int]:
    """The user stops the turn while a permission is asked, and the question is never answered."""
    c.start(
        "kimi acp",
        "2026-07-06T05:18:22",
        client=("DeepChat", "0.7.2"),
        agent=("Kimi CLI", "1.40.0"),
        agent_style="spaced",
    )
    c.initialize(EVERYTHING, {**LOADS, "sessionCapabilities": {"list": {}}})
    session = c.open(modes=modes("default"))
    c.commands(session, "init", "clear")
    asked = c.prompt(session, "Write the release notes.")
    c.read(session, "/srv/shop/CHANGES.md", "# Changes\n")
    change = [
        {"type": "diff", "path": "/srv/shop/NOTES.md", "oldText": None, "newText": "# Notes\n"}
    ]
    number = c.call(session, "WriteFile: NOTES.md", "edit", content=change)
    need = c.permit(session, number)
    stopped = c.cancel(session, 8212.7)
    other = c.open("/srv/blog", modes=modes("default"))
    c.turn(other, "Which posts are drafts?", "Two of them: the one on trees and the one on tea.")
    return [need.seq, stopped, *c.leave(120334.0), asked.seq]


@report(
    "openabdev/openab#130",
    "Bug: RequestPermissionResponse missing outcome wrapper — Claude Code tool calls universally"
    " rejected",
    "client",
    f"outcome: RequestPermissionOutcome, required ({V1}tool-calls#requesting-permission)",
)
def openab_permission_without_an_outcome(c: Conversation) -> list[int]:
    """The answers to permission requests are a bare optionId, without the outcome around it."""
    c.start(
        "claude-agent-acp",
        "2026-04-07T13:47:38",
        client=("openab", "0.6.4"),
        agent=("@zed-industries/claude-agent-acp", "0.24.2"),
        client_ids="from 1",
        client_order=RUST,
    )
    c.initialize({}, {**LOADS, "mcpCapabilities": {"http": True, "sse": True}})
    session = c.open("/srv/agent", modes=modes("default", "acceptEdits", "plan"))
    c.turn(session, "Are you alive?", "Yes.")
    asked = c.prompt(session, "List the files.")
    number = c.call(session, "`ls`", "execute", rawInput={"command": "ls"})
    need = c.permit(session, number, title="`ls`", rawInput={"command": "ls"})
    broken = c.answer(need, {"optionId": "allow_always"}, 0.9)
    c.progress(session, number, "failed", content=said("User refused permission to run tool"))
    number = c.call(session, "`find .`", "execute", rawInput={"command": "find ."})
    need = c.permit(session, number, title="`find .`", rawInput={"command": "find ."})
    second = c.answer(need, {"optionId": "allow_always"}, 0.8)
    c.progress(session, number, "failed", content=said("User refused permission to run tool"))
    c.stream(session, "I was not permitted to look.")
    c.stop(asked)
    c.leave()
    return [broken, second]


@report(
    "MoonshotAI/kimi-code#426",
    "ACP 自定义客户端工具被自动拒绝（新旧版 optionId 不兼容）",
    "client",
    f"selected with an optionId: the ID of the selected permission option ({V1}tool-calls"
    "#requesting-permission)",
)
def kimi_option_that_was_not_offered(c: Conversation) -> list[int]:
    """The client chooses an option by an id that an older agent used and this one did not offer."""
    c.start(
        "kimi acp",
        "2026-06-04T06:03:15",
        client=("custom", "1.0.0"),
        agent=("Kimi Code", "0.9.0"),
        client_ids="from 1",
        cwd="C:\\work\\shop",
    )
    c.initialize({}, {**LOADS, "sessionCapabilities": {"list": {}, "resume": {}}})
    session = c.open(modes=modes("default", "plan", "yolo"))
    asked = c.prompt(session, "Print the version of node.")
    options = [
        {"optionId": "approve_once", "name": "Approve once", "kind": "allow_once"},
        {"optionId": "approve_always", "name": "Approve always", "kind": "allow_always"},
        {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
    ]
    number = c.call(session, "Bash", "execute", rawInput={"command": "node --version"})
    c.choose(c.permit(session, number, options), "approve_once")
    c.progress(session, number, "completed", content=said("v24.4.1"))
    number = c.call(session, "Bash", "execute", rawInput={"command": "npm --version"})
    broken = c.choose(c.permit(session, number, options), "approve_for_session")
    c.progress(session, number, "failed", content=said("rejected by the user"))
    c.stream(session, "node is v24.4.1; I was not allowed to ask npm.")
    c.stop(asked)
    c.leave()
    return [broken]


@report(
    "xenodium/acp.el#6",
    "Responses with `:error` are sent as a successful empty result",
    "client",
    f"ReadTextFileResponse: content is required ({SCHEMA}; {V1}file-system#reading-files); errors"
    f" include an error object ({V1}overview#error-handling)",
)
def acp_el_error_sent_as_null(c: Conversation) -> list[int]:
    """A file that is not there is answered with a null result instead of an error."""
    c.start(
        "gemini --experimental-acp",
        "2026-01-17T12:20:09",
        client=("agent-shell", "0.29.1"),
        client_ids="from 1",
        client_order="jsonrpc method id params result",
        cwd="/srv/a",
    )
    c.initialize(FILES, {"loadSession": False, "promptCapabilities": {"image": True}})
    session = c.open()
    asked = c.prompt(session, "write text `hello` to file `a.txt`")
    c.think(session, "**Writing the file** I check it first.")
    number = c.call(session, "Writing to a.txt", "edit", locations=[{"path": "/srv/a/a.txt"}])
    need = c.need("fs/read_text_file", {"sessionId": session, "path": "/srv/a/a.txt"})
    broken = c.answer(need, None, 3.0)
    reason = "Cannot read properties of undefined (reading 'indexOf')"
    c.progress(session, number, "failed", content=said(reason))
    c.stream(session, "I could not write the file.")
    c.stop(asked)
    c.leave()
    return [broken]


@report(
    "avante-corp/avante.nvim#2879",
    "bug: Switching to ACP provider from other providers not working",
    "client",
    "Before sending prompts, Clients MUST first complete the initialization phase and session setup"
    f" ({V1}prompt-turn)",
)
def avante_prompts_a_session_of_yesterday(c: Conversation) -> list[int]:
    """After initialize the client prompts a stored session that it neither made nor loaded."""
    c.start(
        "opencode acp",
        "2025-12-21T10:11:35",
        client=("avante.nvim", "0.0.27"),
        agent=("OpenCode", "1.0.184"),
        client_ids="from 1",
        client_order="params jsonrpc method id",
    )
    c.initialize({**FILES, "terminal": False}, LOADS)
    asked = c.prompt("ses_4c61d0a5fffeJt2HqgRr0nWb8M", "Explain this file.")
    error = c.refuse(asked, -32602, "Invalid params", {"details": "Session not found"}, 22.0)
    session = c.open(sid="ses_4c5fe0b19ffeT3x7ZcYq0LmV2K", modes=modes("build", "plan"))
    c.commands(session, "init")
    asked = c.prompt(session, "Explain this file.", 400.0)
    c.read(session, "/srv/shop/src/cart.ts", "export {};\n")
    c.stream(session, "It exports nothing yet.")
    c.stop(asked)
    c.leave()
    return [error - 1, error]


@report(
    "block/berd#326",
    'ACP session/new rejects Berd default cwd "~" as non-absolute',
    "client",
    f"cwd MUST be an absolute path ({V1}session-setup#working-directory)",
)
def berd_opens_in_a_tilde(c: Conversation) -> list[int]:
    """The working directory of a new session is a tilde."""
    c.start(
        "goose acp",
        "2026-09-15T15:55:04",
        client=("berd", "0.8.0"),
        agent=("goose", "1.50.1"),
        agent_ids="uuids",
        agent_order=RUST,
    )
    c.initialize({"terminal": False}, {**LOADS, "sessionCapabilities": {"list": {}}})
    asked = c.ask("session/new", {"cwd": "~", "mcpServers": []})
    error = c.refuse(asked, -32602, "Invalid params", "cwd must be an absolute path", 3.3)
    session = c.open("/home/berd/notes", sid="20260915_1", modes=modes("auto", "chat"))
    c.turn(session, "Hello", "Hello, which persona am I?")
    c.leave()
    return [asked.seq, error]


@report(
    "openabdev/openab#1318",
    "ACP: update protocolVersion to integer format per latest spec",
    "client",
    f"ProtocolVersion is an integer ({SCHEMA}; {V1}initialization#protocol-version)",
)
def openab_version_that_is_a_date(c: Conversation) -> list[int]:
    """The version in initialize is a date in a string; the agent refuses it."""
    c.start(
        "opencode acp",
        "2026-07-07T04:41:17",
        client=("openab", "0.9.0-beta.5"),
        agent=("OpenCode", "1.17.11"),
        client_ids="from 1",
    )
    asked = c.ask_initialize({}, version="2024-11-05")
    data = {
        "_errors": [],
        "protocolVersion": {"_errors": ["Invalid input: expected number, received string"]},
    }
    c.stderr("Error handling request: Invalid params", 5210.0)
    error = c.refuse(asked, -32602, "Invalid params", data, 1.1)
    c.leave()
    return [asked.seq, error]


@report(
    "zed-industries/zed#36687",
    "acp: Use `ResourceLink` for agents that don't support embedded context",
    "client",
    "Clients MUST restrict types of content according to the Prompt Capabilities established during"
    f" initialization ({V1}prompt-turn#1-user-message)",
)
def zed_embeds_what_it_may_only_link(c: Conversation) -> list[int]:
    """A prompt embeds a file, though the agent did not say that it takes embedded context."""
    c.start(
        "gemini --experimental-acp",
        "2025-08-21T16:02:28",
        client=("zed", "0.201.0"),
        client_order=RUST,
    )
    c.initialize({**FILES, "terminal": False}, {"promptCapabilities": {"image": True}})
    session = c.open()
    link = {"type": "resource_link", "uri": "file:///srv/shop/README.md", "name": "README.md"}
    asked = c.prompt(session, [{"type": "text", "text": "Read this: "}, link])
    c.read(session, "/srv/shop/README.md", "# Shop\n")
    c.stream(session, "A title, nothing else.")
    c.stop(asked)
    resource = {
        "uri": "file:///srv/shop/src/cart.ts",
        "mimeType": "text/typescript",
        "text": "export {};\n",
    }
    blocks = [{"type": "text", "text": "And "}, {"type": "resource", "resource": resource}]
    asked = c.prompt(session, blocks)
    c.stream(session, "It exports nothing.")
    c.stop(asked)
    c.leave()
    return [asked.seq]


@report(
    "github/copilot-cli#4113",
    "ACP mode does not implement session/close — ACP clients cannot release sessions",
    "client",
    "If sessionCapabilities.close is not present, Clients MUST NOT attempt to call session/close"
    f" ({V1}session-setup#closing-active-sessions)",
)
def client_closes_what_cannot_be_closed(c: Conversation) -> list[int]:
    """The client calls session/close, which the agent did not offer, and gets method not found."""
    c.start(
        "copilot --acp --stdio",
        "2026-07-14T07:36:01",
        client=("multiplexer", "2.0.0"),
        agent=("Copilot", "1.0.71-0"),
        client_ids="from 1",
    )
    can = {"loadSession": True, "sessionCapabilities": {"list": {}}}
    c.initialize({}, can)
    session = c.open(modes=modes("agent", "plan"))
    other = c.open("/srv/blog", modes=modes("agent", "plan"))
    c.turn(session, "Hi", "Hi.")
    c.answer(c.ask("session/list", {}), {"sessions": [{"sessionId": session, "cwd": c.cwd}]})
    c.turn(other, "Hello", "Hello.")
    asked = c.ask("session/close", {"sessionId": session}, 30211.0)
    data = {"method": "session/close"}
    error = c.refuse(asked, -32601, '"Method not found": session/close', data)
    c.turn(other, "Still here?", "Still here.")
    c.leave()
    return [asked.seq, error]


@report(
    "zed-industries/codex-acp#177",
    "agent_client_protocol::rpc: failed",
    "client",
    "The client MUST NOT write anything to the agent's stdin that is not a valid ACP message"
    f" ({V1}transports#stdio)",
)
def noise_on_the_stdin_of_codex(c: Conversation) -> list[int]:
    """In the middle of a turn a fragment of another file's text is written to the agent."""
    c.start(
        "codex-acp",
        "2026-03-05T19:15:33",
        client=("backend", "0.5.0"),
        agent=("codex-acp", "0.9.2"),
        client_ids="from 1",
        agent_ids="uuids",
        agent_order=RUST,
    )
    c.initialize({}, {**LOADS, "sessionCapabilities": {"list": {}}})
    session = c.open(modes=modes("auto", "read-only", "full-access"))
    c.turn(session, "Hello", "Hello.")
    asked = c.prompt(session, "Reset the styles of lists.")
    c.think(session, "**Looking for the sheet**")
    c.read(session, "/srv/shop/app.css", "ul { margin: 0 }\n")
    broken = c.text("to-agent", "stitem parent node; a reset needs an explicit list-style", 411.0)
    log = "ERROR agent_client_protocol::rpc: failed to parse incoming message: "
    c.stderr(log + "expected value at line 1 column 1", 0.9)
    c.edit(session, "/srv/shop/app.css", "margin: 0", "margin: 0; list-style: none")
    c.stream(session, "Lists have no bullets now.")
    c.stop(asked)
    c.leave()
    return [broken]


@report(
    "anomalyco/opencode#48766",
    "ACP: `opencode acp` fails to parse Content-Length framing on stdio — empty initialize"
    " response, agents see empty turns",
    "client",
    "Messages are delimited by newlines; the client MUST NOT write anything to the agent's stdin"
    f" that is not a valid ACP message ({V1}transports#stdio)",
)
def client_frames_with_content_length(c: Conversation) -> list[int]:
    """The client frames its messages with headers, and gets no answer."""
    c.start(
        "opencode acp --cwd /srv/tmp",
        "2026-09-13T21:30:46",
        cwd="/srv/tmp",
    )
    message = (
        '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1,'
        ' "clientCapabilities": {"fs": {"read_text_file": true, "write_text_file": true},'
        ' "terminal": true}}}'
    )
    first = c.text("to-agent", f"Content-Length: {len(message)}", 4100.0, newline="\r\n")
    second = c.text("to-agent", "", 0.0, newline="\r\n")
    c.stderr("Failed to parse JSON message: Content-Length", 2.0)
    third = c.text("to-agent", message, 8002.0, newline="")
    return [first, second, third, *c.leave(0.3)]


@report(
    "textcortex/spritz#66",
    "fix(ui): gate ACP prompts on session bootstrap",
    "client",
    "Before sending prompts, Clients MUST first complete the initialization phase and session setup"
    f" ({V1}prompt-turn)",
)
def spritz_prompts_while_it_loads(c: Conversation) -> list[int]:
    """A prompt is sent while the session is still being loaded, and is refused."""
    c.start(
        "workspace-agent --acp",
        "2026-03-10T11:08:53",
        client=("spritz", "0.4.1"),
        agent=("workspace-agent", "1.2.0"),
    )
    c.initialize({}, {"loadSession": True})
    session = c.uuid()
    load = c.ask("session/load", {"sessionId": session, "cwd": c.cwd, "mcpServers": []})
    block = {"type": "text", "text": "Where were we?"}
    c.update(session, "user_message_chunk", 620.0, content=block)
    asked = c.prompt(session, "Go on, please.", 184.0)
    c.update(session, "agent_message_chunk", content={"type": "text", "text": "At the cart."})
    error = c.refuse(asked, -32600, "session is not ready", after=2.2)
    c.answer(load, {"modes": modes("default")}, 14.0)
    c.turn(session, "Go on, please.", "The cart is next: it loses its currency.")
    c.leave()
    return [asked.seq, error]


@report(
    "langchain-ai/deepagents#6138",
    "bug(acp): session/set_mode accepts mode IDs that were never advertised",
    "client",
    f"modeId must be one of the modes listed in availableModes ({V1}session-modes#from-the-client)",
)
def deepagents_mode_that_is_not_listed(c: Conversation) -> list[int]:
    """The client sets a mode that the session does not have; the agent lets it."""
    c.start(
        "deepagents-acp",
        "2026-09-08T17:17:19",
        client=("script", "0.1.0"),
        agent=("deepagents", "0.3.2"),
        agent_style="spaced-ascii",
    )
    c.initialize({}, {})
    session = c.open(modes=modes("mode_a", "mode_b"))
    params = {"sessionId": session, "modeId": "mode_b"}
    c.answer(c.ask("session/set_mode", params), {})
    c.turn(session, "Hello", "Hello from mode b.")
    params = {"sessionId": session, "modeId": "does-not-exist"}
    asked = c.ask("session/set_mode", params, 4100.0)
    c.answer(asked, {})
    c.turn(session, "Hello", "Hello.")
    c.leave()
    return [asked.seq]


@report(
    "yetone/alma-releases#76",
    "[Bug] ACP session/new 的 mcpServers[].env 以对象而非 [{name,value}] 数组发送，"
    "严格 ACP agent 直接拒连",
    "client",
    f"env: a list of name and value ({V1}session-setup#stdio-transport; {SCHEMA}, McpServerStdio)",
)
def alma_environment_that_is_an_object(c: Conversation) -> list[int]:
    """The environment of an MCP server is an object instead of a list, and the agent refuses it."""
    c.start(
        "grok agent stdio",
        "2026-09-14T02:09:41",
        client=("alma", "0.4.41"),
        agent=("grok", "1.0.30"),
        agent_order=RUST,
    )
    c.initialize(FILES, {"mcpCapabilities": {"http": True}})
    server = {"name": "computer-use", "command": "/opt/alma/mcp", "args": ["serve"], "env": {}}
    asked = c.ask("session/new", {"cwd": c.cwd, "mcpServers": [server]})
    data = "data did not match any variant of untagged enum McpServer"
    error = c.refuse(asked, -32602, "Invalid params", data)
    session = c.open()
    c.turn(session, "Hi", "Hi there.")
    c.leave()
    return [asked.seq, error]


@report(
    "openclaw/openclaw#76600",
    "ACP runtime sends string prompt to claude-agent-acp 0.31.4; sessions_spawn fails with"
    " ACP_TURN_FAILED",
    "client",
    f"prompt: ContentBlock[], required ({V1}prompt-turn#1-user-message)",
)
def openclaw_prompt_that_is_a_string(c: Conversation) -> list[int]:
    """The prompt is a string instead of a list of content blocks."""
    c.start(
        "claude-agent-acp",
        "2026-05-03T08:58:12",
        client=("openclaw", "2026.5.2"),
        agent=("@agentclientprotocol/claude-agent-acp", "0.31.4"),
        cwd="/srv/openclaw",
    )
    c.initialize(FILES, LOADS)
    session = c.open(modes=modes("default", "plan"))
    c.commands(session, "context")
    params: dict[str, Any] = {"sessionId": session, "prompt": "Summarise the inbox."}
    asked = c.ask("session/prompt", params, 910.0)
    data = {
        "_errors": [],
        "prompt": {"_errors": ["Invalid input: expected array, received string"]},
    }
    error = c.refuse(asked, -32602, "Invalid params", data, 0.9)
    c.turn(session, "Summarise the inbox.", "It is empty.")
    c.leave()
    return [asked.seq, error]


@report(
    "olimorris/codecompanion.nvim#2861",
    "[Bug]: Cursor ACP breaks on v19.0.0",
    "client",
    f"NewSessionRequest: cwd and mcpServers are required ({SCHEMA};"
    f" {V1}session-setup#creating-a-session)",
)
def codecompanion_leaves_the_servers_out(c: Conversation) -> list[int]:
    """session/new lacks the list of MCP servers, and the agent refuses it."""
    c.start(
        "cursor-agent acp",
        "2026-03-05T11:47:20",
        client=("CodeCompanion.nvim", "19.0.0"),
        client_ids="from 1",
        client_order="method jsonrpc id params",
    )
    auth = [{"id": "cursor_login", "name": "Cursor Login", "description": "Signs in"}]
    c.initialize(FILES, LOADS, auth=auth)
    c.answer(c.ask("authenticate", {"methodId": "cursor_login"}), {}, 512.0)
    asked = c.ask("session/new", {"cwd": c.cwd})
    data = {
        "_errors": [],
        "mcpServers": {"_errors": ["Invalid input: expected array, received undefined"]},
    }
    error = c.refuse(asked, -32602, "Invalid params", data, 4.0)
    c.leave()
    return [asked.seq, error]


@report(
    "xenodium/acp.el#1",
    "session/cancel must be a notification (not a request)",
    "client",
    "Clients MAY cancel an ongoing prompt turn at any time by sending a session/cancel notification"
    f" ({V1}prompt-turn#cancellation)",
)
def acp_el_cancels_with_a_request(c: Conversation) -> list[int]:
    """session/cancel comes with an id; the agent does not know such a request and ends its turn."""
    c.start(
        "gemini --experimental-acp",
        "2025-09-26T18:39:57",
        client=("agent-shell", "0.1.1"),
        client_ids="from 1",
        client_order="jsonrpc method id params",
    )
    c.initialize(FILES, {"loadSession": False})
    session = c.open()
    c.turn(session, "hello", "Hello!", "**Greeting**")
    asked = c.prompt(session, "Tell me a long story about a heron.")
    c.think(session, "**Inventing the heron**")
    c.stream(session, "Once there was a heron who")
    stopped = c.ask("session/cancel", {"sessionId": session}, 288.0)
    error = c.refuse(stopped, -32601, "Method not found", {"method": "session/cancel"})
    c.stream(session, "stood in the river until the river had gone.")
    c.stop(asked)
    c.leave()
    return [stopped.seq, error]


@report(
    "NousResearch/hermes-agent#9438",
    "ACP authenticate() accepts any method_id when any provider is configured",
    "client",
    f"methodId: the ID of an advertised authentication method ({V1}authentication)",
)
def client_authenticates_in_its_own_way(c: Conversation) -> list[int]:
    """The client authenticates by a method that was not offered; the agent accepts it."""
    c.start(
        "hermes acp",
        "2026-04-14T20:44:32",
        client=("script", "0.1.0"),
        agent=("hermes-agent", "0.10.0"),
        agent_style="spaced",
    )
    auth = [{"id": "openrouter", "name": "OpenRouter", "description": "Uses the stored key"}]
    c.initialize({}, {"loadSession": True}, auth=auth)
    asked = c.ask("authenticate", {"methodId": "totally-bogus"})
    c.answer(asked, {})
    session = c.open()
    c.turn(session, "Hello", "Hello.")
    c.leave()
    return [asked.seq]


@report(
    "zed-industries/zed#37128",
    "AI: Missing `jsonrpc` Version Property in `ACP`",
    "client",
    f'ACP uses JSON-RPC ({V1}transports), whose messages have jsonrpc: MUST be exactly "2.0"'
    " (https://www.jsonrpc.org/specification)",
)
def zed_leaves_the_version_marker_out(c: Conversation) -> list[int]:
    """The client's messages lack the member jsonrpc, and the agent refuses the first."""
    c.start("custom-agent", "2025-08-28T18:26:35", cwd="/srv/custom")
    params: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": FILES}
    c.stderr("custom-agent: waiting for a client", 120.0)
    first = c.message("to-agent", {"id": 0, "method": "initialize", "params": params}, 6.0)
    error = {"code": -32600, "message": "invalid version marker"}
    refused = c.message("to-client", {"jsonrpc": "2.0", "id": 0, "error": error}, 2.0)
    c.leave()
    return [first, refused]


@report(
    "BaseIntelligence/bounty-challenge#45992",
    '[BUG] [v0.0.7] cortex acp: ACP protocol method "session/update" is declared as protocol'
    " constant SESSION_UPDATE but returns -32601 Method not found",
    "client",
    f"session/update: a notification of the Agent to inform the Client of changes ({V1}overview"
    "#client)",
)
def client_sends_what_agents_send(c: Conversation) -> list[int]:
    """The client asks session/update of the agent, which goes the other way and is no request."""
    c.start(
        "cortex acp",
        "2026-04-04T16:16:44",
        client=("integrator", "0.1.0"),
        agent=("cortex", "0.0.7"),
        client_ids="from 1",
    )
    c.initialize({}, {"loadSession": True})
    session = c.open()
    c.turn(session, "Hello", "Hello.")
    update = {"sessionUpdate": "session_info_update", "title": "A better title"}
    asked = c.ask("session/update", {"sessionId": session, "update": update}, 900.0)
    error = c.refuse(asked, -32601, "Method not found: session/update")
    c.turn(session, "Bye", "Bye.")
    c.leave()
    return [asked.seq, error]

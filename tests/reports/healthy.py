"""Conversations that look suspicious and in which nobody broke the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reports.conversation import (
    EVERYTHING,
    FILES,
    LOADS,
    OPTIONS,
    RUST,
    Asked,
    at,
    modes,
    said,
)
from tests.reports.register import SCHEMA, V1, report

if TYPE_CHECKING:
    from tests.reports.conversation import Conversation

V2 = "https://agentclientprotocol.com/protocol/v2/"
NONE = "nothing is broken: "


@report(
    None,
    "A cancel that crosses the end of the turn, in both orders",
    None,
    NONE + "Clients MAY cancel an ongoing prompt turn at any time"
    f" ({V1}prompt-turn#cancellation); the turn was over when the notification arrived",
)
def cancel_crosses_the_end(c: Conversation) -> list[int]:
    """A cancel is sent a moment before the answer end_turn passes, another a moment after one."""
    c.start(
        "opencode acp",
        "2026-10-02T08:30:11",
        client=("agent-shell", "0.75.0"),
        agent=("OpenCode", "1.18.30"),
        client_ids="from 1",
        client_order="jsonrpc method id params",
    )
    c.initialize(FILES, LOADS)
    session = c.open(sid="ses_117b0cdbcffeQ0b4Xr", modes=modes("build", "plan"))
    asked = c.prompt(session, "What does the cart do?")
    c.read(session, "/srv/shop/src/cart.ts", "export {};\n")
    c.stream(session, "Nothing yet.")
    c.cancel(session, 0.9)
    c.stop(asked, after=0.3)
    asked = c.prompt(session, "And the checkout?")
    c.stream(session, "It is empty as well.")
    c.stop(asked, after=1.0)
    c.cancel(session, 0.4)
    c.turn(session, "Thanks", "You are welcome.")
    c.leave()
    return []


@report(
    "agentclientprotocol/kotlin-sdk#67",
    "Deserialization fails on usage_update",
    None,
    NONE + "session updates inform the Client of changes, also of commands, modes, options, usage"
    f" and the session's title, at any time ({V1}overview; {V1}slash-commands"
    "#dynamic-updates)",
)
def updates_between_the_turns(c: Conversation) -> list[int]:
    """Commands, usage, title, mode and options are updated while no prompt is open."""
    c.start(
        "opencode acp",
        "2026-02-20T11:35:41",
        client=("IntelliJ IDEA", "2026.1"),
        agent=("OpenCode", "1.2.10"),
        client_ids="from 1",
    )
    c.initialize(EVERYTHING, {**LOADS, "sessionCapabilities": {"list": {}}})
    option = {
        "id": "model",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": "small",
        "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
    }
    session = c.open(modes=modes("build", "plan"), configOptions=[option])
    c.commands(session, "init", after=3.0)
    cost = {"amount": 0, "currency": "USD"}
    c.update(session, "usage_update", 1.0, used=0, size=200000, cost=cost)
    c.turn(session, "Hello", "Hello!")
    c.update(session, "session_info_update", 83.0, title="Greeting", updatedAt=None)
    c.update(session, "usage_update", 2.0, used=812, size=200000, cost=cost)
    c.commands(session, "init", "review", after=41300.0)
    c.update(session, "current_mode_update", 12000.0, currentModeId="plan")
    changed = [{**option, "currentValue": "large"}]
    c.update(session, "config_option_update", 4.0, configOptions=changed)
    c.turn(session, "Plan the move.", "First the types, then the files.")
    c.update(
        session, "session_info_update", 79.0, title="The move", updatedAt="2026-02-20T11:41:02Z"
    )
    c.leave()
    return []


@report(
    "google-gemini/gemini-cli#17588",
    "ACP fs delegation: map RESOURCE_NOT_FOUND to ENOENT for readTextFile",
    None,
    NONE + f"-32002 Resource not found ({V1}error); the Client MUST create the file if it doesn't"
    f" exist ({V1}file-system#writing-files)",
)
def missing_file_is_not_found(c: Conversation) -> list[int]:
    """The agent reads a file that is not there, gets resource not found, and writes it."""
    c.start(
        "gemini --acp",
        "2026-01-26T09:12:00",
        client=("zed", "0.221.0"),
        client_order=RUST,
    )
    c.initialize({**FILES, "terminal": False}, LOADS)
    session = c.open()
    asked = c.prompt(session, "Write hello to a.txt")
    path = "/srv/shop/a.txt"
    number = c.call(session, "Writing to a.txt", "edit", locations=[{"path": path}])
    data = {"uri": path}
    for _ in range(2):
        need = c.need("fs/read_text_file", {"sessionId": session, "path": path})
        c.refuse(need, -32002, "Resource not found", data)
    change = [{"type": "diff", "path": path, "oldText": "", "newText": "hello"}]
    c.choose(c.permit(session, number, title="Writing to a.txt", content=change))
    params = {"sessionId": session, "path": path, "content": "hello"}
    c.answer(c.need("fs/write_text_file", params), {})
    c.progress(session, number, "completed", content=change)
    c.stream(session, "It is written.")
    c.stop(asked)
    c.leave()
    return []


@report(
    "carlos-algms/agentic.nvim#314",
    "fix(acp): dispatch unrecognized methods by request vs notification",
    None,
    NONE + "custom requests start with an underscore; who does not recognize one answers Method not"
    f" found, and unrecognized notifications are ignored ({V1}extensibility)",
)
def probes_of_extensions(c: Conversation) -> list[int]:
    """Both sides try extension methods that the other does not know, and notify of others."""
    c.start(
        "devin acp",
        "2026-08-15T14:04:27",
        client=("agentic.nvim", "0.9.0"),
        agent=("devin", "2.3.0"),
        agent_ids="uuids",
        agent_order=RUST,
    )
    c.initialize({**FILES, "terminal": False}, {"_meta": {"cognition.ai": {"mcp": True}}})
    probe = c.ask("_agentic.nvim/features", {"version": 2})
    c.refuse(probe, -32601, "Method not found", {"method": "_agentic.nvim/features"})
    session = c.open()
    c.notify("_cognition.ai/mcp/serversChanged", {"servers": []}, 31.0)
    need = c.need("_cognition.ai/buffers", {"sessionId": session}, 2.0)
    c.refuse(need, -32601, "Method not found")
    asked = c.prompt(session, "Hello")
    c.notify("_cognition.ai/mcp/serversChanged", {"servers": [{"name": "docs"}]})
    c.stream(session, "Hello.")
    c.stop(asked)
    c.tell("_agentic.nvim/opened", {"path": "/srv/shop/README.md"}, 900.0)
    c.turn(session, "Bye", "Bye.")
    c.leave()
    return []


@report(
    None,
    "The client leaves while nothing is open, and the agent stays until it is stopped",
    None,
    NONE + "the client closes stdin and terminates the subprocess"
    f" ({V1}transports#stdio); no request is open",
)
def client_leaves_in_peace(c: Conversation) -> list[int]:
    """The last turn is over, a tool of it was denied, stderr complains, and the client goes."""
    c.start(
        "claude-code-acp",
        "2026-03-30T16:28:45",
        client=("acpx", "0.3.1"),
        agent=("@zed-industries/claude-code-acp", "0.16.2"),
    )
    c.initialize(EVERYTHING, LOADS)
    session = c.open(modes=modes("default", "plan"))
    asked = c.prompt(session, "Remove the build directory.")
    number = c.call(session, "`rm -r build`", "execute", rawInput={"command": "rm -r build"})
    c.choose(c.permit(session, number), "reject")
    c.progress(session, number, "failed", content=said("The user refused."))
    c.stream(session, "All right, it stays.")
    c.stop(asked)
    c.stderr("Error: read EPIPE at Pipe.onStreamRead", 200.0)
    c.stderr("    at process.processTicksAndRejections", 0.1)
    asked = c.prompt(session, "List it instead.")
    c.shell(session, "ls build", "ls: build: No such file\n", 2)
    c.stream(session, "It is not even there.")
    c.stop(asked)
    c.stay()
    return []


@report(
    "anomalyco/opencode#42442",
    "ACP session/load response omits sessionId — breaks resume for Agent of Empires and any"
    " spec-compliant ACP client",
    None,
    NONE + f"LoadSessionResponse has no sessionId ({SCHEMA}); the conversation was replayed before"
    f" the answer ({V1}session-setup#loading-sessions)",
)
def load_replays_and_answers_briefly(c: Conversation) -> list[int]:
    """A loaded session replays its turns, tool calls and plan, and its answer has no session id.

    A second one is answered with null.
    """
    c.start(
        "opencode acp",
        "2026-08-13T10:20:30",
        client=("aoe", "1.13.1"),
        agent=("OpenCode", "1.18.18"),
    )
    c.initialize(FILES, LOADS)
    results: tuple[dict[str, Any] | None, ...] = ({"configOptions": []}, None)
    for result in results:
        session = c.uuid()
        params = {"sessionId": session, "cwd": c.cwd, "mcpServers": []}
        load = c.ask("session/load", params, 700.0)
        c.commands(session, "init")
        block = {"type": "text", "text": "Plan the move."}
        c.update(session, "user_message_chunk", 210.0, content=block)
        entries = [{"content": "Add a compiler", "priority": "high", "status": "pending"}]
        c.update(session, "plan", entries=entries)
        number = c.call(session, "Read tsconfig.json", "read")
        c.progress(session, number, "completed", content=said("{}"))
        block = {"type": "text", "text": "The plan is above."}
        c.update(session, "agent_message_chunk", content=block)
        c.answer(load, result)
        c.turn(session, "Go on.", "The compiler is added.")
    c.leave()
    return []


@report(
    None,
    "The client asks for version 2, the agent chooses version 1, and both speak version 1",
    None,
    NONE + "Otherwise, the Agent MUST respond with the latest version it supports"
    f" ({V1}initialization#version-negotiation)",
)
def version_is_negotiated_down(c: Conversation) -> list[int]:
    """The client offers version 2 and is answered with version 1."""
    c.start(
        "codex-acp",
        "2026-09-28T07:07:07",
        client=("kit", "0.2.3"),
        agent=("codex-acp", "2.6.0"),
        client_ids="uuids",
    )
    info = {"name": "kit", "version": "0.2.3"}
    params = {
        "protocolVersion": 2,
        "info": info,
        "capabilities": {},
        "clientInfo": info,
        "clientCapabilities": {"terminal": False},
    }
    asked = c.ask("initialize", params)
    result = {
        "protocolVersion": 1,
        "agentCapabilities": LOADS,
        "authMethods": [],
        "agentInfo": {"name": "codex-acp", "version": "2.6.0"},
    }
    c.answer(asked, result, 611.0)
    session = c.open(modes=modes("auto", "read-only"))
    asked = c.prompt(session, "Which version is this?")
    c.shell(session, "git describe", "v0.2.3\n")
    c.stream(session, "v0.2.3.")
    c.stop(asked)
    c.leave()
    return []


@report(
    "olimorris/codecompanion.nvim#3367",
    "[Bug]: ACP: chat-with-prompt fires two concurrent session/new; stale resolver clobbers"
    " session_id and streamed responses are silently dropped",
    None,
    NONE + f"the id correlates request and response ({SCHEMA}, RequestId); nothing orders answers",
)
def answers_out_of_order(c: Conversation) -> list[int]:
    """Two sessions are asked for at once and answered in reverse; their turns overlap likewise."""
    c.start(
        "slow-agent --acp",
        "2026-09-20T12:45:09",
        client=("CodeCompanion.nvim", "19.4.0"),
        agent=("slow-agent", "0.0.1"),
        client_ids="from 1",
        client_order="method jsonrpc id params",
    )
    c.initialize({**FILES, "terminal": False}, {"loadSession": False})
    params: dict[str, Any] = {"cwd": c.cwd, "mcpServers": []}
    one = c.ask("session/new", params)
    two = c.ask("session/new", params, 14.0)
    first, second = c.uuid(), c.uuid()
    c.answer(two, {"sessionId": second}, 2002.0)
    ask_two = c.prompt(second, "Two?", 3.0)
    c.answer(one, {"sessionId": first}, 1.0)
    ask_one = c.prompt(first, "One?", 25.0)
    c.stream(first, "This is one.")
    c.stream(second, "This is two.")
    c.read(first, "/srv/shop/README.md", "# Shop\n")
    c.stop(ask_one)
    c.stream(second, "Still two.")
    c.stop(ask_two)
    c.leave()
    return []


@report(
    "managoat/fountain#957",
    "acp: permission request ids repeat, so the second card in a conversation is born resolved",
    None,
    NONE + f"an id is a String, Number or NULL ({SCHEMA}, RequestId); an id that was answered may"
    " come again, and each side numbers its own requests",
)
def ids_great_small_and_again(c: Conversation) -> list[int]:
    """Ids are zero, negative, beyond 2^53 and text; the agent's start from 0 in every turn."""
    c.start(
        "claude-agent-acp",
        "2026-08-22T19:02:10",
        client=("fountain", "0.12.0"),
        agent=("@agentclientprotocol/claude-agent-acp", "0.66.0"),
    )
    c.initialize({}, LOADS)
    session = c.open(modes=modes("default", "plan"))
    for turn in range(3):
        asked = c.prompt(session, f"Fetch page {turn}.")
        number = c.call(session, f"Fetch page {turn}", "fetch")
        params = {
            "sessionId": session,
            "toolCall": {"toolCallId": number, "title": f"Fetch page {turn}"},
            "options": OPTIONS,
        }
        need = c.request("to-client", "session/request_permission", params, 5.0, number=0)
        c.choose(need)
        c.progress(session, number, "completed", content=said("<html></html>"))
        c.stop(asked)
    block = [{"type": "text", "text": "Count."}]
    body: dict[str, Any] = {"sessionId": session, "prompt": block}
    for odd in (-7, "0", "Ω-été", "null"):
        asked = c.request("to-agent", "session/prompt", body, 2100.0, number=odd)
        c.stream(session, "One, two.")
        c.stop(asked)
    great = 2**63 - 1
    text = f'{{"jsonrpc":"2.0","id":{great},"method":"session/prompt","params":'
    text += f'{{"sessionId":"{session}","prompt":[{{"type":"text","text":"Count."}}]}}}}'
    c.text("to-agent", text, 2300.0)
    c.stream(session, "One, two, three.")
    c.text("to-client", f'{{"jsonrpc":"2.0","id":{great},"result":{{"stopReason":"end_turn"}}}}', 2)
    c.leave()
    return []


@report(
    None,
    "A permission that is answered after three quarters of an hour",
    None,
    NONE + "no time is set for the answer to a permission request, and sessions are independent"
    f" ({V1}tool-calls#requesting-permission)",
)
def permission_after_a_long_lunch(c: Conversation) -> list[int]:
    """One session waits 47 minutes for its user while another one goes on."""
    c.start(
        "claude-agent-acp",
        "2026-05-19T11:58:30",
        client=("zed", "1.2.0"),
        agent=("@agentclientprotocol/claude-agent-acp", "0.41.0"),
        client_ids="uuids",
    )
    c.initialize(EVERYTHING, LOADS)
    session = c.open(modes=modes("default", "plan"))
    other = c.open("/srv/blog", modes=modes("default", "plan"))
    asked = c.prompt(session, "Rename the table.")
    number = c.call(session, "Edit schema.sql", "edit")
    need = c.permit(session, number)
    c.turn(other, "Any drafts?", "One, on tea.")
    c.commands(session, "context")
    c.turn(other, "Publish it.", "I cannot, but here is the command.")
    c.choose(need, after=2821004.25)
    c.progress(session, number, "completed")
    c.stream(session, "The table is renamed.")
    c.stop(asked)
    c.leave()
    return []


@report(
    None,
    "A command is killed, and its terminal is read and released afterwards",
    None,
    NONE + "After killing a command, the terminal remains valid and can be used with"
    f" terminal/output and terminal/wait_for_exit ({V1}terminals#killing-commands)",
)
def terminal_after_the_kill(c: Conversation) -> list[int]:
    """A command runs into its time limit: kill, output, exit and release, in that order."""
    c.start(
        "fast-agent-acp",
        "2026-04-02T13:13:13",
        client=("toad", "0.6.0"),
        agent=("fast-agent", "0.10.4"),
        client_ids="from 1",
    )
    c.initialize(EVERYTHING, {})
    session = c.open()
    asked = c.prompt(session, "Start the server and see what it says.")
    number = c.call(session, "npm start", "execute", rawInput={"command": "npm start"})
    terminal = c.terminal(session, "npm start")
    content = [{"type": "terminal", "terminalId": terminal}]
    c.progress(session, number, "in_progress", content=content)
    wait = c.need("terminal/wait_for_exit", at(session, terminal))
    partial = {"output": "listening\n", "truncated": False}
    c.answer(c.need("terminal/output", at(session, terminal), 5000.0), partial)
    c.answer(c.need("terminal/kill", at(session, terminal), 25000.0), {})
    c.answer(wait, {"exitCode": None, "signal": "SIGTERM"}, 31.0)
    status = {"exitCode": None, "signal": "SIGTERM"}
    final = {"output": "listening\nbye\n", "truncated": True, "exitStatus": status}
    c.answer(c.need("terminal/output", at(session, terminal)), final)
    c.answer(c.need("terminal/wait_for_exit", at(session, terminal)), status)
    c.answer(c.need("terminal/release", at(session, terminal)), {})
    c.progress(session, number, "failed", content=said("stopped after 30 s"))
    c.stream(session, "It listens; I stopped it after half a minute.")
    c.stop(asked)
    c.leave()
    return []


@report(
    None,
    "Batches over a connection of version 2",
    None,
    NONE + "A client or agent MAY send an array filled with Request objects"
    f" ({V2}transports#json-rpc-batch-messages)",
)
def batches_in_version_2(c: Conversation) -> list[int]:
    """Requests and notifications come in batches, and their answers in another order."""
    c.start("agy-acp --v2", "2026-09-11T09:41:00", cwd="/srv/shop")
    params: dict[str, Any] = {
        "protocolVersion": 2,
        "info": {"name": "draft-client", "version": "0.2.0"},
        "capabilities": {},
    }
    asked = c.ask("initialize", params)
    result: dict[str, Any] = {
        "protocolVersion": 2,
        "info": {"name": "agy-acp", "version": "1.0.0"},
        "capabilities": {"session": {"prompt": {}}},
        "authMethods": [],
    }
    c.answer(asked, result, 480.0)
    session = c.open()
    c.message(
        "to-agent",
        [
            {"jsonrpc": "2.0", "id": "a", "method": "session/list", "params": {}},
            {"jsonrpc": "2.0", "method": "_draft/opened", "params": {"path": "/srv/shop/a"}},
            {"jsonrpc": "2.0", "id": "b", "method": "session/list", "params": {"cwd": c.cwd}},
        ],
    )
    listed = {"sessions": [{"sessionId": session, "cwd": c.cwd}]}
    c.message(
        "to-client",
        [
            {"jsonrpc": "2.0", "id": "b", "result": listed},
            {"jsonrpc": "2.0", "id": "a", "result": listed},
        ],
    )
    asked = c.prompt(session, "Hello")
    c.answer(asked, {"messageId": "msg_u1"})
    block = {"type": "text", "text": "Hello"}
    c.update(session, "user_message", messageId="msg_u1", content=[block])
    c.update(session, "state_update", state="running")
    first, second = {"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}
    c.message(
        "to-client",
        [
            {
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {
                    "sessionId": session,
                    "update": {
                        "sessionUpdate": "agent_message_chunk",
                        "messageId": "msg_a1",
                        "content": piece,
                    },
                },
            }
            for piece in (first, second)
        ],
        340.0,
    )
    c.update(session, "state_update", state="idle", stopReason="end_turn")
    c.leave()
    return []


@report(
    None,
    "Other alphabets, empty texts and the paths of Windows",
    None,
    NONE + f"JSON-RPC messages MUST be UTF-8 encoded ({V1}transports); C:\\ begins an absolute path"
    f" ({V1}overview#argument-requirements)",
)
def alphabets_and_drives(c: Conversation) -> list[int]:
    """Text is empty, of many scripts or of control characters; paths have drives and UNC names."""
    c.start(
        "vibe-acp",
        "2026-06-30T23:59:58",
        client=("zed", "1.8.0"),
        agent=("mistral-vibe", "3.0.1"),
        client_style="ascii",
        agent_style="spaced",
        cwd="C:\\Users\\dev\\Größe",
    )
    c.initialize({**FILES, "terminal": False}, LOADS)
    session = c.open("C:\\Users\\dev\\Größe", sid="会话-😀-١", modes=modes("défaut"))
    c.stderr("ローディング… \u001b[32mok\u001b[0m", 10.0)
    asked = c.prompt(session, "Schreibe «Grüße, мир, 你好, 👩‍👩‍👧» in die Datei\u2028\u202e\u0007")
    c.update(session, "agent_message_chunk", content={"type": "text", "text": ""})
    c.read(session, "C:\\Users\\dev\\Größe\\ä.txt", "")
    c.edit(session, "\\\\server\\share\\new name.txt", None, "Grüße\r\n")
    c.edit(session, "D:/data/наш.txt", "", "你好")
    c.stream(session, "Fertig: « Grüße »  👍🏽 \t\n")
    c.stop(asked)
    c.leave()
    return []


@report(
    "get-bb/bb#3560",
    "ACP bridge: fs/write_text_file responds result:null which Devin's ACP client rejects (-32700"
    " Parse error)",
    None,
    NONE + "the answers to fs/write_text_file, session/set_mode and terminal/release have no"
    f" required members ({SCHEMA}), and null where an empty object is meant is accepted",
)
def empty_results_are_null(c: Conversation) -> list[int]:
    """Wherever an empty result is due, null is sent; the agent takes one for a failure."""
    c.start(
        "devin acp",
        "2026-09-12T08:24:39",
        client=("bb", "0.14.0"),
        agent=("devin", "2.4.1"),
        agent_ids="uuids",
        agent_order=RUST,
    )
    auth = [{"id": "key", "name": "Key", "description": None}]
    c.initialize(EVERYTHING, {**LOADS, "promptCapabilities": {}}, auth=auth)
    c.answer(c.ask("authenticate", {"methodId": "key"}), None)
    session = c.open(modes=modes("code", "ask"), configOptions=None)
    c.answer(c.ask("session/set_mode", {"sessionId": session, "modeId": "ask"}), None)
    asked = c.prompt(session, "Write a.txt")
    number = c.call(session, "file_write a.txt", "edit")
    params = {"sessionId": session, "path": "/srv/shop/a.txt", "content": "a\n"}
    c.answer(c.need("fs/write_text_file", params), None)
    c.progress(session, number, "failed", content=said("Failed to write file: Parse error"))
    number = c.call(session, "exec ls", "execute")
    terminal = c.terminal(session, "ls")
    c.finish(session, terminal, "a.txt\n")
    c.answer(c.need("terminal/release", at(session, terminal)), None)
    c.progress(session, number, "completed")
    c.stream(session, "It is there after all.")
    c.stop(asked)
    c.leave()
    return []


@report(
    "omnigent-ai/omnigent#7281",
    "[Bug] Grok Build ACP session/new fails with Authentication required unless the client calls"
    " authenticate",
    None,
    NONE + "an Agent that needs authentication answers auth_required, and the Client authenticates"
    f" with an advertised method ({V1}authentication)",
)
def authentication_when_it_is_asked_for(c: Conversation) -> list[int]:
    """session/new is refused until the client has authenticated; then it succeeds."""
    c.start(
        "grok agent stdio",
        "2026-09-13T06:50:16",
        client=("omnigent", "0.7.0"),
        agent=("grok", "1.0.30"),
        client_ids="from 1",
        agent_order=RUST,
    )
    auth = [
        {"id": "cached_token", "name": "Cached token", "description": "The last login"},
        {"id": "grok.com", "name": "Browser", "description": "Opens a page"},
    ]
    c.initialize({}, {"loadSession": True}, auth=auth)
    params: dict[str, Any] = {"cwd": c.cwd, "mcpServers": []}
    c.refuse(c.ask("session/new", params), -32000, "Authentication required")
    c.answer(c.ask("authenticate", {"methodId": "cached_token"}), {}, 402.0)
    session = c.open()
    c.turn(session, "Hello", "Hello.")
    c.leave()
    return []


@report(
    None,
    "A cancel while permission is asked, answered as it should be",
    None,
    NONE + "The Client MUST respond to all pending session/request_permission requests with the"
    f" cancelled outcome; updates may come until the answer ({V1}prompt-turn#cancellation)",
)
def cancelled_in_the_middle_of_a_question(c: Conversation) -> list[int]:
    """The turn is cancelled, the question too, updates still come, and the turn ends cancelled."""
    c.start(
        "gemini --acp",
        "2026-10-11T10:10:10",
        client=("obsidian-agent-client", "1.6.0"),
        agent=("gemini-cli", "0.61.0"),
        cwd="/srv/vault",
    )
    c.initialize(EVERYTHING, LOADS)
    session = c.open(modes=modes("default", "yolo"))
    asked = c.prompt(session, "Tidy the vault.")
    number = c.call(session, "Edit index.md", "edit")
    other = c.call(session, "Edit tags.md", "edit")
    needs: list[Asked] = [c.permit(session, number), c.permit(session, other)]
    c.cancel(session, 4100.0)
    for need in needs:
        c.answer(need, {"outcome": {"outcome": "cancelled"}}, 0.4)
    c.progress(session, number, "failed", content=said("cancelled"))
    c.update(session, "agent_message_chunk", content={"type": "text", "text": "Stopp"})
    c.stop(asked, "cancelled")
    c.turn(session, "Never mind.", "All right.")
    c.leave()
    return []

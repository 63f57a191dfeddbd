"""Reports in which the agent broke the course of a conversation: answers, turns, terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reports.conversation import EVERYTHING, FILES, LOADS, OPTIONS, RUST, at, modes, said
from tests.reports.register import SCHEMA, V1, report

if TYPE_CHECKING:
    from tests.reports.conversation import Conversation


@report(
    "google-antigravity/antigravity-cli#1041",
    "[Bug]: AGY ACP server streams the final agent message but never sends the session/prompt"
    " response",
    "agent",
    f"the turn ends and the Agent MUST respond to the original session/prompt request with a"
    f" StopReason ({V1}prompt-turn#4-check-for-completion)",
)
def antigravity_prompt_never_answered(c: Conversation) -> list[int]:
    """The whole final message of the second turn arrives, the prompt's answer never does.

    A session/cancel nineteen minutes later has no effect either.
    """
    c.start(
        "antigravity-acp",
        "2026-09-17T17:41:08",
        client=("pylon", "0.9.3"),
        agent=("antigravity-acp", "1.1.1"),
        client_ids="from 1",
    )
    can = {
        "mcpCapabilities": {"http": True},
        "sessionCapabilities": {"resume": {}, "list": {}},
    }
    c.initialize({**FILES, "terminal": False}, can)
    session = c.uuid()
    server = {
        "type": "http",
        "name": "pylon",
        "url": "http://127.0.0.1:8791/mcp",
        "headers": [],
    }
    params = {"sessionId": session, "cwd": c.cwd, "mcpServers": [server]}
    c.answer(c.ask("session/resume", params), {}, 731.5)
    c.commands(session, "plan", "skills")
    c.turn(
        session,
        "Which tests fail at the moment?",
        "Two tests of the cart fail: the total ignores the discount, and the currency is lost.",
        "I should look.",
    )
    asked = c.prompt(session, "Repair both and tell me what you changed.")
    c.read(session, "/srv/shop/src/cart.ts", "export const total = (lines) => 0;\n")
    c.edit(session, "/srv/shop/src/cart.ts", "=> 0", "=> lines.reduce(sum, 0)")
    c.shell(session, "npm test --silent", "41 passed\n")
    c.think(session, "All green, so I can sum up.")
    c.stream(
        session,
        "Both tests pass now. The total applies the discount before rounding, and the currency is"
        " kept beside the lines.",
    )
    last = c.update(session, "usage_update", 41.7, used=48211, size=1048576)
    stopped = c.cancel(session, 1140211.4)
    return [asked.seq, stopped, last, *c.leave(45108.2)]


@report(
    "aaif-goose/goose#5087",
    "ACP: JSONRPC id's can be a string or integer",
    "agent",
    "id: an identifier established by the Client that MUST contain a String, Number, or NULL"
    f" value; the Server MUST reply with the same value ({SCHEMA}, RequestId)",
)
def goose_string_id_unanswered(c: Conversation) -> list[int]:
    """The client numbers its requests with strings; the agent only logs that it cannot read."""
    c.start(
        "goose acp",
        "2025-10-09T02:28:13",
        client=("eclipse", "0.1.0"),
        client_ids="texts",
        cwd="/srv/eclipse-mcp",
    )
    c.stderr("Goose ACP agent started. Listening on stdio...", 210.0)
    asked = c.ask_initialize({**EVERYTHING})
    log = "  ERROR agent_client_protocol::rpc: failed to parse incoming message: "
    c.stderr(log + 'invalid type: string "1", expected i32 at line 1 column 25', 1.2)
    return [asked.seq, *c.leave(30004.0)]


@report(
    "anomalyco/opencode#17505",
    "session/update notifications sent after session/prompt response (end_turn)",
    "agent",
    "it MUST ensure that it does so [sends session/update] before responding to the session/prompt"
    f" request ({V1}prompt-turn#cancellation); the response ends the turn"
    f" ({V1}prompt-turn#4-check-for-completion)",
)
def opencode_chunk_after_the_answer(c: Conversation) -> list[int]:
    """The tail of the answer's text arrives as chunks just after the prompt's response."""
    c.start(
        "opencode acp",
        "2026-06-12T09:02:44",
        client=("agent-shell", "0.50.1"),
        agent=("OpenCode", "1.15.0"),
        client_ids="from 1",
        client_order="jsonrpc method id params",
    )
    c.initialize(FILES, {**LOADS, "sessionCapabilities": {"list": {}, "resume": {}}})
    session = c.open(sid="ses_143854e16ffet8E0j59kYRgaFW", modes=modes("build", "plan"))
    c.commands(session, "init", "review", "compact")
    c.turn(session, "What is this repository?", "A shop: a cart, a checkout and a small admin.")
    asked = c.prompt(session, "Explain the checkout in detail.")
    c.think(session, "Long answer. I will go through the steps.")
    c.read(session, "/srv/shop/src/checkout.ts", "export async function checkout() {}\n")
    c.stream(
        session,
        "The checkout has four steps. First the cart is frozen, then the stock is reserved, then"
        " the payment is taken, and at last a mail is",
    )
    answer = c.stop(asked, after=3.1)
    piece = {"type": "text", "text": " sent to the"}
    late = c.update(
        session, "agent_message_chunk", 1.6, messageId="msg_ebce90c09001", content=piece
    )
    piece = {"type": "text", "text": " customer."}
    more = c.update(
        session, "agent_message_chunk", 0.2, messageId="msg_ebce90c09001", content=piece
    )
    c.turn(session, "And refunds?", "Refunds are made by hand in the admin.")
    c.leave()
    return [late, more, answer]


@report(
    "agentclientprotocol/codex-acp#365",
    "out of turn",
    "agent",
    "If there are no pending tool calls, the turn ends and the Agent MUST respond"
    f" ({V1}prompt-turn#4-check-for-completion); updates have to be sent before responding"
    f" ({V1}prompt-turn#cancellation)",
)
def codex_tool_output_after_the_turn(c: Conversation) -> list[int]:
    """A command still runs when the turn ends, and its output goes on arriving as updates."""
    c.start(
        "codex-acp",
        "2026-08-05T14:20:31",
        client=("agent-shell", "0.71.2"),
        agent=("codex-acp", "2.1.0"),
        client_ids="from 1",
        client_order="jsonrpc method id params",
    )
    c.initialize(FILES, {**LOADS, "mcpCapabilities": {"http": True}})
    session = c.open(modes=modes("auto", "read-only", "full-access"))
    c.turn(session, "Hello", "Hello! What shall we do today?")
    asked = c.prompt(session, "Start the login service in the background and end your turn.")
    number = c.call(session, "run ./login --serve", "execute", rawInput={"command": "./login"})
    c.progress(session, number, "in_progress")
    c.stream(session, "The service is starting.")
    answer = c.stop(asked)
    output = {"terminal_output_delta": {"data": "listening\r\n", "terminal_id": number}}
    late = c.update(session, "tool_call_update", 2318.4, toolCallId=number, _meta=output)
    more = c.progress(session, number, "completed", 9711.0)
    c.turn(session, "Thanks", "You are welcome.")
    c.leave()
    return [late, more, answer]


@report(
    "agentclientprotocol/claude-agent-acp#866",
    "Async sub-agent stranded at turn settlement — frozen mid-tool-call on an out-of-turn"
    " permission request, promised result undeliverable",
    "agent",
    "If there are no pending tool calls, the turn ends"
    f" ({V1}prompt-turn#4-check-for-completion); permission is asked within the turn, before"
    f" proceeding with execution ({V1}prompt-turn#5-tool-invocation-and-status-reporting)",
)
def claude_asks_after_the_turn(c: Conversation) -> list[int]:
    """A background sub-agent asks for permission forty seconds after the turn has ended."""
    c.start(
        "claude-agent-acp",
        "2026-07-12T10:15:02",
        client=("companion", "3.2.0"),
        agent=("@agentclientprotocol/claude-agent-acp", "0.58.1"),
    )
    c.initialize({}, {**LOADS, "sessionCapabilities": {"close": {}, "list": {}}})
    session = c.open(modes=modes("default", "plan", "acceptEdits"))
    c.commands(session, "context", "review")
    other = c.open("/srv/blog", modes=modes("default", "plan", "acceptEdits"))
    c.turn(other, "Which generator does the blog use?", "A static one, written in Go.")
    asked = c.prompt(session, "Let a sub-agent explore the project while I make tea.")
    task = c.call(session, "Task: explore the project", "think")
    c.progress(session, task, "completed", content=said("Async agent launched"))
    inner = c.call(session, "`du -sh src`", "execute", rawInput={"command": "du -sh src"})
    c.stream(session, "The agent is exploring. I will send the summary as soon as it is done.")
    answer = c.stop(asked, after=6.3)
    need = c.need(
        "session/request_permission",
        {
            "sessionId": session,
            "toolCall": {"toolCallId": inner, "title": "`du -sh src`", "kind": "execute"},
            "options": OPTIONS,
        },
        40218.9,
    )
    c.choose(need, "reject", 21380.0)
    late = c.progress(session, inner, "failed", 12.0)
    c.turn(session, "Where is my summary?", "I do not have it, sorry. Shall I look myself?")
    c.leave()
    return [need.seq, answer, late]


@report(
    "github/copilot-cli#4561",
    'ACP: session/cancel is answered with stopReason "end_turn" instead of "cancelled"',
    "agent",
    "the Agent MUST respond to the original session/prompt request with the cancelled stop reason"
    f" ({V1}prompt-turn#cancellation)",
)
def copilot_cancel_ends_the_turn(c: Conversation) -> list[int]:
    """A turn that is cancelled while its command sleeps is answered with end_turn 26 ms later."""
    c.start(
        "copilot --acp --stdio",
        "2026-08-21T06:31:17",
        client=("supervisor", "1.0.0"),
        agent=("Copilot", "1.0.84"),
        client_ids="from 1",
        cwd="/srv/jobs",
    )
    c.initialize({}, {"loadSession": True, "promptCapabilities": {"image": True}})
    first = c.open(sid=c.uuid())
    second = c.open("/srv/blog")
    c.turn(first, "Say hello", "Hello.")
    asked = c.prompt(first, "Run: sleep 300")
    other = c.prompt(second, "List the open tasks.", 802.0)
    number = c.call(first, "sleep 300", "execute", rawInput={"command": "sleep 300"})
    c.progress(first, number, "in_progress")
    c.stream(second, "There are three: the feed, the tags and the search.")
    c.cancel(first, 30102.6)
    answer = c.stop(asked, after=26.4)
    c.stream(second, "The search is the oldest of them.")
    c.stop(other)
    c.turn(first, "Are you there?", "Yes, I am.")
    c.leave()
    return [answer]


@report(
    "agentclientprotocol/agent-client-protocol#171",
    "Cancel Prompt throws JSONRPC error w/ Gemini CLI",
    "agent",
    "Agents MUST catch these errors and return the semantically meaningful cancelled stop reason"
    f" ({V1}prompt-turn#cancellation)",
)
def gemini_cancel_answered_with_an_error(c: Conversation) -> list[int]:
    """A cancel before the first thought makes the agent answer with an internal error."""
    c.start(
        "gemini --experimental-acp",
        "2025-10-16T05:56:11",
        client=("eclipse", "0.1.0"),
        client_ids="texts",
        cwd="/srv/maps",
    )
    c.initialize({**FILES, "terminal": False}, {"loadSession": False})
    session = c.open()
    asked = c.prompt(session, "where is florida")
    c.cancel(session, 212.0)
    data = {"details": "The user aborted a request."}
    error = c.refuse(asked, -32603, "Internal error", data, 31.5)
    asked = c.prompt(session, "where is florida")
    c.think(session, "**Locating Florida** It is a state in the")
    c.cancel(session, 95.0)
    c.stop(asked, "cancelled", 44.0)
    c.turn(session, "where is texas", "Texas is in the south of the United States.", "Easy.")
    c.leave()
    return [error]


@report(
    "esengine/DeepSeek-Reasonix#3509",
    '[Bug]: ACP 客户端调用 `session/prompt` 后：`result.stopReason` 始终为 `"cancelled"',
    "agent",
    f"cancelled: The Client cancels the turn ({V1}prompt-turn#stop-reasons)",
)
def reasonix_cancelled_by_nobody(c: Conversation) -> list[int]:
    """Every turn ends with the stop reason cancelled, though the client never cancelled one."""
    c.start(
        "reasonix acp",
        "2026-06-08T03:12:09",
        client=("test", "1.0.0"),
        agent=("reasonix", "1.9.0"),
        client_ids="from 1",
        cwd="/srv/clawbot",
    )
    c.initialize({}, {})
    session = c.open()
    asked = c.prompt(session, "Say hello")
    c.stream(session, "Hello! How can I help you?")
    answer = c.stop(asked, "cancelled")
    asked = c.prompt(session, "Say hello again")
    c.stream(session, "Hello again!")
    second = c.stop(asked, "cancelled")
    c.leave()
    return [answer, second]


@report(
    "agentclientprotocol/claude-agent-acp#10",
    "Do not send tool_call_update for `TodoWrite`",
    "agent",
    f"ToolCallUpdate: an update to an existing tool call ({SCHEMA}; {V1}tool-calls#updating)",
)
def claude_updates_a_call_it_never_made(c: Conversation) -> list[int]:
    """The tasks are sent as a plan, and then a tool call that was never sent is completed."""
    c.start(
        "claude-code-acp",
        "2025-09-02T20:31:44",
        client=("zed", "0.203.0"),
    )
    c.initialize(FILES, {"promptCapabilities": {"image": True, "embeddedContext": True}})
    session = c.open()
    asked = c.prompt(session, "Plan the move to TypeScript.")
    c.stream(session, "I will write a plan.")
    entries = [
        {"content": "Add a compiler", "priority": "high", "status": "in_progress"},
        {"content": "Rename the files", "priority": "medium", "status": "pending"},
    ]
    c.update(session, "plan", entries=entries)
    todo = "toolu_01TodoWriteq7Xk2bPzJ5"
    broken = c.progress(session, todo, "completed", content=said("Todos have been modified"))
    c.read(session, "/srv/shop/package.json", '{"name": "shop"}\n')
    entries = [{**entries[0], "status": "completed"}, entries[1]]
    c.update(session, "plan", entries=entries)
    c.stream(session, "The compiler is there.")
    c.stop(asked)
    c.leave()
    return [broken]


@report(
    "clawbench-dev/clawbench#368",
    "Bug: opencode sessions intermittently fail (ACP agent SIGKILLed; session/load: peer"
    " disconnected before response)",
    "agent",
    "the turn ends and the Agent MUST respond to the original session/prompt request"
    f" ({V1}prompt-turn#4-check-for-completion)",
)
def opencode_killed_in_mid_turn(c: Conversation) -> list[int]:
    """The agent is killed while it writes an update: a line breaks off, the prompt stays open."""
    c.start(
        "opencode acp",
        "2026-08-15T13:11:40",
        client=("clawbench", "0.31.0"),
        agent=("OpenCode", "1.18.18"),
        cwd="/srv/clawbench",
    )
    c.initialize({}, {**LOADS, "sessionCapabilities": {"list": {}, "resume": {}}})
    session = c.open(sid="ses_13aa0e16bffe2QpTg", modes=modes("build", "plan"))
    other = c.open("/srv/blog", sid="ses_13aa0e11cffeWm4k", modes=modes("build", "plan"))
    c.turn(session, "What is this?", "A bench for coding agents.")
    c.turn(other, "And this?", "A blog.")
    asked = c.prompt(session, "Run the bench.")
    number = c.call(session, "go test -bench .", "execute", rawInput={"command": "go test"})
    c.progress(session, number, "in_progress")
    c.think(session, "That takes a while, I will wait for the")
    cut = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_13aa0e16b'
    torn = c.text("to-client", cut, 41903.0, newline="")
    return [asked.seq, torn, *c.die(0.7, signal=9, name="SIGKILL")]


@report(
    "NousResearch/hermes-agent#12285",
    "ACP: session/load does not replay conversation history per spec",
    "agent",
    "The Agent MUST replay the entire conversation to the Client in the form of session/update"
    f" notifications ({V1}session-setup#loading-sessions)",
)
def hermes_loads_without_a_replay(c: Conversation) -> list[int]:
    """A session with two turns is loaded, and only the commands come before the answer."""
    c.start(
        "hermes acp",
        "2026-04-18T19:07:25",
        client=("ts-client", "0.19.0"),
        agent=("hermes-agent", "0.10.0"),
        agent_style="spaced",
    )
    c.initialize({}, {"loadSession": True})
    session = c.open()
    c.commands(session, "help", "model", "reset")
    c.turn(session, "Remember the word heron.", "I will remember: heron.")
    asked = c.prompt(session, "Which files are here?")
    c.shell(session, "ls", "README.md\n")
    c.stream(session, "Only a readme.")
    c.stop(asked)
    params = {"sessionId": session, "cwd": c.cwd, "mcpServers": []}
    load = c.ask("session/load", params, 61200.0)
    c.commands(session, "help", "model", "reset", after=12.0)
    broken = c.answer(load, {}, 3.3)
    c.turn(session, "Which word was it?", "heron")
    c.leave()
    return [broken, load.seq]


@report(
    "XiaomiMiMo/MiMo-Code#499",
    "ACP session/prompt returns 'Session not found' for valid session ID",
    "agent",
    "The Agent MUST respond with a unique Session ID that identifies this conversation"
    f" ({V1}session-setup#creating-a-session); that of the prompt is the one it gave",
)
def mimo_does_not_know_its_session(c: Conversation) -> list[int]:
    """The agent refuses prompts in the session that it has just made."""
    c.start(
        "mimo acp",
        "2026-06-13T04:18:40",
        client=("test", "0.1.0"),
        agent=("OpenCode", "0.1.0"),
        cwd="/srv/tmp",
    )
    c.initialize({}, LOADS)
    session = c.open(sid="ses_1404ac6f2ffeBqXnW1vS2TgaKp", modes=modes("build", "plan"))
    c.commands(session, "init")
    asked = c.prompt(session, "hello")
    data = '{"error":"Session not found: ses_1404ac6f2ffeBqXnW1vS2TgaKp"}'
    error = c.refuse(asked, -32602, "Invalid params", data)
    again = c.prompt(session, "hello?")
    second = c.refuse(again, -32602, "Invalid params", data)
    c.leave()
    return [error, asked.seq, again.seq, second]


@report(
    "github/copilot-cli#3902",
    "ACP: authenticate returns success but session/new still fails with -32000 (in-band auth state"
    " never refreshes)",
    "agent",
    "After successful authentication, the Client can create new sessions without receiving an"
    f" auth_required error ({V1}authentication)",
)
def copilot_forgets_that_it_authenticated(c: Conversation) -> list[int]:
    """To authenticate succeeds, and session/new still says that authentication is required."""
    c.start(
        "copilot --acp --stdio",
        "2026-06-28T22:14:51",
        client=("probe", "1.0.0"),
        agent=("Copilot", "1.0.61"),
        client_ids="from 1",
    )
    auth = [{"id": "copilot-login", "name": "Log in with Copilot CLI", "description": "A page"}]
    c.initialize({}, {"loadSession": True}, auth=auth)
    params: dict[str, Any] = {"cwd": c.cwd, "mcpServers": []}
    c.refuse(c.ask("session/new", params), -32000, "Authentication required", after=88.0)
    done = c.answer(c.ask("authenticate", {"methodId": "copilot-login"}, 40312.0), {}, 611.0)
    asked = c.ask("session/new", params)
    error = c.refuse(asked, -32000, "Authentication required", after=81.0)
    again = c.ask("session/new", params, 5002.0)
    second = c.refuse(again, -32000, "Authentication required", after=79.0)
    c.leave()
    return [error, second, asked.seq, again.seq, done]


@report(
    "can1357/oh-my-pi#12435",
    "ACP: terminal/release is not sent after terminal output completes",
    "agent",
    "The Agent MUST release the terminal using terminal/release when it's no longer needed"
    f" ({V1}terminals#executing-commands)",
)
def omp_terminal_never_released(c: Conversation) -> list[int]:
    """A terminal is created, waited for and read, and never released."""
    c.start(
        "omp acp",
        "2026-09-18T07:20:14",
        client=("smoke", "1.0.0"),
        agent=("oh-my-pi", "18.2.4"),
        client_ids="from 1",
    )
    c.initialize({"terminal": True}, {"loadSession": True})
    session = c.open()
    asked = c.prompt(session, "Which branch is this?")
    c.shell(session, "git branch --show-current", "main\n")
    c.stream(session, "It is main.")
    c.stop(asked)
    asked = c.prompt(session, "Run: echo SMOKE")
    number = c.call(session, "`echo SMOKE`", "execute", rawInput={"command": "echo SMOKE"})
    terminal = c.terminal(session, "echo SMOKE")
    created = c.seq
    content = [{"type": "terminal", "terminalId": terminal}]
    c.progress(session, number, "in_progress", content=content)
    last = c.finish(session, terminal, "SMOKE\n")
    c.progress(session, number, "completed")
    c.stream(session, "SMOKE")
    answer = c.stop(asked)
    c.turn(session, "Thanks", "Sure.")
    return [created - 1, created, last, answer, *c.leave()]


@report(
    "shindgew/agy-acp#13",
    "session/update references evicted terminal: Terminal with id ... not found",
    "agent",
    "Embed a terminal created with terminal/create by its id. The terminal must be added before"
    f" calling terminal/release ({SCHEMA}, Terminal; {V1}terminals#releasing-terminals)",
)
def agy_embeds_a_released_terminal(c: Conversation) -> list[int]:
    """A later tool call carries the id of a terminal that was released before."""
    c.start(
        "agy-acp",
        "2026-07-25T16:42:30",
        client=("zed", "1.12.0"),
        agent=("agy-acp", "0.3.3"),
        client_ids="uuids",
        client_order=RUST,
    )
    c.initialize({**EVERYTHING}, {"loadSession": True})
    session = c.open()
    asked = c.prompt(session, "Build it.")
    number = c.call(session, "run_command make", "execute", rawInput={"command": "make"})
    terminal = c.terminal(session, "make")
    content = [{"type": "terminal", "terminalId": terminal}]
    c.progress(session, number, "in_progress", content=content)
    c.finish(session, terminal, "cc -o shop shop.c\n")
    c.answer(c.need("terminal/release", at(session, terminal)), {})
    c.progress(session, number, "completed")
    c.stream(session, "It is built.")
    c.stop(asked)
    asked = c.prompt(session, "Run it.")
    number = c.call(session, "run_command ./shop", "execute", rawInput={"command": "./shop"})
    broken = c.progress(session, number, "in_progress", content=content)
    second = c.progress(session, number, "completed", 611.0, content=content)
    c.stream(session, "It runs.")
    c.stop(asked)
    c.leave()
    return [broken, second]


@report(
    "agentclientprotocol/codex-acp#418",
    "fix: suppress late session updates after close",
    "agent",
    "The Agent MUST cancel any ongoing work for that session, then free the resources associated"
    f" with the session ({V1}session-setup#closing-active-sessions)",
)
def codex_updates_a_closed_session(c: Conversation) -> list[int]:
    """The commands of a session are announced after the answer to its session/close."""
    c.start(
        "codex-acp",
        "2026-08-20T09:17:28",
        client=("IntelliJ IDEA", "2026.2"),
        agent=("codex-acp", "2.3.1"),
        client_ids="from 1",
    )
    c.initialize(FILES, {**LOADS, "sessionCapabilities": {"close": {}, "list": {}}})
    session = c.open(modes=modes("auto", "read-only"))
    c.commands(session, "init", "review", "compact")
    c.turn(session, "Hello", "Hello.")
    short = c.open("/srv/blog", modes=modes("auto", "read-only"))
    closing = c.ask("session/close", {"sessionId": short}, 38.0)
    c.answer(closing, {}, 12.0)
    late = c.commands(short, "init", "review", "compact", after=71.0)
    c.turn(session, "Still there?", "Yes.")
    closing = c.ask("session/close", {"sessionId": session})
    c.answer(closing, {}, 9.0)
    c.leave()
    return [late]

"""Collects the permission requests of a recording and the answers to them."""

from bisect import bisect_left
from typing import Any

from acp_proxy.base.limits import LISTED, NAMED, PARTS
from acp_proxy.explain.audit.audit_values import Action, ActionKind, AuditedPermission, LastingGrant
from acp_proxy.explain.audit.paths import cut
from acp_proxy.explain.describe.phrases import Value, part, word
from acp_proxy.protocol.connection_state import Exchange
from acp_proxy.protocol.permissions import DENIED, GRANTED, options_of, read_answer

AMBIGUOUS, CANCELLED, UNANSWERED = "ambiguous", "cancelled", "unanswered"
"""Decisions about a permission request that are not in `protocol.permissions`."""
_LASTING = ("session", "workspace", "always")
"""The scopes of permissions in the 1.0 draft that cover more than one action."""
_ASKED = 200
"""The largest number of actions with a permission request that are remembered for a turn."""


class PermissionLog:
    """Collects the permission requests of a recording while it is read.

    Attributes:
        any_asked: whether the agent ever asked for a permission.
    """

    def __init__(self) -> None:
        self.any_asked = False
        self._open: dict[int, tuple[Action, AuditedPermission, list[Value]]] = {}
        self._asked: dict[str | None, tuple[int | None, list[Action]]] = {}
        self._grants: dict[tuple[str | None, ActionKind], list[LastingGrant]] = {}

    def ask(self, exchange: Exchange, action: Action, title: str, params: Value) -> None:
        """Adds a permission request.

        Args:
            exchange: the exchange of the request.
            action: the action that needs the permission, with all facts that are known so far.
            title: the title that the user sees for the request.
            params: the params of the request.
        """
        permission = AuditedPermission(
            exchange.request_seq, title, paths=[*action.paths], command=action.command
        )
        action.permissions.append(permission)
        del action.permissions[:-LISTED]
        options = [_trimmed(option) for option in options_of({"params": params})[:PARTS]]
        self._open[exchange.id] = action, permission, options
        turn, asked = self._asked.get(exchange.session, (exchange.turn, []))
        if turn != exchange.turn:
            asked = []
        if not asked or asked[-1] is not action:
            asked.append(action)
        self._asked[exchange.session] = exchange.turn, asked[-_ASKED:]

    def answer(self, exchange: Exchange, seq: int, message: Value) -> None:
        """Adds the client's answer to a permission request. Ignores all other answers.

        Args:
            exchange: the exchange that the answer completes.
            seq: the number of the frame with the answer.
            message: the answer, a whole message.
        """
        pending = self._open.pop(exchange.id, None)
        if pending is None:
            return
        action, permission, options = pending
        permission.answer_seq, permission.waited_ns = seq, exchange.latency_ns
        if exchange.outcome != "result":
            permission.decision = exchange.outcome
            return
        answer = read_answer(options, message)
        permission.decision = cut(answer.decision)
        if len({str(kind) for kind in answer.kinds}) > 1:  # different options have the same id
            permission.decision = AMBIGUOUS
        scope = word(part(message, "result"), "scope")
        if answer.granted is not None:  # 1.0 draft
            remembers = part(message, "result").get("remember") is True
            permission.option = scope or ("remembered" if remembers else None)
            permission.lasting = answer.granted and (remembers or scope in _LASTING)
        elif answer.has_outcome and not answer.is_cancelled:
            permission.option = cut(answer.kind)
            permission.name = _name(options, answer.option_id)
            permission.lasting = permission.option == "allow_always"
        if permission.decision == GRANTED and permission.lasting:
            session = None if scope in ("workspace", "always") else exchange.session
            self._grants.setdefault((session, action.kind), []).append(_grant(permission))

    def asked_in(self, session: str | None, turn: int | None) -> list[Action]:
        """Returns a turn's actions that have a permission request.

        Args:
            session: the id of the session.
            turn: the number of the turn. The result is empty if a later turn has permission
                requests.
        """
        newest, asked = self._asked.get(session, (None, []))
        return asked if newest == turn else []

    def grants_before(self, action: Action) -> list[LastingGrant]:
        """Returns the earlier permissions that may also cover an action.

        Most are lasting permissions. If the turn has permission requests for the same file or
        command, the latest of these is added if it was granted.
        """
        same = action.same_asked
        grants = [_grant(same)] if same is not None and same.decision == GRANTED else []
        for session in {action.session, None}:
            every = self._grants.get((session, action.kind), [])
            end = bisect_left(every, action.seq, key=lambda grant: grant.answer_seq)
            grants += every[max(0, end - NAMED) : end]
        once = {grant.seq: grant for grant in grants}
        return sorted(once.values(), key=lambda grant: grant.seq)[-NAMED:]


def is_refused(action: Action) -> bool:
    """Whether the most recent permission request for an action was refused or cancelled."""
    return bool(action.permissions) and action.permissions[-1].decision in (DENIED, CANCELLED)


def _grant(asked: AuditedPermission) -> LastingGrant:
    seq = asked.answer_seq or asked.seq
    return LastingGrant(asked.seq, seq, asked.option, asked.name, asked.title)


def _trimmed(option: Value) -> Value:
    return {name: option.get(name) for name in ("optionId", "kind", "name")}


def _name(options: list[Value], wanted: Any) -> str | None:
    names = (word(option, "name") for option in options if option.get("optionId") == wanted)
    return cut(next(names, "")) or None

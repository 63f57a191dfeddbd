"""The options of a replay."""

from attrs import frozen

from acp_proxy.engine.shared.playback_options import PlaybackOptions


@frozen(kw_only=True)
class ReplayOptions(PlaybackOptions):
    """How to play the recorded agent.

    Attributes:
        inert: whether the client may only be asked to read files and to ask a person.
        allow_outside: whether it may be asked to change files and run commands outside the
            directories that it named.
    """

    inert: bool = False
    allow_outside: bool = False

"""Groups that import a command when it is called, and report expected errors in one line."""

import contextlib
import errno
import importlib
import os
import sys
from pathlib import Path
from typing import Any

import click

from acp_proxy.capture.files import recordings_directory
from acp_proxy.cli.interruption import interruptible, is_interruption, uninterruptible
from acp_proxy.errors import AcpProxyError

CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "ACP_PROXY"}


class Refusal(click.ClickException):
    """An expected failure: one line on stderr, exit code 2."""

    exit_code = 2

    def show(self, _file: object = None) -> None:
        """Prints the line."""
        from acp_proxy.cli.render.output import warn

        warn(self.format_message())


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called; expected errors are one line.

    Args:
        lazy: where each command lives, ``module:name``, by its word.
    """

    def __init__(self, *args: Any, lazy: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Reads the group's own options.

        Args:
            *args: see `click.BaseCommand.make_context`.
            **kwargs: see there.
        """
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as e:
            raise _refusal(e) from None

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Names the commands."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports a command; returns None if there is no such command.

        Args:
            ctx: the context of the group.
            cmd_name: the word that names the command.
        """
        if cmd_name not in self._lazy:
            return None
        module, _, name = self._lazy[cmd_name].partition(":")
        with uninterruptible(ctx):
            command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command."""
        try:
            with interruptible(ctx):
                result = super().invoke(ctx)
                sys.stdout.flush()
                return result
        except AcpProxyError as e:
            raise Refusal(str(e)) from None
        except click.UsageError as e:
            raise _refusal(e) from None
        except BrokenPipeError:  # `| head` has ended
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(0)
        except OSError as e:
            if e.errno != errno.ENOSPC or e.filename is not None:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise Refusal(f"cannot write the output: {e.strerror}") from None
        except BaseException as e:
            if not is_interruption(e):
                raise
            with contextlib.suppress(BrokenPipeError):
                sys.stdout.flush()
            sys.exit(130)


def _refusal(error: click.UsageError) -> Refusal:
    command = error.ctx.command_path if error.ctx else "acp-proxy"
    text = error.format_message().rstrip(".")
    return Refusal(f"{text[:1].lower()}{text[1:]}; see `{command} --help`")


def recordings() -> Path:
    """The recordings directory."""
    return Path(recordings_directory(os.environ))

"""Finds the word that names the agent in a command such as ``npx some-agent``.

The word becomes part of a recording's file name just before the agent is started. To save time,
this module imports nothing. A program that is not in `_RUNNERS` counts as the agent.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class _Runner:
    """A program that runs the command in its arguments.

    Args:
        subcommands: words that may precede the command, such as ``run`` in ``uv run``.
        valued: options whose value is the next word.
        skipped: the number of other words before the command, such as the duration of ``timeout``.
        script: the last letter of the options (such as ``-lc``) that precede a line of shell
            commands.
        code: options that precede the source text of a program; such a program has no name.
        module: options that precede the name of a module.
    """

    def __init__(
        self,
        subcommands: str = "",
        valued: str = "",
        *,
        skipped: int = 0,
        script: str = "",
        code: str = "",
        module: str = "",
    ) -> None:
        self.subcommands = subcommands
        self.valued = valued
        self.skipped = skipped
        self.script = script
        self.code = code
        self.module = module


_NODE = _Runner(valued="-r --require --import --loader --experimental-loader -C --conditions "
                "--env-file --title", code="-e --eval -p --print")  # fmt: skip
_PYTHON = _Runner(valued="-X -W --check-hash-based-pycs", code="-c", module="-m")
_SHELL = _Runner(valued="-o -O --rcfile --init-file", script="c")
_NPX = _Runner("exec x dlx run run-script tool", "-p --package -c --call -w --workspace --prefix "
               "--cache --registry --cwd -C --dir --filter -F")  # fmt: skip
_UV = _Runner("run tool x", "--from --with --with-editable --with-requirements -p --python "
              "--project --directory --env-file --extra --group --index --index-url -i "
              "--extra-index-url --default-index --cache-dir --config-file --color -c --constraints"
              " --overrides -w -f --find-links --spec --pip-args",
              module="-m --module")  # fmt: skip
_DOCKER = _Runner("container run exec", "-e --env --env-file -v --volume --mount -w --workdir -u "
                  "--user --name --network --net -p --publish --entrypoint -h --hostname -l --label"
                  " --platform --pull --add-host --cpus -m --memory --gpus --tmpfs --cap-add "
                  "--cap-drop --security-opt --runtime --context -H --host")  # fmt: skip
_RUNNERS = {
    "python": _PYTHON, "pypy": _PYTHON, "py": _PYTHON, "pythonw": _PYTHON,
    "node": _NODE, "nodejs": _NODE, "tsx": _NODE, "ts-node": _NODE,
    "bun": _Runner("run x", "-r --preload --cwd -c --config --env-file", code="-e --eval -p"),
    "deno": _Runner("run task", "-c --config --import-map --lock --env-file --cert"),
    "ruby": _Runner(valued="-I -r", code="-e"), "perl": _Runner(valued="-I", code="-e -E"),
    "java": _Runner(valued="-cp -classpath --class-path -p --module-path",
                    module="-m --module"),
    "dotnet": _Runner("run exec tool", "--project --framework -f"),
    "npx": _NPX, "npm": _NPX, "pnpm": _NPX, "pnpx": _NPX, "yarn": _NPX, "bunx": _NPX,
    "uv": _UV, "uvx": _UV, "pipx": _UV,
    "poetry": _Runner("run", "-C --directory -P --project"),
    "hatch": _Runner("run"), "pdm": _Runner("run", "-p"), "rye": _Runner("run"),
    "cargo": _Runner("run", "--bin --manifest-path -p --package --profile --features --target"),
    "go": _Runner("run tool", "-C -mod -tags -ldflags"),
    "nix": _Runner("run shell develop", "-c --command"),
    "docker": _DOCKER, "podman": _DOCKER,
    "env": _Runner(valued="-u --unset -C --chdir", script="S"),
    "sh": _SHELL, "bash": _SHELL, "dash": _SHELL, "zsh": _SHELL, "ksh": _SHELL, "fish": _SHELL,
    "nice": _Runner(valued="-n --adjustment"), "ionice": _Runner(valued="-c -n"),
    "stdbuf": _Runner(valued="-i -o -e"), "timeout": _Runner(valued="-k -s", skipped=1),
    "sudo": _Runner(valued="-u -g -C -D"), "doas": _Runner(valued="-u -C"),
    "direnv": _Runner("exec", skipped=1), "mise": _Runner("exec x"), "asdf": _Runner("exec"),
    "wsl": _Runner(valued="-d --distribution -u --user --cd"),
    "strace": _Runner(valued="-o -e -p -s"), "caffeinate": _Runner(valued="-t -w"),
    "nohup": _Runner(), "setsid": _Runner(), "exec": _Runner(), "time": _Runner(),
    "command": _Runner(), "xvfb-run": _Runner(valued="-n -s -e"), "flatpak-spawn": _Runner(),
    "acp-proxy": _Runner("record", "-o --output --name --redact --dialect --max-size --grace "
                         "--keep --fault --faults --seed"),
}  # fmt: skip
_NOT_AGENTS = ("cd", "export", "set", "source", ".", "umask", "ulimit", "eval", "unset", "test")
"""Shell commands that may precede the agent's command in a line of shell commands."""
_ENTRY_FILES = ("index", "main", "__main__", "cli", "app", "server", "run", "start")
"""File names that do not name an agent; the name of an outer directory is used instead."""
_BUILD_DIRECTORIES = (".", "..", "dist", "build", "out", "lib", "src", "bin", "target", "release")
_MOST_RUNNERS = 10


def agent_name(command: "Sequence[str]") -> str:
    """Returns a short name for the agent that a command starts; may be empty.

    Args:
        command: the program and its arguments.
    """
    words = list(command)
    for _ in range(_MOST_RUNNERS):
        program = _program(words[0])
        runner = _RUNNERS.get(program)
        if runner is None:
            break
        rest, module = _after(runner, words[1:])
        if module:
            return module.removesuffix(".__main__")
        if not rest:
            return program
        words = rest
    return _plain(words[0])


def _after(runner: _Runner, words: "list[str]") -> "tuple[list[str], str]":
    """Returns the command that a runner starts, and the name of the module that the runner runs.

    At least one of the two is empty.
    """
    skipped = runner.skipped
    may_be_option = True
    while words:
        word, *words = words
        if word == "--":
            may_be_option = False
        elif may_be_option and word[:1] == "-" and len(word) > 1:
            if word in runner.code.split():
                return [], ""
            if word in runner.module.split():
                return [], words[0] if words else ""
            if runner.script and word[1:2] != "-" and word.endswith(runner.script):
                return _of_shell(words[0] if words else ""), ""
            if word in runner.valued.split():
                words = words[1:]
        elif _is_assignment(word) or word in runner.subcommands.split():
            pass
        elif skipped:
            skipped -= 1
        else:
            return [word, *words], ""
    return [], ""


def _of_shell(line: str) -> "list[str]":
    """Returns the first command in a shell line that can be an agent, as words; may be empty."""
    for part in line.replace("&&", ";").replace("||", ";").replace("\n", ";").split(";"):
        words = [word.strip("'\"") for word in part.split()]
        while words and (_is_assignment(words[0]) or not words[0]):
            words = words[1:]
        if words and words[0] not in _NOT_AGENTS:
            return words
    return []


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _program(word: str) -> str:
    """Returns the name of a program without its directory and version.

    For example, ``python`` for ``/usr/bin/python3.12`` and ``node`` for ``node@20``.
    """
    name = word.rstrip("/").rsplit("/", 1)[-1].removesuffix(".exe")
    return name.partition("@")[0].rstrip("0123456789.") or name


def _plain(word: str) -> str:
    """Returns the agent's name from a path, a package with a version, or a package's URL."""
    word = word.partition("#")[0] or word
    parts = [part for part in word.split("/") if part] or [word]
    if "://" not in word:
        for part in reversed(parts):
            stem = part.rsplit(".", 1)[0]
            if stem not in _ENTRY_FILES and part not in _BUILD_DIRECTORIES:
                parts = [part]
                break
    name = parts[-1]
    for mark in ("@", "==", ">", "<", "~=", "[", ":", "?"):
        name = name.partition(mark)[0] or name
    name = name.removesuffix(".git")
    return name.rsplit(".", 1)[0] or name

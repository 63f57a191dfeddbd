"""Opens pages in a browser, and notes their dialogs, requests, navigations and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import Factory, asdict, define

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from playwright.sync_api import (
        Browser,
        BrowserContext,
        ConsoleMessage,
        Dialog,
        Frame,
        Page,
        Request,
        ViewportSize,
    )

WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 320, "height": 640}
READY = "() => window.acpReport?.recording !== undefined"
TIMEOUT_MS = 30_000


_LIMITED = """(argument) => Promise.race([(%s)(argument), new Promise((_, fail) => {
  setTimeout(() => fail(new Error("no answer within ten minutes")), 600_000);
})])"""
"""Limits the wait for a promise; Playwright alone would wait without end."""


@define
class Noted:
    """The dialogs, requests, navigations and errors of a page."""

    dialogs: list[str] = Factory(list)
    requests: list[str] = Factory(list)
    """All requests, except the first one for the page's own file, and those for its own blobs."""
    navigations: list[str] = Factory(list)
    """Addresses other than the page's own file, new windows, and downloads."""
    errors: list[str] = Factory(list)
    """Errors and warnings on the console, and uncaught exceptions."""


@define(slots=False)  # Playwright sets attributes on whose methods it calls
class Visit:
    """A page in a separate window.

    Attributes:
        page: the page of Playwright.
        url: the URL of the page, without its fragment.
        noted: the noted actions of the page.
    """

    page: Page
    url: str = "about:blank"
    noted: Noted = Factory(Noted)
    _is_expected: bool = False
    _opened: set[str] = Factory(set)

    def __attrs_post_init__(self) -> None:
        """Starts to note all actions of the page."""
        self.page.set_default_timeout(TIMEOUT_MS)
        self.page.on("dialog", self._on_dialog)
        self.page.on("request", self._on_request)
        self.page.on("websocket", lambda it: self.noted.requests.append(it.url))
        self.page.on("framenavigated", self._on_navigation)
        self.page.on("popup", lambda _: self.noted.navigations.append("a window"))
        self.page.on("download", lambda _: self.noted.navigations.append("a download"))
        self.page.on("pageerror", lambda it: self.noted.errors.append(str(it)))
        self.page.on("console", self._on_console)

    def open(self, path: Path, fragment: str = "", *, ready: str | None = READY) -> Visit:
        """Opens a file, even if it is open already, and waits until the page is ready.

        Args:
            path: the path of the file.
            fragment: the fragment of the URL, with its ``#``.
            ready: a JavaScript function that returns whether the page is ready; None to not wait.
        """
        address = path.as_uri()
        if address == self.url:  # another fragment is only another place in the page
            self.url = "about:blank"
            self.page.goto(self.url)
        self.url, self._is_expected = address, True
        self._opened.add(address)
        self.page.goto(address + fragment)
        if ready is not None:
            self.page.wait_for_function(ready)
        return self

    def open_url(self, url: str) -> Visit:
        """Opens a page of a server, in any case anew, and waits until it has read its recording."""
        self.page.goto("about:blank")
        self.page.goto(url)
        self.page.wait_for_function("() => window.acpReport?.recording.meta?.partial === false")
        return self

    def ask(self, function: str, argument: Any = None) -> Any:
        """Runs a JavaScript function in the page; returns its result, or that of its promise."""
        return self.page.evaluate(_LIMITED % function, argument)

    def assert_quiet(self) -> None:
        """Asserts that the page has caused no dialog, request, navigation or error."""
        self.page.evaluate(
            "() => 0"
        )  # by now what came before is noted, also where no script may run
        assert asdict(self.noted) == asdict(Noted()), self.noted

    def _on_dialog(self, dialog: Dialog) -> None:
        self.noted.dialogs.append(f"{dialog.type} {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        address = request.url.partition("#")[0]
        if address == self.url and self._is_expected:
            self._is_expected = False
        elif not address.startswith("blob:"):
            self.noted.requests.append(request.url)

    def _on_navigation(self, frame: Frame) -> None:
        # A page may still change the place in its own address while the next one is opened.
        if frame.url != "about:blank" and frame.url.partition("#")[0] not in self._opened:
            self.noted.navigations.append(frame.url)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.noted.errors.append(message.text)


@define
class Visitor:
    """Opens windows in separate profiles; as a context manager, it closes them all."""

    browser: Browser
    _contexts: list[BrowserContext] = Factory(list)

    def __enter__(self) -> Visitor:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        for context in self._contexts:
            context.close()

    def __call__(self, path: Path, fragment: str = "", **options: Any) -> Visit:
        """Opens a report page in a new window, and waits until its script has read the data.

        Args:
            path: the path of the file.
            fragment: the fragment of the URL, with its ``#``.
            **options: options of `Browser.new_context`: ``viewport``, ``color_scheme``.
        """
        return self.window(**options).open(path, fragment)

    def window(self, **options: Any) -> Visit:
        """Opens an empty window.

        Args:
            **options: options of `Browser.new_context`: ``viewport``, ``java_script_enabled``.
        """
        context = self.browser.new_context(**{"viewport": WIDE, **options})
        self._contexts.append(context)
        return Visit(context.new_page())

"""Chromium without a window, driven through its DevTools protocol over a pipe: no port, no further package."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PATIENCE = 30  # seconds, for a machine that is busy
_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]


class Browser:
    """A running Chromium. It reads commands from its descriptor 3 and answers on 4, each message ended by a zero."""

    def __init__(self, program: str, profile: Path) -> None:
        # Descriptors above those that the child is to have, so that no copy overwrites another.
        commands, self._commands = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in os.pipe())
        self._answers, answers = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in os.pipe())
        log = str(profile.with_suffix(".log"))
        self._process = os.posix_spawn(
            program,
            [program, *_ARGUMENTS, f"--user-data-dir={profile}", "about:blank"],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
                (os.POSIX_SPAWN_DUP2, commands, 3),
                (os.POSIX_SPAWN_DUP2, answers, 4),
            ],
            setpgroup=0,
        )
        os.close(commands)
        os.close(answers)
        self._unread = b""
        self._last = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come in between are kept."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._send(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method: str, session: str) -> dict[str, Any]:
        """The first event of a name, of those that came and those to come."""
        while True:
            for event in self.events:
                if event.get("method") == method and event.get("sessionId") == session:
                    return event
            self.events.append(self._receive())

    def _send(self, content: bytes) -> None:
        while content:
            content = content[os.write(self._commands, content) :]

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE
        while b"\0" not in self._unread:
            if not select.select([self._answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            piece = os.read(self._answers, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium has ended")
            self._unread += piece
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def close(self) -> None:
        """End the browser and whatever it started."""
        os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._commands)
        os.close(self._answers)

    @contextmanager
    def page(
        self,
        path: Path,
        *,
        fragment: str = "",
        width: int = 1200,
        height: int = 900,
        is_dark: bool = False,
        has_scripts: bool = True,
    ) -> Iterator[Page]:
        """A file in a tab of its own, loaded; ``fragment`` is the place in it, such as ``#summary``."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        page.call(
            "Emulation.setEmulatedMedia", features=[scheme, {"name": "prefers-reduced-motion", "value": "reduce"}]
        )
        page.call("Emulation.setScriptExecutionDisabled", value=not has_scripts)
        page.call("Page.navigate", url=path.as_uri() + fragment)
        self.wait_for("Page.loadEventFired", session)
        try:
            yield page
        finally:
            self.call("Target.closeTarget", targetId=target)


class Page:
    """A tab: what it shows, and what a reader does to it."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command to this tab."""
        return self._browser.call(method, self._session, **parameters)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page; works where the page's own scripts are switched off, too."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def resize(self, width: int, height: int) -> None:
        """The size of the window, of a phone where it is narrow."""
        is_phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone
        )

    def move(self, x: float, y: float) -> None:
        """The mouse to a place in the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        """A click of the left button."""
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self._settle()

    def touch(self, x: float, y: float) -> None:
        """A short touch with a finger."""
        self.call("Emulation.setTouchEmulationEnabled", enabled=True)
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        self._settle()

    def press(self, key: str) -> None:
        """A key of the keyboard, by its name."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=_KEYS[key])
        self._settle()

    def _settle(self) -> None:
        """Wait for what an action leads to: a new address scrolls the page, and is told to it, a moment later."""
        self.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
        )

    def messages(self) -> list[str]:
        """What the console has been told, warnings and errors alike."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self._events() if event["method"] in kinds]

    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        sent = (
            event["params"]["request"]["url"]
            for event in self._events()
            if event["method"] == "Network.requestWillBeSent"
        )
        return [url.partition("#")[0] for url in sent]

    def _events(self) -> list[dict[str, Any]]:
        self.evaluate("0")  # whatever was on its way has arrived with the answer
        return [event for event in self._browser.events if event.get("sessionId") == self._session]


_KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}

"""`commonplace hook <event>`: what a client runs when a session starts, pauses or ends.

Law: it reads, appends or copies, prints and ends. It never starts a process, never touches the
index's file but to read it, never waits longer than DEADLINE_S, and never disturbs the user: it
ends with 0 and says nothing on stderr, whatever happens; a failure is a line in the log.
"""

from __future__ import annotations

import os
import select

from commonplace.doors.hooks.client_messages import (
    CUTS,
    DEFAULT_CLIENT,
    EVENTS,
    parse_call,
    render_answer,
    render_nothing,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.config.quick import QuickSettings
    from commonplace.doors.hooks.client_messages import HookCall

DEADLINE_S = 2

STOPPED_S = DEADLINE_S + 5
"""When the system itself ends a process in which no Python runs any more, as a failure: later than
a busy machine keeps a process waiting, sooner than clients give up (10 s)."""

MOST_BYTES = 1 << 24
_LOG_BYTES = 1 << 18
_NOT_COPIED = ("prompt", "subagent-start", "cwd-changed")
_CHUNK = 1 << 16


def serve(argv: Sequence[str]) -> None:
    """Serve one event and end the process; return where the command line is to explain itself."""
    event, client = _parse_argv(argv)
    if "--help" in argv or (event not in EVENTS and _is_terminal(0)):
        return
    _set_alarm()
    out = ""
    if event in EVENTS:
        out = answer(event, client, b"" if _is_terminal(0) else _read_all(), os.environ)
    else:
        _log(None, os.environ, f"unknown event {event[:40]!r}")
    _write(out)
    os._exit(0)


def _parse_argv(argv: Sequence[str]) -> tuple[str, str]:
    """The event and the client that the words after `hook` name."""
    event, client = "", DEFAULT_CLIENT
    words = iter(argv)
    for word in words:
        name, sign, value = word.partition("=")
        if name == "--client":
            client = value if sign else next(words, "")
        elif not event:
            event = word
    return event, client or DEFAULT_CLIENT


def answer(event: str, client: str, sent: bytes, environ: Mapping[str, str]) -> str:
    """What the client is to read on stdout; never raises."""
    settings: QuickSettings | None = None
    call = None
    context = ""
    try:
        from commonplace.config.files import may_recall

        if event == "prompt" and not may_recall(environ) and not os.path.isdir(_moves(environ)):
            return render_nothing(client)
        from commonplace.config.quick import read_quick

        call = parse_call(event, client, sent, _working_folder())
        settings = read_quick(environ, call.cwd)
        settings.check_owner()
        try:
            context = settings.screen().shown(_context(call, settings, environ))
        finally:  # what was said is copied, whether or not there is anything to answer
            if call.transcript and call.event not in _NOT_COPIED:
                from commonplace.doors.hooks.capture import capture

                capture(call, settings)
    except BaseException as exc:  # noqa: BLE001  a hook must not disturb the user's work
        _log(settings, environ, f"{event} {client}: {_place_of(exc)}")
    return render_answer(call, context) if call else ""


def _our_home(environ: Mapping[str, str]) -> str:
    """Our folder, without the settings that are not read yet."""
    from commonplace.config.files import data_folder

    return environ.get("COMMONPLACE_HOME") or os.path.join(data_folder(environ), "commonplace")


def _moves(environ: Mapping[str, str]) -> str:
    """Where it is noted which sessions went on in another project: each prompt looks for it."""
    return os.path.join(_our_home(environ), "moved")


def _context(call: HookCall, settings: QuickSettings, environ: Mapping[str, str]) -> str:
    """What the client's model is to be given."""
    match call.event:
        case "session-start" | "subagent-start":
            return _brief(call, settings)
        case "cwd-changed":
            from commonplace.doors.hooks.moved import note_move
            from commonplace.verbs.brief.project import find_root

            roots = [find_root(settings, x) if x else "" for x in (call.old_cwd, call.cwd)]
            note_move(_moves(environ), call.session, *roots)
        case "prompt":
            from commonplace.doors.hooks.moved import take_move

            found = [_brief(call, settings)] if take_move(_moves(environ), call.session) else []
            if settings["hooks.recall"]:
                from commonplace.doors.hooks.prompt import recall_for

                found.append(recall_for(call, settings))
            return "\n".join(filter(None, found))
    return ""


def _brief(call: HookCall, settings: QuickSettings) -> str:
    """The brief of the folder that is worked in."""
    from commonplace.verbs.brief.project import find_root
    from commonplace.verbs.brief.service import BriefQuestion, make_brief

    question = BriefQuestion(
        find_root(settings, call.cwd),
        session=call.session,
        client=call.client,
        is_cut=call.source in CUTS,
        of_agent=call.event == "subagent-start",
    )
    brief = make_brief(settings, question).text
    if settings["hooks.recall"] and not question.of_agent:
        from commonplace.doors.hooks.prompt import note_brief

        note_brief(call, settings, brief)
    return brief


def _set_alarm() -> None:
    """End the process with 0 at the deadline, whatever it waits for."""
    import _thread
    import time

    def end() -> None:
        time.sleep(DEADLINE_S)
        os._exit(0)

    _thread.start_new_thread(end, ())
    if hasattr(os, "fork"):
        import signal

        signal.alarm(STOPPED_S)


def _read_all() -> bytes:
    """All of stdin, up to the end of its first JSON object where the client leaves it open."""
    parts = bytearray()
    while len(parts) < MOST_BYTES:
        try:
            chunk = os.read(0, _CHUNK)
        except OSError:
            break
        parts += chunk
        if not chunk or (parts.rstrip().endswith(b"}") and not _has_more()):
            break
    return bytes(parts)


def _has_more() -> bool:
    """Whether more of stdin is there already; a client that ended it has an end to read."""
    if os.name == "nt":  # its select knows no pipes
        return True
    return bool(select.select([0], [], [], 0.01)[0])


def _write(text: str) -> None:
    rest = text.encode("utf-8", "replace")
    try:
        while rest:
            rest = rest[os.write(1, rest) :]
    except OSError:  # the client is gone
        return


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return os.path.expanduser("~")


def _place_of(exc: BaseException) -> str:
    """The kind of an exception and where it was raised: its message may quote a text."""
    trace = exc.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(exc).__name__
    file = os.path.basename(trace.tb_frame.f_code.co_filename)
    return f"{type(exc).__name__} at {file}:{trace.tb_lineno}"


def _places_of_log(
    settings: QuickSettings | None, environ: Mapping[str, str]
) -> tuple[str, str | None]:
    """Our folder, and the log file that is set; what the environment says where they are wrong."""
    try:
        if settings is not None:
            return settings["home"], settings["log"]
    except ValueError:  # one of them is what is wrong
        return _our_home(environ), None
    return _our_home(environ), environ.get("COMMONPLACE_LOG")


def _log(settings: QuickSettings | None, environ: Mapping[str, str], line: str) -> None:
    """Add a line to the log file that is set, else to `hooks.log` in our home; never raises."""
    import time

    from commonplace.core.plain_files import add_line

    try:
        home, named = _places_of_log(settings, environ)
        path = named or os.path.join(home, "hooks.log")
        if not named:
            os.makedirs(home, mode=0o700, exist_ok=True)
            if os.path.isfile(path) and os.path.getsize(path) > _LOG_BYTES:
                os.replace(path, f"{path}.1")
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        add_line(path, f"{stamp},000 WARNING {os.getpid()} hook: {line}")
    except (OSError, ValueError):
        return

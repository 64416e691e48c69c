"""One writer at a time in a directory, on this machine and on others that share its disk.

The lock is the operating system's (flock), which ends with the process that holds it, however it dies. NFS since
Linux 2.6.12, Lustre mounted with 'flock', GPFS and CephFS share it between machines, and give it up when the machine
that held it is gone. The text of the file names the holder, and its time stamp, renewed all the while, shows that the
holder lives: that is for people, for 'wordorder status', and for file systems that do not share locks. A process that
waits names the holder every minute, with its command and what to do if it never ends. Without shared locks, a file
``NAME.owner``, which only one process can create, keeps others out as long as its time stamp is renewed.

A process id means something only within its PID namespace (a container often has its own) on its machine.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import os
import re
import secrets
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, NamedTuple

from wordorder.errors import Interrupted, WordorderError

WAIT_SECONDS = 1.0  # between two looks at a lock that another process holds
REMINDER_SECONDS = 60.0  # between two sentences about a lock that another process holds
BEAT_SECONDS = 30.0
# A holder on another machine counts as dead after so long without a beat; file systems keep times back for a minute.
DEAD_SECONDS = 180.0
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


# Options of file systems whose locks other machines do not see: those of NFS and Lustre.
_UNSHARED = {"nolock", "local_lock=flock", "local_lock=all", "localflock"}


class Holder(NamedTuple):
    """Who holds, or last held, a lock.

    Attributes:
        process: The process id.
        host: The name of the machine.
        job: The SLURM job, if there is one.
        place: The PID namespace in which the process id means something; see :func:`this_place`.
    """

    process: int
    host: str
    job: str | None
    place: str | None = None

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}" + (f", SLURM job {self.job}" if self.job else "")

    @classmethod
    def parse(cls, text: str) -> Holder | None:
        """Return the holder that the text of a lock names."""
        found = _HOLDER.fullmatch(text.strip())
        return found and cls(int(found[1]), found[2], found[3], found[4])

    @classmethod
    def this(cls) -> Holder:
        """Return the holder that this process is."""
        return cls(os.getpid(), socket.gethostname(), os.environ.get("SLURM_JOB_ID"), this_place())


_HOLDER = re.compile(r"process (\d+) on ([^,\s]+)(?:, SLURM job (\S+))?(?:\nnamespace (\S+))?(?:\nsince (?s:.*))?")
_SINCE = re.compile(r"^since (\d+): (.*)", re.M)  # the time in seconds, and the command
_LONGEST = 200  # characters of a command that a sentence shows


@functools.cache
def this_place() -> str | None:
    """Return the boot of this machine and the PID namespace of this process; None where nothing names them."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
        return f"{boot}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return None


@contextmanager
def locked(
    file: Path,
    ask: Callable[[bool], Sequence[bool]] = lambda taken: (taken, False),
    *,
    waiting: str = "",
    end: str = "kill",
    for_others: bool = False,
) -> Iterator[None]:
    """Hold the lock ``file``; where another process has it, wait for that to end.

    A job that was left behind by a killed workflow ends in its own time, and the job that the next run of the workflow
    submits takes over what it has done.

    Args:
        file: The lock.
        ask: Called about every second with whether the lock is taken; returns whether any process of this training has
            taken it, and whether any was asked to stop.
        waiting: The sentence for a lock that another process holds, whose name replaces '{holder}'.
        end: The command that ends such a process, which a reminder recommends if it should not run.
        for_others: Do not take the lock, but wait until ``ask`` says that another process of this training has it.

    Raises:
        Interrupted: ``ask`` says that a process was asked to stop.
    """
    with open_lock(file) if not for_others else nullcontext() as opened:
        report = _Report(file, waiting or f"Waiting for {{holder}}, which is training in {file.parent}.", end)
        while True:
            taken, stop = ask(opened is not None and _take(opened, file))
            if taken:
                break
            if stop:
                raise Interrupted(f"Another process was still training in {file.parent} when this was asked to stop.")
            if opened:
                report()
            time.sleep(WAIT_SECONDS)
        with _signed(opened, file) if opened else nullcontext():
            yield


class _Report:
    """Sentences about the process that holds a lock: when the wait begins, and every minute while it lasts.

    Args:
        file: The lock.
        waiting: The first sentence, in which the holder replaces '{holder}'.
        end: The command that ends the holder.
    """

    def __init__(self, file: Path, waiting: str, end: str) -> None:
        self._file, self._waiting, self._end = file, waiting, end
        self._begun = self._last = time.monotonic()
        self._first = True

    def __call__(self) -> None:
        now = time.monotonic()
        if not self._first and now - self._last < REMINDER_SECONDS:
            return
        text = ""
        with suppress(OSError):
            text = self._file.read_text(encoding="utf-8", errors="replace")
        named = Holder.parse(text)
        sentence = self._waiting.replace("{holder}", str(named or "another process"))
        if not self._first:
            sentence += f" {_minutes(now - self._begun)} so far. {self._advice(named, text)}"
        print(sentence, file=sys.stderr, flush=True)
        self._first, self._last = False, now

    def _advice(self, named: Holder | None, text: str) -> str:
        """Return sentences that say who has held the lock since when, and what to do if that is too long."""
        if named is None:
            return f"The file {self._file} does not name the other process; 'lsof {self._file}' may."
        begun = ""
        if details := _SINCE.search(text):
            begun = time.strftime("It began at %Y-%m-%d %H:%M:%S with '{}'. ", time.localtime(int(details[1])))
            begun = begun.format(details[2])
        end = f"'scancel {named.job}'" if named.job else f"'{self._end} {named.process}'"
        if named.place == this_place() and _is_stopped(named.process):
            return f"{begun}It is stopped. 'kill -CONT {named.process}' resumes it; {end} and that command end it."
        silent = 0.0
        with suppress(OSError):
            silent = time.time() - self._file.stat().st_mtime
        if silent > 3 * BEAT_SECONDS:
            return (
                f"{begun}It has given no sign of life for {_minutes(silent)}: it may be stopped, or {named.host} may "
                f"be unreachable. Look there: 'kill -CONT {named.process}' resumes a stopped process, {end} ends it."
            )
        return f"{begun}It is alive. If it should not run, {end} on {named.host} ends it."


def _minutes(seconds: float) -> str:
    return f"{round(seconds)} seconds" if seconds < 120 else f"{round(seconds / 60)} minutes"


def _is_stopped(process: int) -> bool:
    """Return whether a process of this PID namespace was stopped, for example by Ctrl-Z."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(r"^State:\s*[Tt]", status, re.M) is not None


def open_lock(file: Path) -> IO[str]:
    """Open the file of a lock without taking the lock.

    Raises:
        WordorderError: The file cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return file.open("a+", encoding="utf-8")
    except OSError as error:
        raise WordorderError(
            f"{file} cannot be written: {error.strerror}. Check its folder.", code="unwritable-file"
        ) from error


def _take(opened: IO[str], file: Path) -> bool:
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(opened, file):  # The former holder has removed it, so another process may create it again.
            with open_lock(file) as again:
                os.dup2(again.fileno(), opened.fileno())
            return _take(opened, file)
        if _is_shared(file):
            return True
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return _own(_owner(file))


def _is_at(opened: IO[str], file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(opened.fileno()), file.stat())
    except OSError:
        return False


def _is_shared(file: Path) -> bool:
    """Return whether other machines see the locks of the file system of ``file``."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return True
    own: tuple[int, list[str]] = (0, [])
    for _, folder, _, options, *_ in (line.split() for line in mounts):
        place = Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), folder))
        if file.resolve().is_relative_to(place) and len(place.parts) >= own[0]:
            own = len(place.parts), options.split(",")
    return _UNSHARED.isdisjoint(own[1])


def _owner(file: Path) -> Path:
    return file.with_name(f"{file.name}.owner")


def _own(owner: Path) -> bool:
    """Create the file of the owner of a lock, which fails where there is one, unless its owner is dead."""
    try:
        with owner.open("x", encoding="utf-8") as opened:
            opened.write(_signature())
        return True
    except FileExistsError:
        pass
    with suppress(OSError):
        if holder(owner) is None and time.time() - owner.stat().st_mtime > WAIT_SECONDS:  # not one just begun
            dead = owner.with_name(f".{owner.name}.{secrets.token_hex(6)}")
            owner.rename(dead)  # of several processes that try it, one succeeds
            if holder(dead) is not None:
                os.link(dead, owner)  # a new owner came in between
            dead.unlink()
    return False


def _signature() -> str:
    own = Holder.this()
    command = " ".join(shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]).split())
    place = f"\nnamespace {own.place}" if own.place else ""
    shown = command[:_LONGEST].encode(errors="backslashreplace").decode()
    return f"{own}{place}\nsince {time.time():.0f}: {shown}"


@contextmanager
def _signed(opened: IO[str], file: Path) -> Iterator[None]:
    """Say in the file who holds it, and that the holder lives."""
    opened.truncate(0)
    with suppress(OSError):  # On a full disk, the holder has no name; the first result that it writes says why.
        os.write(opened.fileno(), _signature().encode())
    ended = threading.Event()
    threading.Thread(target=_beat, args=(file, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        opened.truncate(0)
        if (owner := holder(_owner(file))) and owner == Holder.this():
            _owner(file).unlink()


def _beat(file: Path, ended: threading.Event) -> None:
    while not ended.wait(BEAT_SECONDS):
        for signed in (file, _owner(file)):
            with suppress(OSError):  # the disk is away for a while, or the directory was deleted
                os.utime(signed)


def holder(file: Path) -> Holder | None:
    """Return who holds the lock now, found by reading only, so that asking never gets into a trainer's way.

    In this PID namespace the process must live, elsewhere its last beat must be recent.
    """
    try:
        named = Holder.parse(file.read_text(encoding="utf-8", errors="replace"))
        beaten = file.stat().st_mtime
    except OSError:
        return None
    if named is None:
        return None
    here = named.place == this_place() if named.place else named.host == socket.gethostname()
    if here:
        return named if _lives(named.process) else None
    return named if time.time() - beaten < DEAD_SECONDS else None


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):  # the latter for a damaged number
        return False
    except PermissionError:
        return True  # somebody else's
    return True

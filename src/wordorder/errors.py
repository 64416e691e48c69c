"""The errors that a user is meant to read."""

# Exit code of a job that was asked to stop, saved its state and wants to be started again (EX_TEMPFAIL).
EXIT_RETRY = 75
# Exit code of a command that was stopped by Ctrl-C, as of a shell.
EXIT_INTERRUPTED = 130


class WordorderError(Exception):
    """Something the user can mend.

    The message is one or more full sentences that name the file, the line or key, what was expected and what
    to do. The command line prints it without a traceback and exits with status 1.
    """


class Interrupted(Exception):
    """The process was asked to stop (SIGTERM, SIGUSR1, SIGINT) and has saved what it needs to go on later."""

"""What goes wrong between a trainer and its daemon. Each text says what, where and what to do."""


class Error(RuntimeError):
    """Any failure between the trainer and its daemon."""


class NotFound(Error):
    """No daemon listens where the trainer looks for one."""


class Refused(Error):
    """The daemon does not take this trainer; the text holds the reason that the daemon gives."""


class DaemonGone(Error):
    """The connection closed without a last word: the daemon was killed or lost."""


class TimedOut(Error):
    """The time that `attach` was given has passed."""


class Garbled(Error):
    """The daemon sent a record that this client does not understand."""

"""The start of a child process.

This file is run by its path, with only the standard library (`python -I -S launch.py PARENT SIGNAL USER PROGRAM ...`).
Its process becomes PROGRAM. On Linux, the kernel sends SIGNAL to PROGRAM when the process PARENT ends in any way.

`preexec_fn` would be unsafe: the supervisor has threads, so Python code between fork and exec may deadlock.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def main(parent: int, death_signal: int, user: str, command: list[str]) -> None:
    """Replace this process by `command`, run as `user` (empty: the present user).

    On Linux, `command` gets the signal `death_signal` when the process `parent` ends.
    """
    if user:
        _become(user)
    os.umask(0o077)  # only the server's user may read its files
    if sys.platform == "linux":
        # A change of user would clear this setting, so it comes after the change. `exec` keeps the setting.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, death_signal)
    if os.getppid() != parent:
        sys.exit(f"the process {parent} that started {command[0]} has ended")
    # Python ignores these two signals, and exec keeps ignored signals ignored.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is the point
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error.strerror}")


def _become(user: str) -> None:
    import pwd  # only for a change of user

    account = pwd.getpwnam(user)
    os.setgroups([])
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])

"""The start of a process of Windows, by functions of its library kernel32."""

from __future__ import annotations

import ctypes
import sys
from ctypes import wintypes
from typing import Final

_SYNCHRONIZE: Final = 0x0010_0000
_QUERY_LIMITED_INFORMATION: Final = 0x1000
_ACCESS_DENIED: Final = 5
_WAIT_OBJECT_0: Final = 0


def start_of(pid: int) -> str:
    """Return when a process started, in 100 nanoseconds since 1601.

    It is "?" for one that is alive and may not be asked, and "" for none.
    """
    assert sys.platform == "win32"  # type checkers know `WinDLL` there only
    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    time = ctypes.POINTER(wintypes.FILETIME)
    kernel32.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
    kernel32.OpenProcess.restype = wintypes.HANDLE
    kernel32.WaitForSingleObject.argtypes = (wintypes.HANDLE, wintypes.DWORD)
    kernel32.WaitForSingleObject.restype = wintypes.DWORD
    kernel32.GetProcessTimes.argtypes = (wintypes.HANDLE, time, time, time, time)
    kernel32.GetProcessTimes.restype = wintypes.BOOL
    kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)
    kernel32.CloseHandle.restype = wintypes.BOOL

    process = kernel32.OpenProcess(_SYNCHRONIZE | _QUERY_LIMITED_INFORMATION, False, pid)
    if not process:
        return "?" if ctypes.get_last_error() == _ACCESS_DENIED else ""
    try:
        if kernel32.WaitForSingleObject(process, 0) == _WAIT_OBJECT_0:  # a wait that fails proves nothing
            return ""  # it has ended, and somebody still holds it
        start, *others = [wintypes.FILETIME() for _ in range(4)]
        if not kernel32.GetProcessTimes(process, start, *others):
            return "?"
        return str(start.dwHighDateTime << 32 | start.dwLowDateTime)
    finally:
        kernel32.CloseHandle(process)

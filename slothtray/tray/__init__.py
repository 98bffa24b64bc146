"""The icon in the desktop's tray: what it shows (``menu``, ``icon``), how it is drawn (``shell``), the application (``app``)."""

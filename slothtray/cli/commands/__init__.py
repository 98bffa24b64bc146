"""One file a command or family of commands. None of them parses; each returns its exit code."""

"""The only place that touches the operating system. Each file is one edge of it."""

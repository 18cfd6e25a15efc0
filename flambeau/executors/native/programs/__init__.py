"""Programs: graphs that are known, planned once, and run in one native call."""

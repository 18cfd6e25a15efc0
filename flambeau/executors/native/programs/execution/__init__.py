"""Programs for given shapes: segments that run in one native call, filled in stage by stage or by formula."""

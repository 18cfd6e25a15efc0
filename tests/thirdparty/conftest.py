"""The scripts and the stand-ins are run by the tests, not collected."""

collect_ignore_glob = ["scripts/*", "stand_ins/*"]

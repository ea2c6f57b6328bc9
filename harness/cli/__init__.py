"""The command line: parses arguments, calls `harness.api` and the packages below it, prints results."""

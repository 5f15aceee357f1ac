"""Loads the suite's own pytest plugins, for every folder that holds tests or examples."""

pytest_plugins = ["tests.options", "tests.budget", "tests.distribution", "tests.examples_plugin", "pytester"]

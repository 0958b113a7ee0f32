"""Measuring: tasks, arms, scores and records of how models call tools. Writes run folders; knows no command line."""

"""Servers to connect to: plain ones as child processes, SDK ones in memory."""

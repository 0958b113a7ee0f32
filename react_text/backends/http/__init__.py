"""Endpoints over HTTP: what `backends/openai.py` and `backends/ollama.py` are made of."""

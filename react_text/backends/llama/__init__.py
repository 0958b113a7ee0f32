"""llama.cpp in this process: what `backends/llama_cpp.py` is made of."""

"""Start llama-cpp-python's own server on loopback, for tests: MODEL.gguf PORT [further arguments of the server].

Weights are not repacked: llama.cpp's AMX code, as some compilers build it, ends the process.
"""

import runpy
import sys

import llama_cpp

defaults = llama_cpp.llama_model_default_params


def plain_buffers() -> llama_cpp.llama_model_params:
    params = defaults()
    params.use_extra_bufts = False
    return params


llama_cpp.llama_model_default_params = plain_buffers
llama_cpp.llama_cpp.llama_model_default_params = plain_buffers
model, port, *more = sys.argv[1:]
sys.argv = ["llama_cpp.server", "--model", model, "--port", port, "--host", "127.0.0.1", *more]
runpy.run_module("llama_cpp.server", run_name="__main__")

"""Start llama.cpp's own server on loopback, for tests: MODEL.gguf and one or more peers by name.

    plain    the model's own template
    tools    a template that writes tools and calls, so that calls come back as tool_calls
    nojinja  started without Jinja: tools are refused

Prints `NAME URL` for each once it answers, and ends when its standard input does.
"""

import sys
from pathlib import Path

import xllamacpp


def start(model: str, name: str) -> xllamacpp.Server:
    params = xllamacpp.CommonParams()
    params.model.path, params.port = model, 0
    params.hostnames = ["127.0.0.1"]
    params.n_ctx, params.n_parallel = 8192, 4
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.endpoint_props = True
    params.verbosity = 1
    params.use_jinja = name != "nojinja"
    if name == "tools":
        params.chat_template = (Path(__file__).parent / "tools-bare.jinja").read_text()
    return xllamacpp.Server(params)


servers = {name: start(sys.argv[1], name) for name in sys.argv[2:]}
for name, server in servers.items():
    print(name, server.listening_address, flush=True)
sys.stdin.read()

"""Tools from where people keep them: each module makes Tool objects of one kind of source.

They know nothing of models, turns or prompts, and load the library of their source only when they are used.
"""

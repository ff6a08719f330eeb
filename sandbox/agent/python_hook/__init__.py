"""A folder that is put first on the path of Python programs in Pods; `sitecustomize` is the hook.

Nothing imports it as a package: Python imports `sitecustomize` by itself when it starts.
"""

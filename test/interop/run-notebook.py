"""Runs a notebook from top to bottom and writes it with its outputs: run-notebook.py FROM TO."""

import sys

import nbformat
from nbclient import NotebookClient

source, target = sys.argv[1:]
notebook = nbformat.read(source, as_version=4)
nbformat.validate(notebook)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
nbformat.write(notebook, target)

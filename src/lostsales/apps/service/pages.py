"""The pages for people."""

from fastapi import FastAPI


def add_pages(app: FastAPI) -> None:
    """Add the routes of the pages."""

"""The command line within a test."""

from typer.testing import CliRunner

from lostsales.apps.cli import app


def run(*arguments: object) -> str:
    """What a command that must succeed prints; its own errors are raised as they are."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout

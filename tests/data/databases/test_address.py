"""Addresses of databases: what is reached, and what is shown."""

from pathlib import Path

import pytest

from lostsales.data.databases.address import DatabaseAddress, is_address
from lostsales.errors import LostSalesError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ann:s3cret@db.example:5432/shop", "postgresql://ann@db.example:5432/shop"),
        ("postgres://ann:s3cret@db/shop?sslmode=require", "postgres://ann@db/shop?sslmode=require"),
        ("postgresql://db/shop?user=ann&password=s3cret", "postgresql://db/shop?user=ann"),
        ("postgresql://db/shop?PassWord=s3cret&sslpassword=s3cret", "postgresql://db/shop"),
        ("postgresql://ann:a%20s3cret%40@db/shop", "postgresql://ann@db/shop"),
        ("postgresql://ann:@/shop?host=/run/pg", "postgresql://ann@/shop?host=/run/pg"),
        ("postgresql:///shop?service=mine", "postgresql:///shop?service=mine"),
    ],
)
def test_a_password_is_never_shown(text: str, shown: str) -> None:
    address = DatabaseAddress.of(text)
    assert str(address) == shown
    assert address.place == text
    assert "s3cret" not in repr(address)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann:s3/cret@db/shop",
        "postgresql://ann:s3#cret@db/shop",
        "postgresql:ann:s3cret",
        "postgresql://[s3cret",
    ],
)
def test_what_cannot_be_taken_apart_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(
        LostSalesError, match=r"the address of a database must be such as postgresql://user@host/name"
    ) as told:
        DatabaseAddress.of(text)
    assert "s3" not in str(told.value)
    assert "cret" not in str(told.value)


def test_messages_of_drivers_lose_what_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "other")
    address = DatabaseAddress.of("postgresql://ann:a%40b@db/shop")
    message = 'connection to postgresql://ann:a%40b@db/shop failed for "a@b", tried other, password=third'
    assert (
        address.without_secrets(message)
        == 'connection to postgresql://ann@db/shop failed for "***", tried ***, password=***'
    )


def test_files_are_relative_with_three_slashes_and_absolute_with_four(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert DatabaseAddress.of("sqlite:///shop.db").file == Path("shop.db")
    assert DatabaseAddress.of("duckdb:shop.db").file == Path("shop.db")
    assert DatabaseAddress.of(f"sqlite:///{tmp_path}/shop.db").file == tmp_path / "shop.db"
    (tmp_path / "there.db").touch()
    assert DatabaseAddress.of(f"sqlite://{tmp_path}/there.db").file == tmp_path / "there.db"


def test_other_texts_are_no_addresses() -> None:
    assert not any(map(is_address, ("log.csv", "C:/log.csv", "s3://bucket/log.csv", "", None, 5)))
    with pytest.raises(LostSalesError, match=r"a query needs a database, but log.csv is not one"):
        DatabaseAddress.of("log.csv")

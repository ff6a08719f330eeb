"""The pages are shown to nobody who may not read the API, and no other site gets anything done."""

import base64
from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest
from urllib3 import BaseHTTPResponse

from jobledger.adapters.http.api.guard import KnownToken, TooManyTokens
from jobledger.adapters.http.page.door import COOKIE, TOKEN_MAX, local, token_of
from tests.adapters.http.page.conftest import filled
from tests.support.pages import PAGE, Pages, serving

TOKEN = "the-token"  # of a test


class Reviewer:
    """Knows one reader, one who may not read, and is asked about others until it is busy."""

    def may_read(self, token: str, address: str = "") -> bool | None:
        del address
        if token == "busy":
            raise TooManyTokens
        return {TOKEN: True, "another": False}.get(token)


@pytest.fixture(scope="module")
def locked() -> Iterator[Pages]:
    """Pages that ask for a token."""
    with serving(filled(), Reviewer()) as served:
        yield served


def cookie(token: str = TOKEN) -> str:
    return f"{COOKIE}={base64.urlsafe_b64encode(token.encode()).decode()}"


def sign_in(pages: Pages, token: str = TOKEN, aim: str = "", **headers: str) -> BaseHTTPResponse:
    form = urlencode({"token": token, "next": aim})
    given = {"origin": pages.url, "content-type": "application/x-www-form-urlencoded", **headers}
    return pages.ask(f"{PAGE}/login", "POST", form, **given)


EVERYWHERE = ("/jobs", "/pending", "/health", "/reports", "/compare", "/nowhere", "", "/")


@pytest.mark.parametrize("path", EVERYWHERE)
def test_a_stranger_is_asked_for_a_token_and_told_nothing(locked: Pages, path: str) -> None:
    answer = locked.ask(PAGE + path)
    assert answer.status == 303
    assert answer.headers["location"].startswith(f"{PAGE}/login?next=")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.data == b""
    fetched = locked.ask(PAGE + path, sec_fetch_mode="cors")
    assert fetched.status == 401, "a script is told, and not led away"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_but_reading_is_led_to_the_login(locked: Pages, method: str) -> None:
    assert locked.ask(f"{PAGE}/jobs", method).status == 401


def test_a_cookie_opens_the_pages_and_not_the_api(locked: Pages) -> None:
    assert locked.ask(f"{PAGE}/jobs", cookie=cookie()).status == 200
    assert locked.ask(f"{PAGE}/jobs", authorization=f"Bearer {TOKEN}").status == 200
    assert locked.ask("/api/v1/jobs", cookie=cookie()).status == 401
    assert locked.ask(f"{PAGE}/jobs", cookie=cookie("wrong")).status == 303
    assert locked.ask(f"{PAGE}/jobs", cookie=cookie("another")).status == 403
    assert locked.ask(f"{PAGE}/jobs", cookie=cookie("busy")).status == 429


@pytest.mark.parametrize("value", ["", "=", "%00", "a" * 5000, '"; Path=/', "Zm9v\r\nX: y", "é"])
def test_a_cookie_of_any_kind_is_judged_or_none(value: str) -> None:
    assert token_of(f"{COOKIE}={value}") in ("", "foo")


def test_the_cookie_is_kept_from_scripts_and_other_sites(locked: Pages) -> None:
    answer = sign_in(locked, aim=f"{PAGE}/pending")
    assert (answer.status, answer.headers["location"]) == (303, f"{PAGE}/pending")
    made = answer.headers["set-cookie"]
    said = {part.strip().lower() for part in made.split(";")[1:]}
    assert {"httponly", "samesite=strict", f"path={PAGE}"} <= said
    assert "secure" not in said
    assert not any(part.startswith("domain") for part in said)
    assert TOKEN not in made
    behind_tls = sign_in(locked, x_forwarded_proto="https").headers["set-cookie"]
    assert "secure" in behind_tls.lower()
    assert locked.ask(f"{PAGE}/jobs", cookie=made.partition(";")[0]).status == 200


@pytest.mark.parametrize("token", ["wrong", "", "two words", "x" * (TOKEN_MAX + 1), "a\r\nb", "ü"])
def test_a_wrong_token_gets_the_form_again_and_no_cookie(locked: Pages, token: str) -> None:
    answer = sign_in(locked, token)
    assert answer.status == 401
    assert "set-cookie" not in answer.headers
    assert b"<form" in answer.data


def test_a_form_that_is_too_long_is_not_read(locked: Pages) -> None:
    assert sign_in(locked, "x" * 100_000).status == 413


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": ""},
        {"origin": "http://127.0.0.1:1"},
    ],
)
@pytest.mark.parametrize("path", ["/login", "/logout"])
def test_no_other_site_signs_anybody_in_or_out(
    locked: Pages, path: str, headers: dict[str, str]
) -> None:
    form = urlencode({"token": TOKEN})
    answer = locked.ask(PAGE + path, "POST", form, cookie=cookie(), **headers)
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    without = locked.ask(PAGE + path, "POST", form, sec_fetch_site="cross-site")
    assert without.status == 403


def test_who_signs_out_has_no_cookie(locked: Pages) -> None:
    answer = locked.ask(f"{PAGE}/logout", "POST", "", origin=locked.url, cookie=cookie())
    assert answer.status == 303
    assert f'{COOKIE}=""' in answer.headers["set-cookie"]
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert locked.ask(f"{PAGE}/logout", cookie=cookie()).status == 403, "a link signs nobody out"


ELSEWHERE = (
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example",
    "/page/..//evil.example",
    "/page/\\evil.example",
    "javascript:alert(1)",
    "/page/jobs\r\nSet-Cookie: a=b",
    "/page/jobs\x00",
    "/elsewhere",
    "/page/logout",
    "/page/login?next=/page/login",
    "",
)


@pytest.mark.parametrize("aim", ELSEWHERE)
def test_the_login_leads_nowhere_else(locked: Pages, aim: str) -> None:
    assert local(aim) == f"{PAGE}/jobs"
    assert sign_in(locked, aim=aim).headers["location"] == f"{PAGE}/jobs"
    shown = locked.ask(f"{PAGE}/login?next={quote(aim)}").data.decode()
    assert f'value="{PAGE}/jobs"' in shown
    assert "evil" not in shown


def test_who_comes_from_another_site_comes_again_with_the_cookie(locked: Pages) -> None:
    answer = locked.ask(f"{PAGE}/jobs?q=a%22b", sec_fetch_site="cross-site")
    assert answer.status == 200
    assert b'content="0;url=/page/jobs?q=a%22b"' in answer.data


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[", "0.0.0.0"])
def test_a_name_of_elsewhere_gets_nothing_on_loopback(pages: Pages, host: str) -> None:
    answer = pages.ask(f"{PAGE}/jobs", host=host)
    assert answer.status in (400, 403)
    assert b"done-0" not in answer.data


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:80"])
def test_loopback_is_shown_by_its_names(pages: Pages, host: str) -> None:
    assert b"done-0" in pages.ask(f"{PAGE}/jobs", host=host).data


STRICT = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@pytest.mark.parametrize(
    ("path", "status"),
    [("/jobs", 200), ("/nowhere", 404), ("/jobs/x", 400), ("/jobs?x=y", 400), ("/login", 404)],
)
def test_every_answer_is_strict_about_what_a_page_may_do(
    pages: Pages, path: str, status: int
) -> None:
    answer = pages.ask(PAGE + path)
    assert answer.status == status
    policy = {part.strip() for part in answer.headers["content-security-policy"].split(";")}
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'"} <= policy
    assert {"form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} <= policy
    assert not any("unsafe" in part or "*" in part or ":" in part for part in policy)
    for name, value in STRICT.items():
        assert answer.headers[name] == value, name


@pytest.mark.parametrize(
    "path", ["../site.py", "%2e%2e/site.py", "..%2fsite.py", "..%5csite.py", "/etc/passwd", "%00"]
)
def test_nothing_but_static_files_is_given_out(pages: Pages, path: str) -> None:
    answer = pages.ask(f"{PAGE}/static/mark/{path}")
    assert answer.status in (307, 400, 404)
    assert b"import" not in answer.data


def test_a_known_token_is_compared_whole() -> None:
    assert KnownToken(TOKEN).may_read(TOKEN) is True
    assert KnownToken(TOKEN).may_read(TOKEN[:-1]) is None

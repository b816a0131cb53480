"""Only this machine and holders of the token reach the server."""

from __future__ import annotations

import os
import re
import secrets
import socket
import stat

import httpx
import pytest

from app.server.access import TokenError, is_allowed, new_token, token_of
from app.server.address import AddressError, hosts, listen
from app.server.gate import PUBLIC
from app.server.limits import MINUTE_S, Rate
from app.server.refusal import Refused
from tests.app.server.conftest import TOKEN, sentence
from tests.helpers.errors import mentions


def port(client: httpx.Client) -> int:
    assert client.base_url.port is not None
    return client.base_url.port


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.0.1", "example.org", ""])
def test_no_other_machine_can_reach_the_server(address):
    with pytest.raises(AddressError, match=r"127.0.0.1 or ::1"):
        listen((address,), 0)
    with pytest.raises(AddressError, match="only on this machine"):
        listen(("127.0.0.1", address), 0)


def test_a_port_that_is_taken_is_told():
    (taken,) = listen(("127.0.0.1",), 0)
    with taken, pytest.raises(AddressError, match=r"\d+ is in use"):
        listen(("127.0.0.1",), taken.getsockname()[1])


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
def test_the_server_answers_at_both_addresses_of_loopback_if_it_is_asked_to(start, paper):
    assert start(paper, address="::1").get("/api/health").json() == {"state": "ready"}
    both = listen(("127.0.0.1", "::1"), 0)
    assert len({each.getsockname()[1] for each in both}) == 1
    for each in both:
        each.close()


def test_every_route_below_api_but_health_needs_the_token(start, paper):
    client = start(paper)
    routes = [
        (method.upper(), path.replace("{number}", "1").replace("{key}", "candy"))
        for path, methods in client.get("/openapi.json").json()["paths"].items()
        for method in methods
    ]
    assert len(routes) >= 9
    wrong = ("", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", "Bearer")
    for method, path in routes:
        for authorization in wrong:
            headers = {"Authorization": authorization}
            answer = client.request(method, path, headers=headers)
            if path in PUBLIC:
                assert answer.json() == {"state": "ready"}
                continue
            assert "needs the token" in sentence(answer, 401)
            assert answer.headers["WWW-Authenticate"] == "Bearer"
    for path in ("/api/unknown", "/API/status", "//api/status", "/api/%2e%2e/api/status"):
        assert client.get(path, headers={"Authorization": ""}).status_code in (401, 404)


def test_a_token_is_compared_as_a_whole():
    assert is_allowed(f"Bearer {TOKEN}", TOKEN)
    assert is_allowed(f"bearer {TOKEN}", TOKEN)
    for wrong in (None, "", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer é{TOKEN}"):
        assert not is_allowed(wrong, TOKEN)


def test_the_token_of_a_request_is_compared_in_the_same_time_wherever_it_differs(
    start, paper, monkeypatch
):
    compared: list[tuple[bytes, bytes]] = []
    compare = secrets.compare_digest

    def watched(given: bytes, right: bytes) -> bool:
        compared.append((given, right))
        return compare(given, right)

    client = start(paper)
    monkeypatch.setattr(secrets, "compare_digest", watched)
    answer = client.get("/api/status", headers={"Authorization": "Bearer wrong"})
    assert answer.status_code == 401
    assert compared == [(b"wrong", TOKEN.encode())]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1.evil.example:{port}"])
def test_a_name_that_others_have_pointed_at_loopback_is_refused(host, start, paper):
    client = start(paper)
    named = host.format(port=port(client))
    for path in ("/", "/api/health", "/api/status"):
        answer = client.get(path, headers={"Host": named})
        assert f"not '{named}'" in sentence(answer, 421)


def test_the_server_has_three_names(start, paper):
    client = start(paper)
    for name in (f"localhost:{port(client)}", f"127.0.0.1:{port(client)}", f"[::1]:{port(client)}"):
        assert client.get("/api/status", headers={"Host": name}).status_code == 200
    assert "localhost" in hosts(80)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_pages_of_others_may_not_use_the_server_even_with_the_token(origin, start, paper, photo):
    client = start(paper)
    answer = client.post("/api/pictures", content=photo, headers={"Origin": origin})
    assert mentions(sentence(answer, 403), origin, "cannot use")
    own = {"Origin": f"http://127.0.0.1:{port(client)}"}
    answer = client.get("/api/status", headers=own)
    assert answer.status_code == 200
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_more_requests_in_a_minute_are_refused_and_those_without_the_token_do_not_count(
    start, paper
):
    client = start(paper, per_minute=3)
    for _ in range(5):
        assert client.get("/api/status", headers={"Authorization": ""}).status_code == 401
    assert [client.get("/api/status").status_code for _ in range(3)] == [200, 200, 200]
    refused = client.get("/api/status")
    assert "3 requests" in sentence(refused, 429)
    assert 1 <= int(refused.headers["Retry-After"]) <= MINUTE_S
    assert client.get("/api/health").status_code == 200


def test_a_minute_later_there_is_room_again():
    now = [0.0]
    rate = Rate(2, lambda: now[0])
    for seconds in (0.0, 30.0):
        now[0] = seconds
        rate.count()
    now[0] = 59.9
    with pytest.raises(Refused, match=r"1 s$"):
        rate.count()
    now[0] = 60.0
    rate.count()
    with pytest.raises(Refused, match=r"31 s$"):
        rate.count()


def test_every_answer_tells_browsers_what_they_may_do(start, paper):
    client = start(paper)
    for path in ("/", "/docs", "/page.js", "/openapi.json", "/api/status", "/unknown"):
        headers = client.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"


def test_errors_of_the_protocol_are_problems_too(start, paper):
    client = start(paper)
    assert "no '/unknown'" in sentence(client.get("/unknown"), 404)
    assert "no '/api/jobs/one'" in sentence(client.get("/api/jobs/one"), 404)
    assert mentions(sentence(client.put("/api/jobs"), 405), "/api/jobs", "PUT")
    assert "no job 7" in sentence(client.get("/api/jobs/7"), 404)


def test_a_new_token_cannot_be_guessed():
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", token) for token in tokens)


def test_a_token_file_is_made_for_its_owner_alone_and_kept(tmp_path):
    path = tmp_path / "folder" / "token"
    token = token_of(path)
    assert path.read_text() == f"{token}\n"
    assert token_of(path) == token
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_a_token_file_that_others_can_read_is_refused(tmp_path):
    path = tmp_path / "token"
    token_of(path)
    path.chmod(0o640)
    with pytest.raises(TokenError, match="other users; chmod 600"):
        token_of(path)


@pytest.mark.parametrize("text", ["", "short", "a b" * 20, "é" * 40])
def test_a_file_without_a_token_is_refused(text, tmp_path):
    path = tmp_path / "token"
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    with pytest.raises(TokenError, match="contains no token"):
        token_of(path)


def test_a_folder_is_no_token_file(tmp_path):
    with pytest.raises(TokenError, match="cannot be used: "):
        token_of(tmp_path)

"""The checks on every request (host, origin, token, rate) and the headers of answers."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server.access import is_allowed
from app.server.connections import PROVE, UNREAD
from app.server.limits import Rate
from app.server.problem import problem
from app.server.refusal import Refused

API = "/api/"  # paths below need the token
PUBLIC = ("/api/health",)  # except this one, which reveals nothing
HEADERS = {
    # The page has only files of its own. Pictures are blobs, since they are fetched with the token.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Gate:
    """An ASGI gate that passes a request on, or refuses it before reading its body.

    `hosts` are the allowed Host headers; `rate` counts requests with the token.
    """

    def __init__(self, application: ASGIApp, hosts: frozenset[str], token: str, rate: Rate) -> None:
        self._application, self._hosts, self._token, self._rate = application, hosts, token, rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if scope["state"][UNREAD]():
                    headers["Connection"] = "close"
            await send(message)

        try:
            self._check(Headers(scope=scope), scope["path"], scope["state"][PROVE])
        except Refused as exc:
            answer = problem(exc.status, str(exc), exc.headers)
            await answer(scope, receive, send_guarded)
            return
        await self._application(scope, receive, send_guarded)

    def _check(self, headers: Headers, path: str, prove: Callable[[], object]) -> None:
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            raise Refused(
                HTTPStatus.MISDIRECTED_REQUEST,
                f"this server's name is {' or '.join(sorted(self._hosts))}, not '{host}'",
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in self._hosts}:
            raise Refused(HTTPStatus.FORBIDDEN, f"pages from '{origin}' cannot use this server")
        if not path.startswith(API) or path in PUBLIC:
            return
        if not is_allowed(headers.get("authorization"), self._token):
            raise Refused(
                HTTPStatus.UNAUTHORIZED,
                "the request needs the token that `styleforge serve` printed, in the header "
                "'Authorization: Bearer TOKEN'",
                {"WWW-Authenticate": "Bearer"},
            )
        prove()
        self._rate.count()

"""A web service in which every user has a memory of their own.

With fastapi and uvicorn installed beside Commonplace, in the folder of the clone:

    NOTES_TOKENS="a-token=ann b-token=bob" uvicorn examples.fastapi_app:app
    curl -H "Authorization: Bearer a-token" localhost:8000/entries --json '{"text": "I moved."}'
    curl -H "Authorization: Bearer a-token" "localhost:8000/entries?question=did+I+move"

Asked with `b-token`, the last answers `[]`. Whose memory it is says the login alone: no address, no
field of a request, and no ref that someone guessed leads to what another user keeps.
"""

from __future__ import annotations

import os
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel

from commonplace import (
    CommonplaceError,
    Conflict,
    Denied,
    Invalid,
    Memory,
    NotFound,
    Unavailable,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

STATUS: dict[type[CommonplaceError], int] = {
    Invalid: 422,
    NotFound: 404,
    Conflict: 409,
    Denied: 403,
    Unavailable: 503,
}


class Said(BaseModel):
    """What a user wants to be remembered."""

    text: str


class Kept(BaseModel):
    """An entry, and its address."""

    ref: str
    text: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Hold the model for as long as the service runs; every user's memory shares it."""
    # All of every user lies in this folder, even of one who calls themselves `me`.
    home = os.environ.get("NOTES_HOME", "notes-data")
    pairs = os.environ.get("NOTES_TOKENS", "").split()
    app.state.tokens = dict(pair.rsplit("=", 1) for pair in pairs)
    with Memory("service", home=home) as app.state.memory:
        yield


app = FastAPI(lifespan=lifespan)
login = HTTPBearer()


def user_of(
    request: Request, token: Annotated[HTTPAuthorizationCredentials, Depends(login)]
) -> str:
    """Who asks. Put your own login here; `app.state.tokens` maps tokens to users."""
    tokens: dict[str, str] = request.app.state.tokens
    for known, user in tokens.items():
        if secrets.compare_digest(known.encode(), token.credentials.encode()):
            return f"user-{user}"
    raise HTTPException(401, "Unknown token.")


def memory_of(request: Request, user: Annotated[str, Depends(user_of)]) -> Iterator[Memory]:
    """The memory of who asks, closed after the answer."""
    with request.app.state.memory.beside(user) as memory:
        yield memory


Mine = Annotated[Memory, Depends(memory_of)]


@app.exception_handler(CommonplaceError)
def explain(_: Request, error: CommonplaceError) -> JSONResponse:
    """An error of the library as an answer: what is wrong, and the next step."""
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 500)
    return JSONResponse({"message": error.message, "hint": error.hint}, status_code=status)


# Plain functions: FastAPI runs them in threads, and a memory may be used from any.
@app.post("/entries", status_code=201)
def remember(said: Said, memory: Mine) -> Kept:
    """Keep what the user said."""
    return Kept(ref=memory.save_message("user", said.text), text=said.text)


@app.get("/entries")
def search(question: str, memory: Mine) -> list[Kept]:
    """What fits a question, the best first."""
    return [Kept(ref=hit.ref, text=hit.text) for hit in memory.search(question).hits]


@app.get("/prompt")
def prompt(question: str, memory: Mine) -> str:
    """What to put in front of a prompt."""
    return memory.context(question)


@app.delete("/entries/{ref:path}", status_code=204)
def forget(ref: str, memory: Mine) -> None:
    """Delete an entry for good."""
    memory.delete(ref)

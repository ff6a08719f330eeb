"""What was kept of a job: the list, a log with a search, and the same as a file."""

from starlette.requests import Request
from starlette.responses import Response

from jobledger.adapters.http.api.application import DIGEST_LENGTH, NotFound
from jobledger.adapters.http.api.parameters import BadRequest, Parameter, ParameterKind
from jobledger.adapters.http.page.ansi import coloured, plain
from jobledger.adapters.http.page.parts import PageParts, asked, dossier_of, job_of
from jobledger.adapters.http.page.rendering import HEADERS, page_for, unless_known
from jobledger.core.forensics.story.kept import kept

LINES_MAX = 10_000
"""So many lines of a log are on a page, the last ones; the file has all."""
LINE_MAX = 4_000
"""So many characters of each; the file has all."""
SEARCH = Parameter(name="q", kind=ParameterKind.TEXT, meaning="")
JOB = Parameter(name="job", kind=ParameterKind.STREAM, meaning="")


def listed(parts: PageParts, request: Request) -> Response:
    """Return the list of what was kept of a job."""
    asked(request)
    row = job_of(parts, request)

    def make() -> Response:
        found = tuple(kept(dossier_of(parts, row).read()))
        return page_for(request, "job/evidence.html", row=row, view="evidence", kept=found)

    return unless_known(request, ("evidence", row), make)


def shown(parts: PageParts, request: Request) -> Response:
    """Return a log: coloured as it was, or the lines of it that hold a text."""
    given = asked(request, SEARCH, JOB)
    digest, content = _content(parts, request)
    wanted = given.text("q")
    lines = content.decode(errors="replace").splitlines()
    found = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if not wanted or wanted.lower() in plain(line).lower()
    ]
    last = found[-LINES_MAX:]
    coloured_lines = coloured([line[:LINE_MAX] for _, line in last])
    numbered = [(number, pieces) for (number, _), pieces in zip(last, coloured_lines, strict=True)]
    return page_for(
        request,
        "evidence.html",
        digest=digest,
        job=given.stream("job"),
        q=wanted,
        lines=numbered,
        count=len(lines),
        size=len(content),
        left_out=len(found) - len(last),
    )


def download(parts: PageParts, request: Request) -> Response:
    """Return a log as a file: as it was kept, never as something that a browser would run."""
    asked(request)
    digest, content = _content(parts, request)
    headers = {
        **HEADERS,
        "Content-Disposition": f'attachment; filename="evidence-{digest[:12]}.log"',
    }
    return Response(content, media_type="text/plain; charset=utf-8", headers=headers)


def _content(parts: PageParts, request: Request) -> tuple[str, bytes]:
    digest = request.path_params["digest"]
    if len(digest) != DIGEST_LENGTH or not all(c in "0123456789abcdef" for c in digest):
        raise BadRequest("evidence is named by 64 hexadecimal digits")
    content = parts.sources.evidence.get(digest)
    if content is None:
        raise NotFound("The ledger has no such evidence. It may have been archived.")
    return digest, content

"""Who may read the JSON API, judged by a real API server with the rights of `ops/rbac.yaml`."""

import time
from contextlib import contextmanager

from jobledger.adapters.http.api.application import PREFIX
from jobledger.adapters.http.api.review import KubernetesReviewer
from tests.adapters.http.conftest import serve
from tests.adapters.real_api.desk import Desk
from tests.support.apiserver import ApiServer

ACCOUNTS = "v1/serviceaccounts"


def test_the_api_server_says_whose_a_token_is_and_what_they_may(
    api_server: ApiServer, desk: Desk
) -> None:
    """Users who may get all jobs and logs read; who has no rights may not; others are nobody."""
    assert desk.api.create(ACCOUNTS, {"metadata": {"name": "stranger"}}).code == 201
    path = f"{desk.api.path(ACCOUNTS)}/stranger/token"
    asked = desk.api.request("POST", path, {"spec": {"expirationSeconds": 600}})
    assert asked.code == 201, asked.message
    known = {user: dict(api_server.api(user).headers) for user in ("admin", "read-only")}
    with contextmanager(serve)(KubernetesReviewer(desk.cluster, time.monotonic)) as site:

        def status(authorization: str) -> int:
            return site.get(f"{PREFIX}/jobs", Authorization=authorization).status

        for user, headers in known.items():
            assert status(headers["Authorization"]) == 200, user
        assert status(f"Bearer {asked.body['status']['token']}") == 403
        assert status("Bearer made-up") == 401

"""What a simulated head says of a job that was submitted, runs for a while, and ends."""

import time

from jobledger.core.values.documents import Json


def told_info(submission: str, started: float, run_seconds: float, *, fails: bool) -> Json:
    """Return the answer to `GET /api/jobs/{submission}`; `started` is in seconds of the epoch."""
    is_running = time.time() < started + run_seconds
    status = "RUNNING" if is_running else "FAILED" if fails else "SUCCEEDED"
    info: dict[str, Json] = {
        "type": "SUBMISSION",
        "submission_id": submission,
        "status": status,
        "entrypoint": "python train.py",
        "message": f"simulated {status}",
        "start_time": int(started * 1000),
        "metadata": {},
    }
    if not is_running:
        info["end_time"] = int((started + run_seconds) * 1000)
    return info

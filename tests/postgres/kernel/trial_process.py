"""A composition root for the serving tests: ``trial_process PORT THREADS [WORKERS] [TLS FOLDER]``.

``TRIAL_URL`` names the database. Routes: ``/poll?wait=S`` parks, ``/write`` notifies, ``/slow`` answers once
the file ``TRIAL_GATE`` is there, ``/held?wait=S`` sleeps inside a transaction, ``/worker`` names the process,
``/large`` answers more than a socket takes,
``/seen`` shows what the server made of the request.
"""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
from flask import Flask, Response, request

from central.kernel.database import Database, DatabaseOptions, Transaction
from central.kernel.http import answer, create_app, read_json, read_query
from central.kernel.notifications import Waiters
from central.kernel.observability import Metrics, configure_logging
from central.kernel.queries import parse_queries
from central.kernel.serving import Service, ServingOptions, serve

CHANNEL = "trial_changes"
QUERIES = parse_queries(
    "-- name: notify\nSELECT pg_notify('trial_changes', 'slurm');\n"
    "-- name: note\nINSERT INTO public.notes VALUES (%(id)s) ON CONFLICT DO NOTHING;\n",
    source="trial",
)


class Body(msgspec.Struct, forbid_unknown_fields=True):
    id: int


def seconds() -> int:
    return read_query("wait").integer("wait", default=0, minimum=0, maximum=600)


@dataclass(slots=True)
class Written:
    value: int = 0


def add_routes(app: Flask, database: Database, waiters: Waiters) -> None:
    written = Written()

    @app.get("/poll")
    def poll() -> Response:
        deadline, before = time.monotonic() + seconds(), written.value
        with waiters.watch(CHANNEL, "slurm") as watch:
            while written.value == before and watch.wait(deadline):
                pass
        return answer({"changed": written.value > before})

    @app.post("/write")
    def write() -> Response:
        written.value += 1
        database.run(lambda tx: tx.execute(QUERIES["notify"]))
        return answer({"written": True})

    @app.get("/slow")
    def slow() -> Response:
        while not Path(os.environ["TRIAL_GATE"]).exists():
            time.sleep(0.02)
        return answer({})

    @app.get("/large")
    def large() -> Response:
        return answer({"text": "x" * 50_000_000})

    @app.get("/worker")
    def worker() -> Response:
        return answer({"pid": os.getpid()})

    @app.post("/held")
    def held() -> Response:
        asked, pause = read_json(Body), seconds()

        def work(tx: Transaction) -> int:
            count = tx.execute(QUERIES["note"], {"id": asked.id})
            time.sleep(pause)
            return count

        return answer({"added": database.run(work)})

    @app.get("/seen")
    def seen() -> Response:
        return answer(
            {
                "script": request.environ.get("SCRIPT_NAME"),
                "scheme": request.environ.get("wsgi.url_scheme"),
                "peer": request.environ.get("REMOTE_ADDR"),
                "underscored": sorted(
                    n for n in request.environ if n in {"HTTP_X_FORWARDED_PROTO", "HTTP_X_TEST"}
                ),
            }
        )


def build() -> Service:
    url = os.environ["TRIAL_URL"]
    database = Database(DatabaseOptions(url, pool_size=4))
    database.open()
    waiters = Waiters(url, [CHANNEL])
    waiters.start()
    app = create_app("trial", metrics=Metrics("trial"), ready=database.check_ready)
    add_routes(app, database, waiters)

    def close() -> None:
        waiters.close()
        database.close()

    return Service(app, waiters.stop, close)


def main() -> int:
    port, threads, workers, tls = (*sys.argv[1:], "", "")[:4]
    folder = Path(tls) if tls else None
    configure_logging("trial")
    return serve(
        build,
        ServingOptions(
            "127.0.0.1",
            int(port),
            threads=int(threads),
            workers=int(workers or 1),
            timeout_seconds=int(os.environ.get("TRIAL_TIMEOUT", "30")),
            receive_seconds=int(os.environ.get("TRIAL_RECEIVE", "2")),
            body_seconds=int(os.environ.get("TRIAL_BODY", "60")),
            keepalive_seconds=int(os.environ.get("TRIAL_KEEP", "5")),
            graceful_seconds=60,
            certificate=folder / "cert.pem" if folder else None,
            key=folder / "key.pem" if folder else None,
        ),
    )


if __name__ == "__main__":
    sys.exit(main())

"""Runs inside the lab host as the reporter's user: one pass and one delivery, one JSON object.

`on_host_reporter.py`, with the reporter's settings in its environment: what the service does once a minute,
without the waiting that follows. `pass_s` leaves interpreter, imports and the journal's opening out, as
`on_host_upstream.py` does with the other agent's start, but not what each pass imports anew in its helper;
`commands` counts the processes it started.
"""

import json
import os
from time import perf_counter

BEGIN = perf_counter()


def main() -> None:
    from site_bundle.kernel.identity import become_component
    from site_bundle.kernel.runtime import utc_now
    from site_bundle.kernel.stop import Stop
    from site_bundle.reporter.adapters.sqlite_journal import JOURNAL_NAME, open_report_journal, statements
    from site_bundle.reporter.compose import observe_site, send_reports, sources_of
    from site_bundle.reporter.run import USER
    from site_bundle.reporter.settings import reporter_settings

    settings = reporter_settings(os.environ)
    statements()
    become_component(USER, settings.state_directory)
    journal = open_report_journal(settings.state_directory / JOURNAL_NAME)
    sources = sources_of(settings, os.environ, Stop(), helped=True)
    ready = perf_counter()
    observed = observe_site(settings, sources, journal).run(now=utc_now())
    read = perf_counter()
    sent = send_reports(sources, journal).run(now=utc_now())
    end = perf_counter()
    sources.close()
    journal.close()
    faults = (
        len(observed.failed) + len(observed.decision.faults) + len(sent.faults) + (sent.error is not None)
    )
    figures = {
        "start_s": ready - BEGIN,
        "pass_s": end - ready,
        "observe_s": read - ready,
        "send_s": end - read,
        "commands": float(sources.slurm.runs),
        "applied": float(len(observed.differences)),
        "faults": float(faults + (sent.error is not None)),
        "ready": float(sum(one.ready for found in observed.decision.sets for one in found.decided.accounts)),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

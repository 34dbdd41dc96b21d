"""The bodies of the HTTP calls (docs/wire.md), put together from the values of contract.py."""

from __future__ import annotations

from contract import (
    AMOUNTS,
    ARGV,
    ASKED,
    COMMAND,
    COUNT,
    ENVIRONMENT,
    FINGERPRINT,
    GRANTED,
    KEY,
    KEY_TYPE,
    LIFECYCLE,
    LIMITS,
    NAME,
    NOTE,
    OUTPUT,
    PATHS,
    POSITIVE,
    PROBLEM,
    PROVIDER_STATE,
    REASONS,
    RECEIPT,
    REFERENCE,
    REPOSITORY,
    SECRET,
    SITE,
    STAGE,
    TIME,
    UID,
    USERNAME,
    UUID,
    VERDICT,
    Schema,
    body,
    many,
    maybe,
    obj,
    one_of,
    text,
    whole,
)

ACCOUNTS = many(
    obj(
        partyId=UUID,
        name=text(),
        nativeUid=text(r"[^\x00-\x1f\x7f]{1,255}"),
        uidNumber=maybe(UID),
        bindingId=UUID,
        generation=POSITIVE,
        state=one_of("ready", "incomplete"),
    ),
    0,
    10_000,
)
MEMBERS = many(
    obj(
        username=REFERENCE,
        partyId=UUID,
        bindingId=UUID,
        bindingRevision=POSITIVE,
        generation=POSITIVE,
        state=one_of("active", "retired"),
    ),
    0,
    10_000,
)
KEY_BODY = body(
    keyId=UUID,
    site=SITE,
    name=text(minLength=1, maxLength=64),
    type=text(KEY_TYPE),
    fingerprint=FINGERPRINT,
    publicKey=KEY,
    state=one_of("pending", "active", "removing", "removed", "refused", "held"),
    reason=maybe(NAME),
    addedAt=TIME,
    changedAt=TIME,
    reportedAt=maybe(TIME),
    revision=POSITIVE,
)
SHORT_RUN = {
    "runId": UUID,
    "site": SITE,
    "state": one_of(
        "accepted", "waiting", "running", "cancelling", "completed", "failed", "cancelled", "timed_out"
    ),
    "reason": maybe(NAME),
    "createdBy": UUID,
    "createdAt": TIME,
    "changedAt": TIME,
    "revision": POSITIVE,
}
STAGE_SHOWN = obj(
    stage=STAGE,
    state=one_of("waiting", "issued", "submitted", "running", "done"),
    jobId=maybe(text("[0-9]{1,20}")),
    verdict=maybe(VERDICT),
    exitCode=maybe(whole(0, 255)),
    startedAt=maybe(TIME),
    endedAt=maybe(TIME),
)
RUN = body(
    runId=UUID,
    projectId=UUID,
    site=SITE,
    allocationId=UUID,
    state=SHORT_RUN["state"],
    reason=maybe(NAME),
    repository=REPOSITORY,
    argv=ARGV,
    resources=GRANTED,
    timeLimitSeconds=POSITIVE,
    deadline=TIME,
    createdBy=UUID,
    createdAt=TIME,
    changedAt=TIME,
    revision=POSITIVE,
    attempts=many(obj(attemptId=UUID, number=POSITIVE, askedBy=maybe(UUID), stages=many(STAGE_SHOWN)), 0, 10),
    output=OUTPUT,
    cancelledBy=maybe(UUID),
    waiting=maybe(obj(since=maybe(TIME), what=text(), remedy=text())),
    cleanup=maybe(obj(state=one_of("asked", "refused", "done", "settled"), reason=maybe(text()))),
)
RUN_RESULTS = body(
    runId=UUID,
    state=SHORT_RUN["state"],
    attempts=many(
        obj(
            attemptId=UUID,
            number=POSITIVE,
            stages=many(
                obj(
                    stage=STAGE,
                    verdict=VERDICT,
                    exitCode=maybe(whole(0, 255)),
                    signal=maybe(whole(0, 127)),
                    usage=maybe(obj(elapsedSeconds=COUNT, allocated=AMOUNTS)),
                    code=maybe(NAME),
                    observedAt=TIME,
                ),
                0,
                3,
            ),
        ),
        1,
        10,
    ),
    output=OUTPUT,
)

HTTP: dict[str, Schema] = {
    "Problem": PROBLEM,
    "SiteGrant": body(
        site=SITE,
        scopes=many(one_of("commands", "ssh-access"), 1, 2, uniqueItems=True),
        grantId=UUID,
        expiresAt=maybe(TIME),
    ),
    "SshAccessChanges": body(
        site=SITE,
        feed=UUID,
        after=COUNT,
        changes=many(
            obj(
                sequence=POSITIVE,
                changeId=UUID,
                act=one_of("present", "absent"),
                keyId=UUID,
                publicKey=KEY,
                fingerprint=FINGERPRINT,
                target=obj(username=USERNAME, uidNumber=UID, entryUUID=UUID),
            ),
            0,
            500,
        ),
        next=COUNT,
        more={"type": "boolean"},
    ),
    "SshAccessResults": body(
        reportId=UUID,
        observedAt=TIME,
        results=many(
            obj(
                changeId=UUID,
                sequence=POSITIVE,
                keyId=UUID,
                outcome=one_of("applied", "removed_from_directory", "pending", "held", "refused"),
                code=maybe(NAME),
            ),
            1,
            500,
        ),
    ),
    "SshAccessReceipts": body(
        receipts=many(obj(changeId=UUID, outcome=one_of("recorded", "unchanged", "stale", "unknown")))
    ),
    "MemberKeyAdd": body(site=SITE, publicKey=text(), name=text(minLength=1, maxLength=64)),
    "MemberKey": KEY_BODY,
    "MemberKeys": body(keys=many(KEY_BODY)),
    "ExecutionConsentGive": body(
        code=text(r"[\x21-\x7e]{1,2048}"),
        codeVerifier=text("[A-Za-z0-9._~-]{43,128}"),
        redirectUri=text(r"https?://[\x21-\x22\x24-\x7e]{1,2000}"),
    ),
    "ExecutionConsent": body(
        state=one_of("none", "standing", "ended"), consentedAt=maybe(TIME), endedAt=maybe(TIME)
    ),
    "SiteCommands": body(
        site=SITE,
        feed=UUID,
        after=COUNT,
        commands=many(COMMAND, 0, 100),
        next=COUNT,
        more={"type": "boolean"},
    ),
    "CommandAck": body(
        ackId=UUID,
        attemptId=UUID,
        acknowledgedAt=TIME,
        outcome=one_of("accepted", "refused"),
        jobId=maybe(text("[0-9]{1,20}")),
        cluster=maybe(text("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")),
        code=maybe(NAME),
    ),
    "CommandReceipt": body(commandId=UUID, outcome=RECEIPT),
    "CommandResult": body(
        resultId=UUID,
        attemptId=UUID,
        observedAt=TIME,
        verdict=VERDICT,
        exitCode=maybe(whole(0, 255)),
        signal=maybe(whole(0, 127)),
        startedAt=maybe(TIME),
        endedAt=maybe(TIME),
        usage=maybe(obj(elapsedSeconds=COUNT, allocated=AMOUNTS)),
        output=OUTPUT,
        code=maybe(NAME),
    ),
    "MemberTokenRequest": body(attemptId=UUID),
    "MemberToken": body(
        token=SECRET,
        expiresAt=TIME,
        validUntil=TIME,
        repositoryCredential=maybe(obj(username=SECRET, password=SECRET, expiresAt=TIME)),
    ),
    "SiteMaintenance": body(
        statementId=UUID, observedAt=TIME, draining={"type": "boolean"}, until=maybe(TIME), reason=NOTE
    ),
    "AllocationReport": body(
        reportId=UUID,
        observedAt=TIME,
        resources=many(
            obj(
                resourceId=UUID,
                offeringId=UUID,
                providerProjectRef=REFERENCE,
                nativeName=maybe(REFERENCE),
                state=PROVIDER_STATE,
                paused={"type": "boolean"},
                **LIMITS,
            ),
            0,
            1000,
        ),
    ),
    "AllocationReportOutcomes": body(
        reportId=UUID,
        receivedAt=TIME,
        outcomes=many(
            obj(
                resourceId=UUID,
                allocationId=maybe(UUID),
                outcome=one_of(
                    "changed", "seen", "unchanged", "stale_report", "conflicting_report", "refused"
                ),
                revision=maybe(POSITIVE),
                code=maybe(NAME),
            )
        ),
    ),
    "SiteAllocation": body(
        allocationId=UUID,
        site=SITE,
        resourceId=UUID,
        projectId=maybe(UUID),
        revision=POSITIVE,
        lifecycle=LIFECYCLE,
        reasons=REASONS,
        state=PROVIDER_STATE,
        paused={"type": "boolean"},
        **LIMITS,
        observedAt=TIME,
        lastSeenAt=TIME,
    ),
    "AccountReport": body(
        reportId=UUID,
        observedAt=TIME,
        allocationId=UUID,
        accounts=ACCOUNTS,
    ),
    "AccountReportReceipt": body(
        reportId=UUID, allocationId=UUID, outcome=RECEIPT, accounts=COUNT, receivedAt=TIME
    ),
    "AccountSets": body(
        reportId=UUID,
        observedAt=TIME,
        sets=many(obj(allocationId=UUID, accounts=ACCOUNTS), 1, 1_000),
    ),
    "AccountSetsOutcomes": body(
        reportId=UUID,
        receivedAt=TIME,
        outcomes=many(
            obj(
                allocationId=UUID,
                outcome=one_of("recorded", "unchanged", "stale_report", "conflicting_report", "refused"),
                code=maybe(one_of("allocation_unknown", "account_name_invalid", "state_corrupt")),
            ),
            1,
            1_000,
        ),
    ),
    "SiteMember": body(
        projectId=UUID,
        partyId=UUID,
        bindingId=UUID,
        bindingRevision=POSITIVE,
        generation=POSITIVE,
        state=one_of("active", "retired"),
    ),
    "SiteMembers": body(
        projectId=UUID,
        asOf=TIME,
        count=COUNT,
        members=MEMBERS,
    ),
    "ProjectMembersRequest": body(
        providerProjectRefs=many(text(r"[^\x00-\x1f\x7f]{1,255}"), 1, 1_000, uniqueItems=True)
    ),
    "ProjectMembers": body(
        asOf=TIME,
        projects=many(
            obj(
                providerProjectRef=text(r"[^\x00-\x1f\x7f]{1,255}"),
                projectId=maybe(UUID),
                code=maybe(one_of("project_unknown", "unavailable")),
                count=COUNT,
                members=MEMBERS,
            ),
            1,
            1_000,
        ),
    ),
    "RetainedAccounts": body(
        site=SITE,
        asOf=TIME,
        count=COUNT,
        accounts=many(
            obj(projectId=UUID, partyId=UUID, bindingId=UUID, generation=POSITIVE, username=REFERENCE),
            uniqueItems=True,
        ),
    ),
    "ProjectAllocations": body(
        projectId=UUID,
        allocations=many(
            obj(
                allocationId=UUID,
                site=SITE,
                revision=POSITIVE,
                lifecycle=LIFECYCLE,
                reasons=REASONS,
                **LIMITS,
                observedAt=TIME,
            )
        ),
    ),
    "RunCreate": body(
        site=SITE,
        allocationId=maybe(UUID),
        repository=REPOSITORY,
        argv=ARGV,
        environment=ENVIRONMENT,
        resources=ASKED,
        timeLimitSeconds=whole(1, 31_536_000),
        outputs=PATHS,
        deadline=TIME,
    ),
    "Run": RUN,
    "RunList": body(projectId=UUID, runs=many(obj(**SHORT_RUN)), nextPageToken=maybe(text())),
    "RunCancel": body(reason=NOTE),
    "RunRetry": body(),
    "RunCleanup": body(),
    "RunResults": RUN_RESULTS,
}
"""Bodies of HTTP calls by the name of their schema; `golden_name` gives their golden's."""

// Rules about callers: keys, sessions, repeated requests, the audit log.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const claims = "docs/security/tests.md"
const named = "docs/api.md: claims"
const plans = "docs/configuration-as-code.md"
const console = "docs/security/console.md"
const failures = "test/transactions-failures.md"

export const callers: ReadonlyArray<Mutant> = [
  ...inFile("src/server/transactions/TransactionViews.ts", [
    {
      name: "front-of-another-relayer-is-not-named",
      rule: "A caller that cannot use the relayer of the transaction in front sees neither its id nor its amounts.",
      source: `${claims}: a key sees its relayers alone`,
      before: "if (!Caller.mayUseRelayer(yield* Caller.current, relayerId)) {",
      after: "if (!Caller.mayUseRelayer(yield* Caller.current, relayerId) && id.length === 0) {",
      test: "test/server/transactions/Explained.test.ts",
      only: "names the one in front that waits"
    }
  ]),
  ...inFile("src/server/claims/ClaimsRepo.ts", [
    {
      name: "claimed-name-has-one-holder",
      rule: "Nobody but its holder claims a name before its lease has ended.",
      source: named,
      before: "WHERE (NOT c.is_final AND ${isOf(holder)}) OR NOT ${isOpen}",
      after: "WHERE NOT c.is_final OR NOT ${isOpen}",
      test: "test/server/claims/Claims.test.ts"
    },
    {
      name: "final-claim-is-not-claimed",
      rule: "A final claim is not turned into a lease, not even by its holder.",
      source: named,
      before: "WHERE (NOT c.is_final AND ${isOf(holder)}) OR NOT ${isOpen}",
      after: "WHERE ${isOf(holder)} OR NOT ${isOpen}",
      test: "test/server/claims/Claims.test.ts"
    },
    {
      name: "lapsed-holder-makes-nothing-final",
      rule: "A claim is made final only before its lease has ended.",
      source: named,
      before:
        'AND ${isOf(holder)} AND NOT c.is_final AND ${isOpen}\n      RETURNING ${columns}`.pipe(Effect.flatMap(readClaim), query("ClaimsRepo.finish',
      after:
        'AND ${isOf(holder)} AND NOT c.is_final\n      RETURNING ${columns}`.pipe(Effect.flatMap(readClaim), query("ClaimsRepo.finish',
      test: "test/server/claims/Claims.test.ts"
    },
    {
      name: "final-claim-is-not-released",
      rule: "Nobody releases a final claim.",
      source: named,
      before:
        'WHERE c.name = ${name} AND ${isOf(holder)} AND NOT c.is_final AND ${isOpen}\n      RETURNING ${columns}`.pipe(Effect.flatMap(readClaim), query("ClaimsRepo.release',
      after:
        'WHERE c.name = ${name} AND ${isOf(holder)} AND ${isOpen}\n      RETURNING ${columns}`.pipe(Effect.flatMap(readClaim), query("ClaimsRepo.release',
      test: "test/server/claims/Claims.test.ts"
    },
    {
      name: "claim-belongs-to-its-key",
      rule: "Another API key with the same `by` is another holder.",
      source: named,
      before: "sql`c.holder = ${by} AND c.key_id = ${keyId}`",
      after: "sql`c.holder = ${by} AND ${keyId}::text IS NOT NULL`",
      test: "test/server/claims/Claims.test.ts"
    }
  ]),
  ...inFile("src/server/claims/Claims.ts", [
    {
      name: "holder-is-hidden-from-other-keys",
      rule: "No API key reads who has claimed a name with another key.",
      source: named,
      before: "...(key_id === keyId ? { by: holder } : {}),",
      after: "by: key_id === keyId ? holder : holder.trim(),",
      test: "test/server/claims/Claims.test.ts"
    }
  ]),
  ...inFile("src/server/access/KeyAuthentication.ts", [
    {
      name: "scope-is-needed",
      rule: "A request needs the scope of its operation.",
      source: `${claims}: a wallet client needs the scope of each call`,
      before: `(caller.scopes === undefined || allows(caller.scopes, scope ?? "*"))`,
      after: `(caller.scopes === undefined || caller.scopes.length > 0 || allows(caller.scopes, scope ?? "*"))`,
      test: "test/server/access/KeyAuthentication.test.ts"
    },
    {
      name: "narrowed-key-reaches-its-relayers",
      rule: "A narrowed key reaches only its relayers.",
      source: `${claims}: a narrowed key reaches only its relayers`,
      before: "(relayerId === undefined || mayUseRelayer(caller, relayerId))",
      after: "(relayerId === undefined || relayerId.length > 0 || mayUseRelayer(caller, relayerId))",
      test: "test/server/access/KeyAuthentication.test.ts"
    },
    {
      name: "narrowed-key-has-narrow-scopes",
      rule: "A narrowed key does nothing that concerns all relayers.",
      source: `${claims}: a narrowed key reaches only its relayers`,
      before: "scope === undefined || isNarrowable(scope)) &&",
      after: "scope === undefined || isNarrowable(scope) || scope.length > 0) &&",
      test: "test/server/access/KeyAuthentication.test.ts"
    }
  ]),
  ...inFile("src/server/access/KeyChanges.ts", [
    {
      name: "created-key-has-no-other-scopes",
      rule: "No key can create a key with more rights than its own.",
      source: `${claims}: no key can create a key with more rights than its own`,
      before: "return hasScopes && hasRelayers",
      after: "return hasRelayers || hasScopes",
      test: "test/server/access/ApiKeysPowers.test.ts"
    },
    {
      name: "created-key-does-not-outlive-its-creator",
      rule: "A key does not outlive the key that has created it.",
      source: `${claims}: no key can create a key with more rights than its own`,
      before: "return DateTime.isGreaterThan(given, latest)",
      after: "return DateTime.isGreaterThan(latest, latest)",
      test: "test/server/access/ApiKeysDerived.test.ts"
    }
  ]),
  ...inFile("src/server/console/Gate.ts", [
    {
      name: "requests-of-the-own-origin",
      rule: "Only pages of the own origin use a session, and not those of another port.",
      source: `${console}: CSRF`,
      before: `fetchSite === "same-origin"`,
      after: `fetchSite !== "cross-site"`,
      test: "test/server/console/Site.test.ts"
    },
    {
      name: "requests-for-the-own-host",
      rule: "A request for another host gets no session, as after DNS rebinding.",
      source: `${console}: DNS rebinding`,
      before: "return site.isLoopback ? site : undefined",
      after: "return site.isLoopback ? site : site",
      test: "test/server/console/Site.test.ts"
    },
    {
      name: "cookie-differs-by-port",
      rule: "Two services of one host do not end each other's sessions.",
      source: `${console}: two services of one host`,
      before: 'relayer-console-${port === "" ? "80" : port}`',
      after: 'relayer-console-${port === "" ? "80" : "80"}`',
      test: "test/server/console/Site.test.ts"
    },
    {
      name: "cookie-is-http-only",
      rule: "A script does not read the session.",
      source: `${console}: a script reads the session`,
      before: `const always = "HttpOnly; SameSite=Strict"`,
      after: `const always = "SameSite=Strict"`,
      test: "test/server/console/Threats.test.ts",
      only: "gets no secret half from a script"
    }
  ]),
  ...inFile("src/server/console/Gate.ts", [
    {
      name: "two-cookies-end-both",
      rule: "Two cookies of the name end both sessions, because another server has set one of them.",
      source: `${console}: a server on another port sets the cookie`,
      before: "cookies.length > 1 ? endBoth(sessions, cookies) : Effect.void",
      after: "cookies.length > 1 ? Effect.asVoid(Effect.succeed(cookies)) : Effect.void",
      test: "test/server/console/Threats.test.ts",
      only: "that sets a second cookie"
    }
  ]),
  ...inFile("src/server/console/Sessions.ts", [
    {
      name: "session-needs-its-proof",
      rule: "The cookie without the proof is worth nothing.",
      source: `${console}: a server on another port of the host receives the cookie`,
      before: "!isEqualHash(proofHash, hashOfProof(proof)) || !isLiveSession(session, now)",
      after: 'proofHash.length === 0 || proof === "" || !isLiveSession(session, now)',
      test: "test/server/console/Threats.test.ts",
      only: "cannot use either half alone"
    },
    {
      name: "session-is-bound-to-its-key",
      rule: "A session cannot be made up from rows of other sessions.",
      source: `${console}: a writer of the database makes a session of the administrator`,
      before: "if (!isBound) return Option.none()",
      after: "if (Option.isNone(key)) return Option.none()",
      test: "test/server/console/Sessions.test.ts",
      only: "cannot be made up from rows of other sessions"
    },
    {
      name: "session-ends",
      rule: "A session ends at its time.",
      source: `${console}: a stream or a tab outlives the session`,
      before: " || !isLiveSession(session, now)) {",
      after: ") {",
      test: "test/server/console/Sessions.test.ts"
    }
  ]),
  ...inFile("src/domain/access/Caller.ts", [
    {
      name: "read-only-session-reads-only",
      rule: "A session that is read-only has the scopes that end in :read, and no others.",
      source: `${console}: a person who may only look changes something`,
      before: "isReading(scope) && allows(scopes, scope)",
      after: "allows(scopes, scope)",
      test: "test/server/console/Sessions.test.ts",
      only: "that is read-only lacks every scope"
    }
  ]),
  ...inFile("src/server/idempotency/IdempotencyStore.ts", [
    {
      name: "idempotency-key-of-one-request",
      rule: "A key of idempotency is refused for another request.",
      source: `${failures} 48`,
      before: "if (!isSame) return yield* new IdempotencyKeyReused({})",
      after: "",
      test: "test/server/idempotency/Idempotency.test.ts"
    },
    {
      name: "idempotency-key-of-one-caller",
      rule: "A stored response is returned only to its caller.",
      source: `${claims}: a stored response is returned only to its caller`,
      before: "sha256(joined(callerId, key))",
      after: "sha256(joined(key))",
      test: "test/server/idempotency/Idempotency.test.ts"
    }
  ]),
  ...inFile("src/server/access/ApiKeys.ts", [
    {
      name: "unknown-key-is-remembered-if-committed",
      rule: "A key that is unknown only in a transaction that is rolled back still works.",
      source: `${claims}: API keys expire and can be revoked`,
      before: "Option.isSome(running) ? findByHash(hash) : Cache.get(unknown, hash)",
      after: "Option.isSome(running) ? Cache.get(unknown, hash) : Cache.get(unknown, hash)",
      test: "test/server/access/ApiKeys.test.ts",
      only: "in a transaction that is rolled back"
    }
  ]),
  ...inFile("src/server/access/KeyAuthentication.ts", [
    {
      name: "refusal-is-recorded-if-committed",
      rule: "A refusal whose record is rolled back does not keep the next one out of the audit log.",
      source: `${claims}: refused requests of a key are in the audit log`,
      before: "Effect.andThen(sql.afterCommit(begin(name)), record(one, 1))",
      after: "Effect.andThen(begin(name), record(one, 1))",
      test: "test/server/access/Refusals.test.ts",
      only: "in a transaction that is rolled back"
    }
  ]),
  ...inFile("src/server/audit/Chain.ts", [
    {
      name: "audit-log-is-chained",
      rule: "The hash of a record covers the record before it.",
      source: `${claims}: the verification of the audit log shows tampering`,
      before: `createHash("sha256").update(before.hash).update(text)`,
      after: `createHash("sha256").update(text)`,
      test: "test/server/audit/Chain.test.ts"
    },
    {
      name: "audit-hash-is-compared",
      rule: "A record that was changed is found.",
      source: `${claims}: the verification of the audit log shows tampering`,
      before: "timingSafeEqual(row.hash, expected.hash)",
      after: "row.hash.length > 0",
      test: "test/server/audit/Chain.test.ts"
    }
  ]),
  ...inFile("src/server/audit/Audit.ts", [
    {
      name: "administrator-prunes-the-audit-log",
      rule: "The audit log is pruned by the administrator only.",
      source: `${claims}: the audit log is pruned by the administrator only`,
      before: "if (!Caller.isAdministrator(yield* Caller.current)) return yield* new Caller.Forbidden({})",
      after: "",
      test: "test/server/audit/AuditCheckpoints.test.ts"
    }
  ]),
  ...inFile("src/domain/request/Change.ts", [
    {
      name: "plan-marks-a-removed-limit",
      rule: "A plan marks a limit that is raised, and one that is removed.",
      source: `${plans}: what allows more is marked`,
      before: "before !== undefined && (after === undefined || isGreater(after, before))",
      after: "before !== undefined && after !== undefined && isGreater(after, before)",
      test: "test/domain/configuration/Comparison.test.ts"
    },
    {
      name: "plan-compares-amounts-exactly",
      rule: "A plan compares amounts beyond 2^53 exactly.",
      source: `${plans}: what allows more is marked`,
      before: "return isExact ? BigInt(one) > BigInt(other) : ",
      after: "return ",
      test: "test/domain/configuration/Comparison.test.ts"
    }
  ]),
  ...inFile("src/domain/relayer/Policy.ts", [
    {
      name: "fields-of-policies-say-what-a-change-means",
      rule: "Each field of a policy says what a change of it means.",
      source: `${plans}: what allows more is marked`,
      before: "max_lamports_out: upperLimit(",
      after: "max_lamports_out: maybe(",
      test: "test/domain/configuration/Meanings.test.ts"
    },
    {
      name: "limits-of-policies-are-marked",
      rule: "A plan marks a higher limit of a policy.",
      source: `${plans}: what allows more is marked`,
      before: "max_lamports_out: upperLimit(",
      after: "max_lamports_out: harmless(",
      test: "test/domain/configuration/Meanings.test.ts"
    }
  ]),
  ...inFile("src/server/configuration/Writing.ts", [
    {
      name: "apply-removes-what-is-left-out",
      rule: "An apply removes what the document leaves out.",
      source: `${plans}: an apply makes of an object what the document says`,
      before: "if (!isMembers(before) || !isMembers(after)) return after ?? null",
      after: "if (!isMembers(before) || !isMembers(after)) return after ?? before",
      test: "test/server/configuration/Applying.test.ts",
      only: "what the document leaves out of an object that it had before is removed"
    }
  ]),
  ...inFile("src/server/relayers/RelayerChanges.ts", [
    {
      name: "mistyped-receiver-of-a-new-policy",
      rule: "A relayer is not created with a mistyped address in its policy.",
      source: "docs/policies.md: a mistyped address",
      before: "yield* checkAddresses(request.network_type, request.policies)",
      after: "",
      test: "test/server/MistypedAddresses.test.ts"
    }
  ]),
  ...inFile("src/domain/chain/MistypedAddresses.ts", [
    {
      name: "mistyped-address-is-refused-each-time",
      rule: "A mistyped address is refused each time it is given.",
      source: "docs/policies.md: a mistyped address",
      before: "if (found === undefined) {",
      after: "{",
      test: "test/domain/chain/MistypedAddresses.test.ts"
    },
    {
      name: "address-of-another-type",
      rule: "An address that is right on one type of network is checked again on another one.",
      source: "docs/policies.md: a mistyped address",
      before: "const known = faultless[type]",
      after: "const known = faultless.evm",
      test: "test/domain/chain/MistypedAddresses.test.ts"
    }
  ]),
  ...inFile("src/server/access/KeyChanges.ts", [
    {
      name: "mistyped-receiver-of-a-new-key",
      rule: "An API key is not created with a mistyped receiver.",
      source: "docs/policies.md: a mistyped address",
      before: "[...tooWide(request), ...mistypedLimits(request.transaction_limits)]",
      after: "tooWide(request)",
      test: "test/server/MistypedAddresses.test.ts"
    }
  ])
]

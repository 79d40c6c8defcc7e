// Rules about what is accepted, and what counts for the limits of an API key.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/server/ledger"
const tests = "test/server/ledger"
const failures = "test/transactions-failures.md"
const claims = "docs/security/tests.md"
const adr = "docs/adr/0025-locks-and-the-order-of-events.md"
const whole = "docs/adr/0027-acceptance-in-one-statement.md"
const windows = `${tests}/Windows.test.ts`
const terms = "test/server/transactions/RememberedTerms.test.ts"
const wholes = `${tests}/WholeAcceptance.test.ts`
const repeats = "test/server/transactions/Repeats.test.ts"

export const acceptance: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/Accepting.ts`, [
    {
      name: "external-id-with-another-body",
      rule: "An external_id that was used with another body is refused.",
      source: `${failures} 48`,
      before: `      if (named !== undefined && named.bodyHash !== bodyHash) return yield* otherBody(named.id)
      const same = named ?? (identity === undefined ? undefined : identical.get(identity))
      if (same !== undefined && same.bodyHash !== bodyHash) return`,
      after: `      const same = named ?? (identity === undefined ? undefined : identical.get(identity))
      if (named === undefined && same !== undefined && same.bodyHash !== bodyHash) return`,
      test: `${tests}/LedgerAcceptance.test.ts`
    },
    {
      name: "same-bytes-with-another-body",
      rule: "Bytes that were accepted with another body are refused.",
      source: `${failures} 48`,
      before: "if (same !== undefined && same.bodyHash !== bodyHash) return",
      after: "if (same !== undefined && same.bodyHash === undefined) return",
      test: repeats,
      only: "with another body is 409"
    },
    {
      name: "an-acceptance-that-always-loses-ends",
      rule: "An acceptance that loses each race ends as an error.",
      source: `${failures} 48`,
      before: ", times: maxRaces }",
      after: " }",
      test: `${tests}/LedgerAcceptance.test.ts`,
      only: "ends as an error if its row is never stored"
    }
  ]),
  ...inFile("src/server/transactions/Transactions.ts", [
    {
      name: "repeat-is-found-after-a-refusal",
      rule: "What was accepted before is answered as accepted, whatever refuses it by now.",
      source: `${failures} 48`,
      before: "if (!Arr.isReadonlyArrayNonEmpty(accepted)) return yield* refusal",
      after: "if (known.length >= 0) return yield* refusal",
      test: repeats,
      only: "is answered with its transaction in spite of"
    },
    {
      name: "repeat-needs-the-right-to-read",
      rule: "A repeat shows the transaction of another key only to callers that may read it.",
      source: "docs/api.md: repeats of a send",
      before: "stored !== undefined && mayRead(caller, stored) ? stored : undefined",
      after: "stored !== undefined && caller.id.length > 0 ? stored : undefined",
      test: repeats,
      only: "if the key may not read it"
    },
    {
      name: "repeats-in-a-batch-are-not-checked-again",
      rule: "A batch checks only those of its transactions that were not accepted before.",
      source: `${failures} 48`,
      before: "bodies.filter(({ index }) => known[index] === undefined)",
      after: "bodies.filter(({ index }) => index >= 0)",
      test: repeats,
      only: "beside a new transaction that is refused"
    },
    {
      name: "refused-batch-names-repeats",
      rule: "The refusal of a batch names those of its transactions that were accepted before.",
      source: `${failures} 48`,
      before: "(other) => besides(other, known, reading)",
      after: "(other) => other",
      test: repeats,
      only: "beside a new transaction that is refused"
    }
  ]),
  ...inFile("src/server/transactions/Transactions.ts", [
    {
      name: "remembered-terms-only-permit",
      rule: "What remembered terms refuse is decided again by fresh ones.",
      source: `${whole}: Remembered terms`,
      before: "yield* Effect.option(acceptBy(remembered, reading, known))",
      after: "yield* Effect.asSome(acceptBy(remembered, reading, known))",
      test: terms
    }
  ]),
  ...inFile("src/server/transactions/Intake.ts", [
    {
      name: "terms-are-remembered-for-half-a-minute",
      rule: "Terms are remembered for 30 seconds at most.",
      source: `${whole}: Remembered terms`,
      before: "- one.readAt > termsKept) return undefined",
      after: "- one.readAt > 60n * termsKept) return undefined",
      test: terms
    }
  ]),
  ...inFile("src/networks/evm/requests/EvmNodeCalls.ts", [
    {
      name: "wallet-needs-the-right-to-read",
      rule: "A wallet gets the hash of an earlier call of another key only if its key may read it.",
      source: "docs/api.md: repeats of a send",
      before: "found !== undefined && mayRead(yield* Caller.current, found) ? found",
      after: "found !== undefined ? found",
      test: "test/networks/evm/requests/wallet/Viem.test.ts",
      only: "only to a key that may read it"
    }
  ]),
  ...inFile("src/server/transactions/Intake.ts", [
    {
      name: "sender-gets-its-repeats",
      rule: "A key that may only send gets its own repeats answered as accepted.",
      source: "docs/api.md: repeats of a send",
      before: ` || apiKeyId === caller.id`,
      after: "",
      test: repeats,
      only: "if the key may not read it"
    }
  ]),
  ...inFile(`${source}/AcceptanceChecks.ts`, [
    {
      name: "counted-for-each-insertion-near-the-limit",
      rule: "Instances that accept for a relayer at the same time exceed its limit only by what is in flight.",
      source: `${whole}: Limits of open transactions`,
      before: "count + more > countedAbove || ",
      after: "",
      test: `${tests}/LedgerAcceptance.test.ts`,
      only: "for what another instance has accepted just before"
    },
    {
      name: "a-count-ends-after-a-hundred",
      rule: "An instance accepts few transactions of a relayer before it sees what others have accepted.",
      source: `${whole}: Limits of open transactions`,
      before: " || count + more - found > maxByCount",
      after: "",
      test: `${tests}/LedgerAcceptance.test.ts`,
      only: "after a hundred"
    }
  ]),
  ...inFile(`${source}/RelayerTransactionsRepo.ts`, [
    {
      name: "wallet-repeats-the-same-call",
      rule: "A wallet that requires a nonce gets the hash of an earlier call only for the same call.",
      source: "docs/api.md: repeats of a send",
      before: " AND t.body_hash = ${bodyHash} AND",
      after: " AND",
      test: "test/networks/evm/requests/wallet/Viem.test.ts",
      only: "gets the hash of a call that it repeats"
    }
  ]),
  ...inFile(`${source}/TransactionsRepo.ts`, [
    {
      name: "acceptance-reads-a-pause-anew",
      rule: "A pause that was committed before an acceptance locks its relayer refuses it.",
      source: `${failures} 49`,
      before: "NOT r.paused FOR SHARE",
      after: "NOT r.paused ${waits ? sql`FOR KEY SHARE` : sql`FOR SHARE`}",
      test: windows,
      only: "an acceptance"
    },
    {
      name: "batch-reads-a-pause-anew",
      rule: "A pause that was committed before a batch locks its relayers leaves their transactions out.",
      source: `${failures} 49`,
      before: "NOT r.paused FOR SHARE",
      after: "NOT r.paused ${waits ? sql`FOR SHARE` : sql`FOR KEY SHARE`}",
      test: windows,
      only: "an acceptance"
    },
    {
      name: "acceptance-holds-its-relayer",
      rule: "A relayer is not paused while a transaction is accepted for it.",
      source: `${failures} 49`,
      before: "FOR SHARE OF r",
      after: "FOR KEY SHARE OF r",
      test: windows,
      only: "an acceptance"
    },
    {
      name: "batch-lets-a-change-pass",
      rule: "A batch leaves out relayers whose change waits, so that acceptances do not delay a pause.",
      source: adr,
      before: "sql`WHERE ${tryTurn(sql, sql`seq`)}`",
      after: "sql``",
      test: windows,
      only: "an acceptance"
    },
    {
      name: "batch-takes-its-own-turns",
      rule: "A batch takes the turns of its own relayers, and not those of all relayers in the table.",
      source: adr,
      before: "SELECT seq FROM asked ${waits",
      after: "SELECT seq FROM relayers ${waits",
      test: windows,
      only: "an acceptance"
    },
    {
      name: "acceptance-lets-a-change-pass",
      rule: "An acceptance comes after a change of its relayer that waits.",
      source: adr,
      before: "(SELECT ${sharedTurn(sql, number)})",
      after: "(SELECT 1)",
      test: windows,
      only: "an acceptance"
    },
    {
      name: "paused-relayer-accepts-nothing",
      rule: "A paused relayer accepts nothing in a batch.",
      source: `${failures} 49`,
      before: " AND NOT r.paused FOR SHARE",
      after: " FOR SHARE",
      test: `${tests}/LedgerAcceptance.test.ts`
    },
    {
      name: "body-is-remembered",
      rule: "The hash of the body is stored, so that a repeat is recognised.",
      source: `${failures} 48`,
      before: "body_hash: bodyHash,",
      after: "body_hash: `${bodyHash}0`,",
      test: `${tests}/LedgerAcceptance.test.ts`
    }
  ]),
  ...inFile(`${source}/WholeAcceptances.ts`, [
    {
      name: "whole-acceptance-waits-for-no-change",
      rule: "One statement for several acceptances waits for no lock: what would wait goes alone.",
      source: `${whole}: Decision`,
      before: "WITH ${sendingOf(rows, false)}",
      after: "WITH ${sendingOf(rows, true)}",
      test: windows,
      only: "an acceptance"
    },
    {
      name: "delivery-is-for-the-present-notification",
      rule: "An acceptance whose relayer has another notification by now goes alone, with the delivery for that one.",
      source: `${whole}: Decision`,
      before: "sending.notified IS NOT DISTINCT FROM given.notification",
      after: "true",
      test: wholes,
      only: "notification between"
    },
    {
      name: "what-is-left-out-has-no-records",
      rule: "Records, events and deliveries are written only of what is accepted.",
      source: `${whole}: Decision`,
      before: "SELECT given.* FROM given JOIN inserted ON inserted.id = given.id::uuid",
      after: "SELECT given.* FROM given",
      test: wholes,
      only: "between the snapshot and the lock"
    },
    {
      name: "remembered-relayer-is-compared",
      rule: "Remembered terms accept nothing if the relayer has changed since they were read.",
      source: `${whole}: Remembered terms`,
      before: "given.terms = sending.state",
      after: "sending.state <> ''",
      test: terms
    },
    {
      name: "remembered-networks-are-compared",
      rule: "Remembered terms accept nothing if the network, or one that it inherits from, has changed since they were read.",
      source: `${whole}: Remembered terms`,
      before: "AND given.n NOT IN (SELECT part FROM stale)",
      after: "",
      test: terms,
      only: "the network of its relayer"
    },
    {
      name: "first-row-of-a-network-is-noticed",
      rule: "Remembered terms accept nothing if a built-in network of theirs is changed for the first time.",
      source: `${whole}: Remembered terms`,
      before: "(account.terms?.networks ?? []).map(",
      after: "(account.terms?.networks ?? []).filter(({ state }) => state !== undefined).map(",
      test: terms,
      only: "the network of its relayer"
    },
    {
      name: "statement-of-a-batch-is-bounded",
      rule: "One statement stores at most 512 acceptances and 4 MiB.",
      source: `${whole}: Decision`,
      before: "if (last.length >= maxStatement.rows || size > maxStatement.size) {",
      after: "if (size > maxStatement.size) {",
      test: wholes,
      only: "the statements of a batch"
    }
  ]),
  ...inFile(`${source}/Accepting.ts`, [
    {
      name: "unknown-outcome-is-not-tried-alone",
      rule: "An acceptance whose outcome is unknown is not tried again.",
      source: `${whole}: Decision`,
      before: "isRefused(defect) ? oneByOne(admitted) : Effect.die(defect)",
      after: "isRefused(defect) ? oneByOne(admitted) : oneByOne(admitted)",
      test: wholes,
      only: "whose connection is cut"
    },
    {
      name: "refused-part-goes-alone",
      rule: "If the server refuses a statement, each of its acceptances goes alone.",
      source: `${whole}: Decision`,
      before: "isRefused(defect) ? oneByOne(admitted) : Effect.die(defect)",
      after: "isRefused(defect) ? Effect.die(defect) : Effect.die(defect)",
      test: wholes,
      only: "that the server refuses"
    },
    {
      name: "refused-part-keeps-the-transaction-of-its-caller",
      rule: "A statement that the server refuses does not end the transaction of its caller.",
      source: `${whole}: Decision`,
      before: "Option.isSome(running) ? transaction(self) : self",
      after: "Option.isSome(running) ? self : self",
      test: wholes,
      only: "does not end the transaction"
    },
    {
      name: "what-is-compared-needs-fresh-terms",
      rule: "What has to be compared with other transactions is decided by fresh terms.",
      source: `${whole}: Remembered terms`,
      before: "if (account.terms !== undefined && whole === undefined) return yield* new TermsForgotten({})",
      after: "",
      test: terms,
      only: "compared with others"
    },
    {
      name: "named-transaction-is-compared",
      rule: "A transaction that another one can conflict with is compared with the others.",
      source: `${whole}: Decision`,
      before: "const whole = canConflict(acceptance.transaction) ? undefined : yield* wholeOf(acceptance)",
      after: "const whole = yield* wholeOf(acceptance)",
      test: `${tests}/Identities.test.ts`
    },
    {
      name: "lane-hears-after-the-commit",
      rule: "An acceptance reaches the lanes of its process after its commit, and not at all if it is rolled back.",
      source: `${whole}: Decision`,
      before:
        "    yield* records.afterCommit\n    yield* events.afterCommit\n    if (wholes.some(({ delivery }) => delivery !== undefined)) yield* deliveries.afterCommit",
      after: "    yield* records.now\n    yield* events.now\n    yield* deliveries.now",
      test: wholes,
      only: "in the transaction of a caller"
    }
  ]),
  ...inFile(`${source}/AcceptanceChecks.ts`, [
    {
      name: "bytes-are-accepted-once",
      rule: "The same bytes are accepted once.",
      source: "docs/security/solana.md: attack 32",
      before: "const [rival] = yield* repo.rivals(account, added)\n    if (rival !== undefined)",
      after: "const [rival] = yield* repo.rivals(account, added)\n    if (rival !== undefined && added.length > 1000)",
      test: `${tests}/Identities.test.ts`
    },
    {
      name: "doubtful-bytes-are-looked-for",
      rule: "Bytes that are stored already are not accepted in a batch.",
      source: "docs/security/solana.md: attack 32",
      before: "return new Set([...repeated, ...(yield* repo.taken(added))])",
      after: "return new Set(repeated)",
      test: `${tests}/Giving.test.ts`,
      only: "is taken over by a later transaction"
    }
  ]),
  ...inFile(`${source}/AcceptanceChecks.ts`, [
    {
      name: "fee-limit-counts-what-is-added",
      rule: "What is accepted counts before it is compared with the limit of fees.",
      source: `${claims}: a send is limited by the policy, and by the limits of its key`,
      before: "if (used + more > maximum)",
      after: "if (used > maximum)",
      test: `${tests}/LedgerAcceptance.test.ts`
    },
    {
      name: "changed-limit-is-found",
      rule: "A limit of fees that was replaced while a statement waited for it is read again.",
      source: adr,
      before: "if (found.length === limits.length) return found",
      after: "if (found.length <= limits.length) return found",
      test: windows,
      only: "an acceptance"
    },
    {
      name: "stored-limit-counts",
      rule: "The limit of fees counts as it is stored when it is locked.",
      source: adr,
      before: "const maximum = stored.get(limitName(limit)) ?? given",
      after: "const maximum = given",
      test: windows,
      only: "an acceptance"
    },
    {
      name: "no-op-is-not-limited",
      rule: "A no-op passes the limit of fees, because it ends what could cost more.",
      source: `${failures} 18`,
      before: `fee === undefined || attempt.kind === "noop"`,
      after: "fee === undefined",
      test: `${tests}/FeeLimits.test.ts`
    }
  ]),
  ...inFile(`${source}/AcceptanceChecks.ts`, [
    {
      name: "fee-limit-is-locked",
      rule: "Two commits cannot both use what a limit of fees leaves.",
      source: `${claims}: the fee limit holds for what is only known when a transaction is signed`,
      before: "ORDER BY l.key_id, l.network_type FOR UPDATE",
      after: "ORDER BY l.key_id, l.network_type",
      test: `${tests}/FeeLimits.test.ts`
    },
    {
      name: "given-signatures-count",
      rule: "Signatures that callers got count for the limit of fees.",
      source: "docs/security/stellar.md: signatures that callers got spend the funds of other transactions",
      before: "SELECT coalesce(sum(g.fee), 0) FROM signatures_given g",
      after: "SELECT coalesce(sum(0 * g.fee), 0) FROM signatures_given g",
      test: `${tests}/Giving.test.ts`
    },
    {
      name: "descendants-count",
      rule: "Fees of keys that a key has created count for its limit.",
      source: `${claims}: a send is limited by the policy, and by the limits of its key`,
      before: " UNION ALL SELECT d.id FROM api_key_descendants d WHERE d.ancestor = ${keyId}",
      after: "",
      test: `${tests}/LedgerAcceptance.test.ts`
    },
    {
      name: "fees-of-one-network-type",
      rule: "Fees count only for the limit of their network type.",
      source: `${claims}: a key with limits sends, replaces and signs only on networks of the types that it has limits for`,
      before: "WHERE split_part(l.chain, ':', 1) = ${networkType} AND t.api_key_id",
      after: "WHERE ${networkType}::text IS NOT NULL AND t.api_key_id",
      test: `${tests}/LedgerAcceptance.test.ts`
    },
    {
      name: "fees-of-open-transactions-count",
      rule: "Open transactions count for the limit of fees, however old they are.",
      source: `${claims}: a send is limited by the policy, and by the limits of its key`,
      before: "(t.final_at IS NULL OR t.final_at >",
      after: "(t.final_at IS NOT NULL AND t.final_at >",
      test: `${tests}/LedgerAcceptance.test.ts`
    }
  ]),
  ...inFile(`${source}/Accepting.ts`, [
    {
      name: "signature-of-a-transaction-is-not-given",
      rule: "A caller does not get the signature of a transaction of the service.",
      source: "docs/security/solana.md: attack 37",
      before: "    yield* identities.checkSignature(account, hash)\n",
      after: "",
      test: `${tests}/Giving.test.ts`
    },
    {
      name: "signature-of-another-relayer-is-not-given",
      rule: "A caller does not get bytes that were signed for another relayer.",
      source: "docs/security/solana.md: attack 37",
      before: "if (former.relayer_number !== account.relayerNumber) return yield* isOfAnother",
      after: "",
      test: `${tests}/Giving.test.ts`
    },
    {
      name: "paused-relayer-gives-nothing",
      rule: "A paused relayer gives no signatures.",
      source: `${failures} 49`,
      before: "if (relayer.value.paused) return yield* new RelayerPaused({})\n    yield* lanes.ensure",
      after: "yield* lanes.ensure",
      test: `${tests}/Giving.test.ts`
    }
  ]),
  ...inFile(`${source}/Accepting.ts`, [
    {
      name: "given-signature-is-taken-over",
      rule: "A send of bytes that a caller got signed takes that signature over.",
      source: "test/networks/solana/lane/README.md: trace 40",
      before: "if (given === undefined) return acceptance",
      after: 'if (given === undefined || given.hash !== "") return acceptance',
      test: `${tests}/Giving.test.ts`,
      only: "is taken over by a later transaction"
    }
  ])
]

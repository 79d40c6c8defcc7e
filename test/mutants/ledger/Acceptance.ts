// Rules about what is accepted, and what counts for the limits of an API key.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/server/ledger"
const tests = "test/server/ledger"
const failures = "test/transactions-failures.md"
const claims = "docs/security/tests.md"

export const acceptance: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/accept/Accepting.ts`, [
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
    }
  ]),
  ...inFile(`${source}/accept/NewTransactionsRepo.ts`, [
    {
      name: "paused-relayer-accepts-nothing",
      rule: "A paused relayer accepts nothing in a batch.",
      source: `${failures} 49`,
      before: " AND NOT r.paused\n",
      after: "\n",
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
  ...inFile(`${source}/accept/Identities.ts`, [
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
  ...inFile(`${source}/accept/FeeLimits.ts`, [
    {
      name: "fee-limit-counts-what-is-added",
      rule: "What is accepted counts before it is compared with the limit of fees.",
      source: `${claims}: a send is limited by the policy, and by the limits of its key`,
      before: "if (used + more > maximum)",
      after: "if (used > maximum)",
      test: `${tests}/LedgerAcceptance.test.ts`
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
  ...inFile(`${source}/accept/FeesRepo.ts`, [
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
  ...inFile(`${source}/accept/Giving.ts`, [
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
      before: "if (relayer.value.paused) return yield* new RelayerPaused({})",
      after: "",
      test: `${tests}/Giving.test.ts`
    }
  ]),
  ...inFile(`${source}/accept/TakingOver.ts`, [
    {
      name: "given-signature-is-taken-over",
      rule: "A send of bytes that a caller got signed takes that signature over.",
      source: "test/server/lanes/solana/README.md: trace 40",
      before: "if (given === undefined) return acceptance",
      after: 'if (given === undefined || given.hash !== "") return acceptance',
      test: `${tests}/Giving.test.ts`,
      only: "is taken over by a later transaction"
    }
  ])
]

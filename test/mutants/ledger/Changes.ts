// Rules about restores, operators, cancels and deletions.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/server/ledger"
const tests = "test/server/ledger"
const failures = "test/transactions-failures.md"
const claims = "docs/security/tests.md"

export const changes: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/Holder.ts`, [
    {
      name: "restore-marks-open-requests",
      rule: "After a restore, open requests wait for an operator.",
      source: `${failures} 33`,
      before: "UPDATE transactions SET restored = true,",
      after: "UPDATE transactions SET restored = false,",
      test: `${tests}/RestoredLedger.test.ts`
    },
    {
      name: "restore-frees-lanes",
      rule: "After a restore, every lane is free.",
      source: `${failures} 33`,
      before: "UPDATE lanes SET holder = NULL, held_until = NULL, counters",
      after: "UPDATE lanes SET counters",
      test: `${tests}/RestoredLedger.test.ts`
    }
  ]),
  ...inFile(`${source}/LedgerChanges.ts`, [
    {
      name: "cancel-compares-the-mark",
      rule: "A cancel notices a restore before it ends anything.",
      source: `${failures} 33`,
      before: "    mark.renew.pipe(\n",
      after: "    Effect.void.pipe(\n",
      test: `${tests}/RestoredLedger.test.ts`
    },
    {
      name: "signed-transaction-is-not-withdrawn",
      rule: "A transaction that has bytes is not withdrawn.",
      source: `${claims}: a send of a wallet client that ends with an error is not executed`,
      before: `if (state !== "pending" || attempts.length > 0) return Option.none()`,
      after: "",
      test: `${tests}/Withdraw.test.ts`
    },
    {
      name: "replacement-has-other-bytes",
      rule: "A replacement has not the bytes of another request.",
      source: "docs/security/solana.md: attack 32",
      before:
        "      yield* identities.check({ chain: before.chain, address: before.from, relayerNumber }, [identified])\n",
      after: "",
      test: `${tests}/Identities.test.ts`
    }
  ]),
  ...inFile(`${source}/Operators.ts`, [
    {
      name: "operator-decides-about-own-relayers",
      rule: "A narrowed key decides nothing about transactions of other relayers of its account.",
      source: `${claims}: a narrowed key decides nothing about transactions of other relayers of its account`,
      before: "if (open.some(({ relayerId }) => !Caller.mayUseRelayer(caller, relayerId))) return yield* isShared",
      after: "",
      test: "test/server/transactions/SharedNonces.test.ts"
    }
  ]),
  ...inFile(`${source}/LedgerJobs.ts`, [
    {
      name: "open-transactions-are-not-deleted",
      rule: "Open transactions are never deleted.",
      source: `${claims}: final transactions are deleted after RETENTION_DAYS, open ones never`,
      before: "WHERE final_at < now() -",
      after: "WHERE created_at < now() -",
      test: `${tests}/Deletion.test.ts`
    }
  ])
]

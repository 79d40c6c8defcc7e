// Rules of the ledger in memory. Tests of lanes use it in the place of the one on a database, so it has to refuse what that one refuses.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/server/ledger/memory"
const tests = "test/server/ledger"
const failures = "test/transactions-failures.md"

export const memory: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/MemoryHolds.ts`, [
    {
      name: "memory-fence-has-the-epoch",
      rule: "A process writes nothing for a former claim of its lane.",
      source: `${failures} 31`,
      before: "row.epoch === epoch && row.holder?.id === me && row.holder.until > now",
      after: "epoch > 0 && row.holder?.id === me && row.holder.until > now",
      test: `${tests}/LaneClaims.test.ts`
    },
    {
      name: "memory-fence-has-the-lease",
      rule: "A process whose lease has passed writes nothing.",
      source: `${failures} 31`,
      before: "row.holder?.id === me && row.holder.until > now",
      after: "row.holder?.id === me && now >= 0",
      test: `${tests}/LaneClaims.test.ts`
    }
  ]),
  ...inFile(`${source}/MemoryLanes.ts`, [
    {
      name: "memory-commit-compares-the-next-sequence",
      rule: "A commit gives away the next sequences of the account, and no others.",
      source: `${failures} 31`,
      before: "if (row === undefined || row.account.nextSequence !== former) return false",
      after: "if (row === undefined) return false",
      test: `${tests}/LaneWrites.test.ts`
    },
    {
      name: "memory-save-compares-what-it-read",
      rule: "A lane is saved only if it is as the step read it.",
      source: `${failures} 31`,
      before: "if (!isSameOwn(row, state)) return yield* changed(hold)",
      after: "",
      test: `${tests}/LaneWrites.test.ts`
    }
  ]),
  ...inFile(`${source}/LedgerMemory.ts`, [
    {
      name: "memory-write-compares-the-version",
      rule: "A transaction that has changed since a decision is left as it is.",
      source: `${failures} 36`,
      before: "if (row === undefined || row.stored.version !== change.before.version) return []",
      after: "if (row === undefined) return []",
      test: `${tests}/LaneWrites.test.ts`
    },
    {
      name: "memory-commit-is-all-or-nothing",
      rule: "A commit that is refused leaves no trace.",
      source: `${failures} 31`,
      before: "if (Exit.isFailure(exit)) rows.setTables(before)",
      after: "if (Exit.isFailure(exit) && exit === undefined) rows.setTables(before)",
      test: `${tests}/LaneWrites.test.ts`
    }
  ]),
  ...inFile(`${source}/MemoryReading.ts`, [
    {
      name: "memory-check-overwrites-no-newer-one",
      rule: "A check of a delegation stores nothing if another one has stored something since it began.",
      source: "docs/batches.md",
      before: "if (row === undefined || !isSameWatched(row.account.watched, before)) return false",
      after: "if (row === undefined) return false",
      test: `${tests}/LaneWrites.test.ts`
    }
  ]),
  ...inFile(`${source}/MemoryTransactions.ts`, [
    {
      name: "memory-accepts-bytes-once",
      rule: "Two transactions with the same bytes are not accepted.",
      source: `${failures} 48`,
      before: "    yield* checkRivals(account, added)\n",
      after: "",
      test: `${tests}/Identities.test.ts`
    }
  ])
]

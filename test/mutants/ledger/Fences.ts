// Rules about which process may write to a lane.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/server/ledger"
const tests = "test/server/ledger"
const failures = "test/transactions-failures.md"
const adr = "docs/adr/0025-locks-and-the-order-of-events.md"
const pooler = "docs/operate.md: a pooler in front of PostgreSQL"
const windows = `${tests}/Windows.test.ts`

export const fences: ReadonlyArray<Mutant> = [
  ...inFile("src/sql/Sql.ts", [
    {
      name: "shared-sessions-are-refused",
      rule: "A pooler in transaction mode, behind which two instances can hold one lock, is refused before anything is written.",
      source: pooler,
      before: "  yield* refuseShared(place, bare)\n",
      after: "",
      test: "test/sql/Pooler.test.ts"
    }
  ]),
  ...inFile("src/sql/Connection.ts", [
    {
      name: "sessions-of-connections-are-compared",
      rule: "Two connections that name the same session of the server share it.",
      source: pooler,
      before: "if (!areOwn || new Set(names).size < connections) return true\n",
      after: "if (areOwn && names.length === 0) return true\n",
      test: "test/sql/Pooler.test.ts"
    },
    {
      name: "notifications-have-to-arrive",
      rule: "A pooler of many processes is refused, because it loses notifications.",
      source: pooler,
      before: "return Option.isNone(yield* Queue.poll(heard))",
      after: "return Option.isNone(yield* Queue.poll(heard)) && names.length === 0",
      test: "test/sql/Pooler.test.ts"
    }
  ]),
  ...inFile(`${source}/LanesRepo.ts`, [
    {
      name: "a-slow-check-overwrites-no-newer-one",
      rule: "A check of a delegation stores nothing if another one has stored something since it began.",
      source: "docs/batches.md",
      before: "AND l.watched::jsonb IS NOT DISTINCT FROM ${before === undefined ? null : watchText(before)}::jsonb",
      after: "AND (${before === undefined ? null : watchText(before)}::jsonb IS NULL OR true)",
      test: `${tests}/LaneWrites.test.ts`,
      only: "unless another check has stored something"
    },
    {
      name: "fence-has-the-epoch",
      rule: "Each commit checks the epoch of the lane.",
      source: `${failures} 31`,
      before: "l.epoch = ${epoch}::bigint AND ${isMine}`",
      after: "${epoch}::bigint > 0 AND ${isMine}`",
      test: `${tests}/LaneClaims.test.ts`,
      only: "writes nothing for its former claim"
    },
    {
      name: "fence-has-the-lease",
      rule: "A process whose lease has passed writes nothing, although nobody else has claimed the lane.",
      source: `${failures} 31`,
      before: "l.holder = ${holder}::uuid AND l.held_until > now() AND ${mark.isCurrent}",
      after: "l.holder = ${holder}::uuid AND ${mark.isCurrent}",
      test: `${tests}/LaneClaims.test.ts`
    },
    {
      name: "fence-has-the-mark",
      rule: "No holder from before a restore writes.",
      source: `${failures} 33`,
      before: "l.held_until > now() AND ${mark.isCurrent}",
      after: "l.held_until > now()",
      test: `${tests}/RestoredLedger.test.ts`
    },
    {
      name: "commit-compares-the-next-nonce",
      rule: "A commit of nonces is refused if the lane would assign others.",
      source: `${failures} 1`,
      before: "AND l.next_nonce = ${String(from)}::bigint AND l.generation = ${generation}",
      after: "AND l.generation = ${generation}",
      test: `${tests}/CrashMatrix.test.ts`
    },
    {
      name: "late-save-is-refused",
      rule: "A save that runs after a later commit does not set the next nonce back.",
      source: adr,
      before: `AND l.next_nonce = given.former_next::bigint
          AND l.chain_nonce = given.former_chain::bigint AND l.settled_nonce = given.former_settled::bigint
          AND \${laneMillis(sql)("next_poll_at")} = given.former_poll_at::bigint`,
      after: "",
      test: windows,
      only: "a save of a lane"
    },
    {
      name: "late-save-compares-the-poll",
      rule: "A save that runs after a later save does not undo what that one has found.",
      source: adr,
      before: "= given.former_poll_at::bigint",
      after: "IS NOT NULL AND given.former_poll_at IS NOT NULL",
      test: windows,
      only: "a save of a lane"
    },
    {
      name: "late-save-compares-channels",
      rule: "A save that runs after a channel has given a sequence away is refused as a whole.",
      source: adr,
      before: "if (!(yield* accounts.areChannels(hold.laneId, former))) return",
      after: "if (hold.laneId === undefined) return",
      test: windows,
      only: "a save of a lane"
    },
    {
      name: "new-generation-has-commits",
      rule: "Commits go on after a new generation has begun.",
      source: `${failures} B2`,
      before: "SET generation = l.generation + 1, next_nonce = 0",
      after: "SET next_nonce = 0",
      test: `${tests}/LedgerOperators.test.ts`
    },
    {
      name: "new-generation-frees-the-lane",
      rule: "The holder of a lane loses it when a new generation begins.",
      source: `${failures} B2`,
      before: "holder = NULL, held_until = NULL, epoch = l.epoch + 1, code = NULL",
      after: "code = NULL",
      test: `${tests}/LedgerOperators.test.ts`
    }
  ]),
  ...inFile("src/sql/Transaction.ts", [
    {
      name: "change-takes-its-turn",
      rule: "Acceptances that come after a change of their relayer wait for it.",
      source: adr,
      before: "sql`pg_advisory_xact_lock(${key(sql, number)})`",
      after: "sql`pg_advisory_xact_lock_shared(${key(sql, number)})`",
      test: windows,
      only: "an acceptance"
    }
  ]),
  ...inFile(`${source}/Claims.ts`, [
    {
      name: "lane-has-one-holder",
      rule: "A lane that is held is not claimed by another process.",
      source: `${failures} 31`,
      before: "(l.holder IS NULL OR l.held_until < now() OR NOT",
      after: "(l.id > 0 OR NOT",
      test: `${tests}/LaneClaims.test.ts`
    },
    {
      name: "claim-begins-an-epoch",
      rule: "Each claim begins a new epoch of the lane.",
      source: `${failures} 31`,
      before: "epoch = l.epoch + 1\n",
      after: "epoch = l.epoch\n",
      test: `${tests}/LaneClaims.test.ts`
    },
    {
      name: "renewal-has-the-epoch",
      rule: "A lane is renewed only by the process that knows its epoch.",
      source: `${failures} B9`,
      before: "ON given.id = l.id AND given.epoch = l.epoch",
      after: "ON given.id = l.id",
      test: `${tests}/LaneClaims.test.ts`
    },
    {
      name: "renewal-waits-for-no-lane",
      rule: "A lane that is locked keeps no other lane from being renewed or written.",
      source: "docs/adr/0028-one-write-of-several-lanes.md",
      before: "FOR NO KEY UPDATE OF l ${waits ? sql`` : sql`SKIP LOCKED`}",
      after: "FOR NO KEY UPDATE OF l",
      test: `${tests}/LaneClaims.test.ts`,
      only: "are renewed while one of the lanes is locked"
    },
    {
      name: "idle-lane-has-nothing-open",
      rule: "A lane is given back as idle only if nothing is open.",
      source: `${failures} B8`,
      before: "${ifIdle ? sql`NOT ${hasOpen}` : sql`true`}",
      after: "${ifIdle ? sql`true` : sql`true`}",
      test: `${tests}/LaneClaims.test.ts`
    }
  ])
]

// Rules about what a commit stores, and about the order of commit and send.
import { inFile } from "../Mutant.ts"
import type { Mutant } from "../Mutant.ts"

const source = "src/server/ledger"
const tests = "test/server/ledger"
const arrivals = "docs/adr/0029-polls-soon-after-blocks.md"
const failures = "test/transactions-failures.md"
const claims = "docs/security/tests.md"
const shared = "docs/adr/0028-one-write-of-several-lanes.md"
const sharing = `${tests}/SharedWrites.test.ts`
const channels = `${tests}/SharedChannels.test.ts`

export const commits: ReadonlyArray<Mutant> = [
  ...inFile(`${source}/TransactionsRepo.ts`, [
    {
      name: "commit-compares-the-version",
      rule: "A commit changes no row that a caller has changed meanwhile.",
      source: `${failures} 1`,
      before: " AND t.version = given.version::bigint",
      after: "",
      test: `${tests}/CrashMatrix.test.ts`
    },
    {
      name: "given-signature-is-not-an-attempt",
      rule: "A transaction does not store a signature that a caller got for other bytes.",
      source: "docs/security/solana.md: attack 32",
      before: " AND NOT ${attempts.isGiven(of.signed)}",
      after: "",
      test: `${tests}/Giving.test.ts`
    }
  ]),
  ...inFile(`${source}/LaneWrites.ts`, [
    {
      name: "commit-is-all-or-nothing",
      rule: "A commit that cannot write one of its rows writes none.",
      source: `${failures} 1`,
      before: "if (written.length < changes.length) return yield* new LaneChanged({ laneId: hold.laneId })",
      after: "",
      test: `${tests}/CrashMatrix.test.ts`
    },
    {
      name: "commit-spends-the-limit",
      rule: "A commit checks the limits of fees again, under a lock.",
      source: `${claims}: the fee limit holds for what is only known when a transaction is signed`,
      before: "Effect.andThen(spendings.length > 0 ? spent : Effect.void, explained)",
      after: "Effect.andThen(Effect.void, explained)",
      test: `${tests}/FeeLimits.test.ts`
    },
    {
      name: "bytes-are-stored-with-their-place",
      rule: "A committed nonce always has its bytes.",
      source: `${failures} 3`,
      before: "      signed,\n      now",
      after: "      signed: signed.slice(1),\n      now",
      test: `${tests}/CrashMatrix.test.ts`
    },
    {
      name: "commit-that-spends-is-alone",
      rule: "A commit whose fees count for a limit compares the limit under its lock.",
      source: shared,
      before: "spendingsOf(signatures, now).length > 0 || ",
      after: "",
      test: `${tests}/FeeLimits.test.ts`
    },
    {
      name: "commit-moves-its-channels",
      rule: "A commit moves the counters of the channels whose sequences it gives away.",
      source: shared,
      before: "      channels,\n      changes: Array.map(signatures",
      after: "      channels: [],\n      changes: Array.map(signatures",
      test: `${tests}/Accounts.test.ts`
    },
    {
      name: "decision-that-frees-is-alone",
      rule: "A decision that gives up a place puts the counter of its account back.",
      source: shared,
      before: "decided.some((one) => freedBy(one).length > 0)",
      after: "decided.some((one) => freedBy(one).length > 1000)",
      test: `${tests}/Accounts.test.ts`
    }
  ]),
  ...inFile(`${source}/LanesRepo.ts`, [
    {
      name: "shared-write-compares-the-epoch",
      rule: "In a write of several lanes, a lane that another process has claimed since writes nothing.",
      source: shared,
      before: "FROM ${given} JOIN lanes l ON l.id = given.lane::bigint AND l.epoch = given.epoch::bigint",
      after: "FROM ${given} JOIN lanes l ON l.id = given.lane::bigint",
      test: sharing,
      only: "between the snapshot and the lock"
    },
    {
      name: "shared-write-needs-the-lease",
      rule: "In a write of several lanes, a lane that the process does not hold writes nothing.",
      source: shared,
      before: "WHERE ${isMine} AND (given.next",
      after: "WHERE (given.next",
      test: sharing,
      only: "between the snapshot and the lock"
    },
    {
      name: "shared-commit-compares-the-counter",
      rule: "In a write of several lanes, a commit gives away the next sequences of its lane and no others.",
      source: shared,
      before: "l.next_nonce = given.former::bigint AND ",
      after: "",
      test: sharing,
      only: "between the snapshot and the lock"
    },
    {
      name: "shared-commit-compares-the-generation",
      rule: "In a write of several lanes, a commit of an earlier generation writes nothing.",
      source: shared,
      before: "given.former::bigint AND l.generation = given.generation::integer",
      after: "given.former::bigint",
      test: sharing,
      only: "between the snapshot and the lock"
    },
    {
      name: "save-compares-the-epoch",
      rule: "A save of a lane that another process has claimed since writes nothing.",
      source: shared,
      before: "JOIN lanes l ON l.id = given.lane::bigint AND l.epoch = given.epoch::bigint\n        WHERE",
      after: "JOIN lanes l ON l.id = given.lane::bigint\n        WHERE",
      test: sharing,
      only: "each if it is held and as it was read"
    },
    {
      name: "save-needs-the-lease",
      rule: "A save of a lane whose lease has passed writes nothing.",
      source: shared,
      before: "WHERE ${isMine} AND l.generation = given",
      after: "WHERE l.generation = given",
      test: sharing,
      only: "each if it is held and as it was read"
    },
    {
      name: "shared-write-waits-for-no-lane",
      rule: "A lane that is locked holds up no other lane.",
      source: shared,
      before: "FOR NO KEY UPDATE OF l SKIP LOCKED",
      after: "FOR NO KEY UPDATE OF l",
      test: sharing,
      only: "wait for no lock of"
    }
  ]),
  ...inFile(`${source}/SharedWrites.ts`, [
    {
      name: "shared-write-compares-versions",
      rule: "In a write of several lanes, no row is written that was changed since it was read.",
      source: shared,
      before: "t.lane_id = held.lane AND t.version = given.version::bigint",
      after: "t.lane_id = held.lane",
      test: sharing,
      only: "between the snapshot and the lock"
    },
    {
      name: "shared-write-waits-for-no-row",
      rule: "A transaction that is locked holds up no other lane.",
      source: shared,
      before: "FOR NO KEY UPDATE OF t SKIP LOCKED",
      after: "FOR NO KEY UPDATE OF t",
      test: sharing,
      only: "wait for no lock of"
    },
    {
      name: "part-of-a-lane-is-whole",
      rule: "The part of a lane that cannot write one of its rows writes none, and keeps no other lane from writing.",
      source: shared,
      before: "held.count = (SELECT count(*) FROM locked WHERE locked.of = held.part)",
      after: "held.count > 0",
      test: sharing,
      only: "between the snapshot and the lock"
    },
    {
      name: "part-of-a-lane-has-its-channels",
      rule: "The part of a lane that cannot move the counter of one of its channels writes nothing.",
      source: shared,
      before: "held.channels = (SELECT count(*) FROM counters WHERE counters.of = held.part)",
      after: "held.channels >= 0",
      test: channels
    },
    {
      name: "shared-write-compares-channels",
      rule: "In a write of several lanes, no counter of a channel is moved that is not as it was read.",
      source: shared,
      before: " AND c.next_nonce = given.former::bigint",
      after: "",
      test: channels
    },
    {
      name: "shared-write-waits-for-no-channel",
      rule: "A channel that is locked holds up no other lane.",
      source: shared,
      before: "FOR NO KEY UPDATE OF c SKIP LOCKED",
      after: "FOR NO KEY UPDATE OF c",
      test: channels,
      only: "wait for no lock of a channel"
    },
    {
      name: "part-is-for-the-notification-that-is",
      rule: "A write of several lanes stores deliveries for the notification that the relayer has.",
      source: shared,
      before: "AND NOT EXISTS (SELECT FROM mistaken WHERE mistaken.of = held.part)",
      after: "",
      test: sharing,
      only: "deliver by the relayer as it is"
    },
    {
      name: "shared-commit-stores-no-given-signature",
      rule: "In a write of several lanes, a transaction does not store a signature that a caller got for other bytes.",
      source: shared,
      before: " AND NOT ${attempts.isGiven(signed)}",
      after: "",
      test: `${tests}/Giving.test.ts`
    },
    {
      name: "repeatable-bytes-lock-their-lane-first",
      rule: "A commit of bytes that can repeat locks its lane before it looks for signatures that callers got.",
      source: shared,
      before: "parts.some(canRepeat) ? writeLocked(parts) : write(parts)",
      after: "write(parts)",
      test: sharing,
      only: "do not commit bytes that a caller gets meanwhile"
    },
    {
      name: "shared-write-is-not-tried-alone",
      rule: "A write of several lanes whose outcome is not known is not repeated: the lanes read themselves anew.",
      source: shared,
      before: "      isRefused(defect)\n        ? Effect.as(",
      after: "      defect !== undefined\n        ? Effect.as(",
      test: `${tests}/CrashMatrix.test.ts`,
      only: "while its lanes commit by one statement"
    },
    {
      name: "refused-lane-stays-alone",
      rule: "A lane whose write the server refuses keeps no other lane from sharing statements.",
      source: shared,
      before: "if (isRefused(defect)) refusedAlone.add(laneId)",
      after: "",
      test: sharing,
      only: "writes alone until it succeeds"
    }
  ]),
  ...inFile("src/sql/Transaction.ts", [
    {
      name: "part-that-takes-too-long-fails-alone",
      rule: "A part that makes a statement of several lanes take too long fails no other lane.",
      source: shared,
      before: "|55P03|57014)",
      after: ")",
      test: `${tests}/EndedStatements.test.ts`
    }
  ]),
  ...inFile(`${source}/Claims.ts`, [
    {
      name: "step-notices-a-removed-row-of-a-network",
      rule: "A lane decides by the network as it is, also after its row was removed.",
      source: shared,
      before: "WHERE coalesce(${rowState(sql, \"w\")}, '') <> origin.state",
      after: 'WHERE ${rowState(sql, "w")} <> origin.state',
      test: sharing,
      only: "which relayers and networks are as they were read"
    },
    {
      name: "step-reads-terms-after-a-newer-row",
      rule: "A lane does not decide about a row by terms that were compared before the row was changed.",
      source: shared,
      before: "asRead: isNewer ? new Set<RelayerId>() : asRead",
      after: "asRead",
      test: sharing,
      only: "take no relayer for unchanged"
    },
    {
      name: "step-notices-a-changed-relayer",
      rule: "A lane decides by the relayer as it is when the step reads it.",
      source: shared,
      before: ' AND ${rowState(sql, "r")} = given.state',
      after: "",
      test: sharing,
      only: "which relayers and networks are as they were read"
    }
  ]),
  ...inFile("src/server/audit/Audit.ts", [
    {
      name: "records-are-linked-at-the-end",
      rule: "An instance that stops links what it has recorded.",
      source: "docs/adr/0004-audit-chain.md",
      before: "isQuiet ? Effect.void : linkAll",
      after: "Effect.void",
      test: "test/server/audit/AuditLinking.test.ts",
      only: "links what it has recorded when it stops"
    }
  ]),
  ...inFile("src/server/events/Events.ts", [
    {
      name: "held-back-with-the-page",
      rule: "A read of new events says whether others wait for an older transaction, also if it finds none.",
      source: "docs/adr/0007-event-order.md",
      before: "isHeldBack: beside === true",
      after: "isHeldBack: false",
      test: "test/server/events/EventOrder.test.ts",
      only: "a read says whether events wait for an older transaction"
    },
    {
      name: "events-have-the-order-of-changes",
      rule: "An event is placed behind all transactions that had ended when it was appended.",
      source: "docs/adr/0025-locks-and-the-order-of-events.md",
      before: "greatest(pg_current_xact_id(), (pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)::text::xid8)",
      after: "pg_current_xact_id()",
      test: `${tests}/Windows.test.ts`,
      only: "readers of events see the changes"
    }
  ]),
  ...inFile(`${source}/LaneContentsRepo.ts`, [
    {
      name: "each-relayer-has-its-pending-rows",
      rule: "The pending transactions of one relayer do not hide those of the other relayers of its lane.",
      source: `${failures} C2`,
      before: "PARTITION BY t.lane_id, t.relayer_number, t.restored",
      after: "PARTITION BY t.lane_id, t.restored",
      test: "test/server/lanes/QueueTraces.test.ts",
      only: "does not hide the transactions of other relayers"
    }
  ]),
  ...inFile("src/server/lanes/LaneDecisions.ts", [
    {
      name: "committed-before-it-is-sent",
      rule: "Bytes are committed before they leave.",
      source: `${failures} 34`,
      before: "  const committed = yield* context.ledger.commitSignatures(context.hold, signed)\n",
      after: `  for (const { stored, attempt, raw } of signed) {
    const row = step.row(stored.transaction.number)
    if (row !== undefined) yield* context.chain.broadcast(row.relayer, raw, attempt.sends)
  }
  const committed = yield* context.ledger.commitSignatures(context.hold, signed)
`,
      test: "test/server/lanes/Holding.test.ts",
      only: "whose commit fails, because the database is away"
    }
  ]),
  ...inFile("src/server/lanes/LaneSending.ts", [
    {
      name: "nothing-behind-a-failed-signature",
      rule: "Nothing is committed behind a signature that failed.",
      source: `${failures} 50`,
      before: "results.slice(0, end).flatMap(",
      after: "results.flatMap(",
      test: "test/server/lanes/LaneSigning.test.ts",
      only: "commits nothing behind a signature that failed"
    }
  ]),
  ...inFile("src/server/lanes/LaneNetwork.ts", [
    {
      name: "key-belongs-to-the-lane",
      rule: "A key of another address signs nothing for a lane.",
      source: `${claims}: a changed row leads no signer of a key service to another key`,
      before: "if (!(yield* isOwn(publicKey))) return yield* wrongKey()",
      after: "",
      test: "test/server/lanes/LaneSigner.test.ts"
    },
    {
      name: "disabled-signer-stops-soon",
      rule: "A signer that another instance has disabled stops within five seconds.",
      source: `${claims}: a signer whose key service signs with another key is disabled, in all instances`,
      before: "const keptFor = 5_000_000_000n",
      after: "const keptFor = 500_000_000_000n",
      test: "test/server/lanes/LaneSigner.test.ts"
    }
  ]),
  ...inFile("src/server/lanes/LaneStep.ts", [
    {
      name: "dead-signatures-reserve-nothing-of-an-idle-lane",
      rule: "What a poll reads ends what a lane that was idle still reserved for signatures of callers.",
      source: "test/transactions-failures.md",
      before: "step.countGiven(saved.givenCost)",
      after: "step.countGiven(step.storedLane.givenCost)",
      test: "test/server/lanes/GivenSignatures.test.ts"
    },
    {
      name: "step-compares-remembered-relayer",
      rule: "A lane reads a relayer again whose row is not as it was read.",
      source: shared,
      before: "contents.asRead?.has(id) === true",
      after: "id.length > 0",
      test: "test/server/lanes/LaneLife.test.ts",
      only: "reads its relayers again only if"
    },
    {
      name: "pulse-follows-the-blocks",
      rule: "The pulse of a lane is a share of the block time of its network.",
      source: "docs/adr/0026-the-pulse-of-a-process.md",
      before: "  memory.blockTime = owner.relayer.blockTime\n",
      after: "",
      test: "test/server/lanes/Pulse.test.ts",
      only: "which is slower if its blocks are"
    },
    {
      name: "lane-stops-on-another-chain",
      rule: "A lane whose provider is on another chain stops.",
      source: `${failures} 37`,
      before: "if (reading === undefined && poll.isOtherChain) yield* stopOnOtherChain(step)",
      after: "",
      test: "test/server/lanes/SecondOpinions.test.ts",
      only: "and is shorter gets no bytes"
    },
    {
      name: "deadlines-behind-the-first-rows",
      rule: "Transactions past their deadline end although those before them are held.",
      source: `${failures} C6`,
      before: "if (contents.nextMoment === undefined || contents.nextMoment > now) return contents",
      after: "if (contents.nextMoment === undefined || contents.nextMoment > 0) return contents",
      test: "test/server/lanes/QueueTraces.test.ts",
      only: "ends at its deadline although its relayer is paused"
    }
  ]),
  ...inFile("src/server/lanes/StepState.ts", [
    {
      name: "late-block-is-not-asked-for-again-and-again",
      rule: "A chain whose block is late is polled three times more, and then once per block time.",
      source: arrivals,
      before: "misses >= arrivalMisses) return undefined",
      after: "misses > 100 * arrivalMisses) return undefined",
      test: "test/server/lanes/BlockArrivals.test.ts",
      only: "polls it three times more"
    },
    {
      name: "next-block-is-expected-a-block-time-after-the-newest",
      rule: "A lane polls soon after the next block is expected.",
      source: arrivals,
      before: "const latest = newest.until + blockTime",
      after: "const latest = newest.until + 1.5 * blockTime",
      test: "test/server/lanes/BlockArrivals.test.ts",
      only: "sees each block within an eighth of the block time"
    },
    {
      name: "blocks-that-do-not-follow-each-other-tell-no-arrival",
      rule: "Only two polls that show blocks which follow each other tell when blocks come.",
      source: arrivals,
      before: "const isNext = blocks === 1 && at",
      after: "const isNext = at",
      test: "test/server/lanes/BlockArrivals.test.ts",
      only: "knows nothing of a chain that makes several blocks"
    }
  ]),
  ...inFile("src/server/lanes/LanesJob.ts", [
    {
      name: "command-waits-for-no-pulse",
      rule: "A cancel or a replacement races with the next block, and does not wait for the pulse.",
      source: "docs/adr/0026-the-pulse-of-a-process.md",
      before: 'reason === "accepted" ? Effect.void : urged.open',
      after: "Effect.void",
      test: "test/server/lanes/LaneLife.test.ts",
      only: "begins a step for a command at once"
    },
    {
      name: "nothing-is-missed-during-a-step",
      rule: "What is accepted after a step has read the ledger has another step.",
      source: "docs/adr/0026-the-pulse-of-a-process.md",
      before: `    yield* Effect.andThen(asked.close, urged.close)
    const next = yield* supervised(step)
`,
      after: `    const next = yield* supervised(step)
    yield* Effect.andThen(asked.close, urged.close)
`,
      test: "test/server/lanes/LaneLife.test.ts",
      only: "makes another step for what is accepted after a step has read"
    },
    {
      name: "lanes-share-the-pulse",
      rule: "Lanes of one process step together while it signs.",
      source: "docs/adr/0026-the-pulse-of-a-process.md",
      before: "      pulse,\n",
      after: "      pulse: makePulse(),\n",
      test: "test/server/lanes/Pulse.test.ts",
      only: "step at once if it signed nothing lately"
    },
    {
      name: "lost-lane-is-not-worked-on",
      rule: "The work on a lane that was not renewed ends.",
      source: `${failures} 31`,
      before: "if (isCurrent && !kept.has(laneId)) yield* FiberMap.remove(fibers, laneId)",
      after: "",
      test: "test/server/lanes/LanesJob.test.ts"
    }
  ])
]

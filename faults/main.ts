// Runs the fault cases against real processes of the service and reports which promises held.
//
//   npm run faults -- [--short] [--seed N] [--only NAME [--part TEXT]] [--list] [--report]
import { NodeRuntime } from "@effect/platform-node"
import { Cause, Console, Effect, Exit } from "effect"
import { parseArgs } from "node:util"
import type { Case } from "./Case.ts"
import { Tally } from "./Case.ts"
import { Away } from "./Away.ts"
import { Clock } from "./Clock.ts"
import { Expensive } from "./Expensive.ts"
import { Exhausted } from "./Exhausted.ts"
import { Flood } from "./Flood.ts"
import { FullDisk } from "./FullDisk.ts"
import { Frozen } from "./Frozen.ts"
import { Isolation } from "./Isolation.ts"
import { ApplyKill } from "./ApplyKill.ts"
import { Kill } from "./Kill.ts"
import { LongAudit } from "./LongAudit.ts"
import { OutOfMemory } from "./OutOfMemory.ts"
import { ReadOnly } from "./ReadOnly.ts"
import * as Random from "./Random.ts"
import { Relay } from "./Relay.ts"
import { RelayCopy } from "./RelayCopy.ts"
import { RelayFrozen } from "./RelayFrozen.ts"
import { RelayFunds } from "./RelayFunds.ts"
import { RelayInstances } from "./RelayInstances.ts"
import { RelayKms } from "./RelayKms.ts"
import { RelayReorg } from "./RelayReorg.ts"
import { RelayRestore } from "./RelayRestore.ts"
import { RelayRpc } from "./RelayRpc.ts"
import { RelaySpike } from "./RelaySpike.ts"
import * as Report from "./Report.ts"
import { Signals } from "./Signals.ts"
import { SlowClients } from "./SlowClients.ts"
import { SolanaDrain } from "./solana/Drain.ts"
import { SolanaFrozen, SolanaKill } from "./solana/Kill.ts"
import { SolanaRestore } from "./solana/Restore.ts"
import { SolanaExpiry, SolanaFork, SolanaHistory, SolanaLate, SolanaLie, SolanaSilent } from "./solana/Troubles.ts"
import { Starts } from "./Starts.ts"
import { StellarDrain } from "./stellar/Drain.ts"
import { StellarFrozen, StellarRelay } from "./stellar/Kill.ts"
import { StellarRestore } from "./stellar/Restore.ts"
import {
  StellarForeign,
  StellarHalt,
  StellarLiar,
  StellarRpc,
  StellarSecond,
  StellarSurge
} from "./stellar/Troubles.ts"
import { Timeout } from "./Timeout.ts"
import { Upgrade } from "./Upgrade.ts"
import { Versions } from "./Versions.ts"

const cases: ReadonlyArray<Case> = [
  Kill,
  ApplyKill,
  Starts,
  OutOfMemory,
  Away,
  Frozen,
  Exhausted,
  Timeout,
  ReadOnly,
  FullDisk,
  SlowClients,
  Expensive,
  Flood,
  LongAudit,
  Isolation,
  Signals,
  Clock,
  Upgrade,
  Versions,
  Relay,
  RelayInstances,
  RelayFrozen,
  RelayRestore,
  RelayCopy,
  RelayReorg,
  RelayRpc,
  RelayKms,
  RelaySpike,
  RelayFunds,
  SolanaKill,
  SolanaFrozen,
  SolanaExpiry,
  SolanaLate,
  SolanaFork,
  SolanaLie,
  SolanaHistory,
  SolanaRestore,
  SolanaSilent,
  SolanaDrain,
  StellarRelay,
  StellarFrozen,
  StellarRestore,
  StellarRpc,
  StellarLiar,
  StellarSecond,
  StellarSurge,
  StellarForeign,
  StellarHalt,
  StellarDrain
]

const { values: flags } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    only: { type: "string", multiple: true },
    part: { type: "string", multiple: true },
    short: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    report: { type: "boolean", default: false }
  }
})

const patience = "20 minutes"

const amount = <A>(full: A, short: A): A => (flags.short ? short : full)

/** `--part verif` chooses the parts whose names contain it. */
const isChosen = (part: string) => flags.part?.some((text) => part.includes(text)) ?? true

const run = Effect.fnUntraced(function* (each: Case, seed: number) {
  const tally = new Tally()
  const startedAt = performance.now()
  yield* Console.log(`\n${each.name}: ${each.promise}`)
  const exit = yield* each.run({ tally, random: Random.make(seed), isChosen, amount }).pipe(
    Effect.scoped,
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.die(new Error(`the case did not end within ${patience}`))
    }),
    Effect.exit
  )
  if (Exit.isFailure(exit)) tally.broken.push(Cause.pretty(exit.cause))
  const result: Report.Result = { case: each, tally, seconds: (performance.now() - startedAt) / 1000 }
  yield* Console.log(Report.line(result))
  for (const broken of tally.broken) yield* Console.log(`  broken: ${broken}`)
  return result
})

const fail = (message: string) =>
  Effect.andThen(
    Console.error(message),
    Effect.sync(() => void (process.exitCode = 1))
  )

const program = Effect.gen(function* () {
  if (flags.list) {
    return yield* Effect.forEach(cases, ({ name, promise }) => Console.log(`${name.padEnd(16)}${promise}`), {
      discard: true
    })
  }
  const seed = Number(flags.seed)
  const unknown = flags.only?.find((name) => cases.every((each) => each.name !== name))
  if (unknown !== undefined) return yield* fail(`there is no case ${unknown}; --list names all cases`)
  // The figures of faults/cases.md are those of all faults.
  if (flags.short && flags.report) return yield* fail("--report needs a run without --short")
  const chosen = cases.filter(({ name, isShort = false }) => flags.only?.includes(name) ?? (isShort || !flags.short))
  const results: Array<Report.Result> = []
  for (const each of chosen) results.push(yield* run(each, seed))
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0)
  yield* Console.log(`\nseed ${seed}, ${seconds.toFixed(0)} s\n${results.map(Report.line).join("\n")}`)
  if (flags.report) yield* Report.write(results, seed)
  if (results.some(({ tally }) => tally.broken.length > 0)) process.exitCode = 1
})

program.pipe(NodeRuntime.runMain)

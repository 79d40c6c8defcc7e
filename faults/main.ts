// Runs the fault cases against real processes of the service and reports which promises held.
//
//   npm run faults -- --short
//   npm run faults -- isolation --part verif --seed 7
//   npm run faults -- relay 'stellar-*'
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Console, Duration, Effect, Exit } from "effect"
import { Argument, CliError, Command, Flag } from "effect/cli"
import * as path from "node:path"
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
import { RelayIndexLag } from "./RelayIndexLag.ts"
import { RelayInstances } from "./RelayInstances.ts"
import { RelayKms } from "./RelayKms.ts"
import { RelayPrivate } from "./RelayPrivate.ts"
import { RelayTopUps } from "./RelayTopUps.ts"
import { RelayReorg } from "./RelayReorg.ts"
import { RelayRestore } from "./RelayRestore.ts"
import { RelayRpc } from "./RelayRpc.ts"
import { RelaySpike } from "./RelaySpike.ts"
import * as Report from "./Report.ts"
import { Signals } from "./Signals.ts"
import { SlowClients } from "./SlowClients.ts"
import { SolanaDrain } from "./solana/Drain.ts"
import { SolanaFrozen, SolanaIndexLag, SolanaKill } from "./solana/Kill.ts"
import { SolanaRestore } from "./solana/Restore.ts"
import { SolanaExpiry, SolanaFork, SolanaHistory, SolanaLate, SolanaLie, SolanaSilent } from "./solana/Troubles.ts"
import { Starts } from "./Starts.ts"
import { StellarDrain } from "./stellar/Drain.ts"
import { StellarFrozen, StellarLag, StellarRelay } from "./stellar/Kill.ts"
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
  Versions,
  Relay,
  RelayInstances,
  RelayFrozen,
  RelayRestore,
  RelayCopy,
  RelayReorg,
  RelayRpc,
  RelayIndexLag,
  RelayKms,
  RelaySpike,
  RelayFunds,
  RelayPrivate,
  RelayTopUps,
  SolanaKill,
  SolanaFrozen,
  SolanaExpiry,
  SolanaLate,
  SolanaFork,
  SolanaLie,
  SolanaHistory,
  SolanaIndexLag,
  SolanaRestore,
  SolanaSilent,
  SolanaDrain,
  StellarRelay,
  StellarFrozen,
  StellarLag,
  StellarRestore,
  StellarRpc,
  StellarLiar,
  StellarSecond,
  StellarSurge,
  StellarForeign,
  StellarHalt,
  StellarDrain
]

const flags = {
  short: Flag.Boolean("short").pipe(
    Flag.withDescription("The cases that .ci/run --all runs, with fewer faults: about four minutes"),
    Flag.withDefault(false)
  ),
  seed: Flag.Int("seed").pipe(Flag.withDescription("Seed of the random choices (default 1)"), Flag.withDefault(1)),
  names: Argument.String("case").pipe(
    Argument.withDescription(
      "Name of a case to run; * stands for any text, as in 'stellar-*'. Without a name, all cases run"
    ),
    Argument.variadic()
  ),
  part: Flag.String("part").pipe(
    Flag.withDescription("Runs only the parts of cases whose names contain this text; can be repeated"),
    Flag.atLeast(0)
  ),
  list: Flag.Boolean("list").pipe(
    Flag.withDescription("Prints these cases and their promises, and runs none"),
    Flag.withDefault(false)
  ),
  report: Flag.Boolean("report").pipe(
    Flag.withDescription("Also writes the figures of the cases that ran into faults/cases.md"),
    Flag.withDefault(false)
  )
}

type Given = Command.Command.Config.Infer<typeof flags>

/** Of a case that names no other. */
const usualPatience = "20 minutes"

const run = Effect.fnUntraced(function* (each: Case, { part, seed, short }: Given) {
  const tally = new Tally()
  const isChosen = (name: string) => part.length === 0 || part.some((text) => name.includes(text))
  const amount = <A>(full: A, few: A): A => (short ? few : full)
  const { patience = usualPatience } = each
  const startedAt = performance.now()
  yield* Console.log(`\n${each.name}: ${each.promise}`)
  const exit = yield* each.run({ tally, random: Random.make(seed), isChosen, amount }).pipe(
    Effect.scoped,
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () =>
        Effect.die(new Error(`the case did not end within ${Duration.format(Duration.fromInputUnsafe(patience))}`))
    }),
    Effect.exit
  )
  if (Exit.isFailure(exit)) tally.broken.push(Cause.pretty(exit.cause))
  const result: Report.Result = { case: each, tally, seconds: (performance.now() - startedAt) / 1000 }
  yield* Console.log(Report.line(result))
  for (const broken of tally.broken) yield* Console.log(`  broken: ${broken}`)
  return result
})

const invalid = (option: string, value: string, expected: string, kind: "flag" | "argument" = "flag") =>
  new CliError.ShowHelp({
    commandPath: ["faults"],
    errors: [new CliError.InvalidValue({ option, value, expected, kind })]
  })

/** Whether a name on the command line, in which `*` stands for any text, is that of a case. */
const means = (given: string, name: string): boolean => path.matchesGlob(name, given)

/**
 * The cases of the given names, and with `--part` only those that have a part of this name. A name of no case, or a text that names no
 * part, would run nothing and report success.
 */
const choose = Effect.fnUntraced(function* ({ names, part, short }: Given) {
  const foreign = names.find((given) => !cases.some(({ name }) => means(given, name)))
  if (foreign !== undefined) {
    const expected = `one of ${cases.map(({ name }) => name).join(", ")}, or a pattern with *`
    return yield* invalid("case", foreign, expected, "argument")
  }
  const chosen = cases.filter(({ name, isShort = false }) =>
    names.length > 0 ? names.some((given) => means(given, name)) : isShort || !short
  )
  if (part.length === 0) return chosen
  const parts = chosen.flatMap(({ parts = [] }) => parts)
  const unknown = part.find((text) => !parts.some((name) => name.includes(text)))
  if (unknown === undefined) {
    return chosen.filter(({ parts = [] }) => parts.some((name) => part.some((text) => name.includes(text))))
  }
  const quoted = parts.map((name) => `"${name}"`).join(" | ")
  const expected = parts.length === 0 ? "no --part, because the chosen cases have no parts" : `text of one of ${quoted}`
  return yield* invalid("part", unknown, expected)
})

const list = Effect.fnUntraced(function* (given: Given) {
  for (const { name, promise } of yield* choose(given)) yield* Console.log(`${name.padEnd(Report.nameWidth)}${promise}`)
})

const runAll = Effect.fnUntraced(function* (given: Given) {
  const { report, seed } = given
  const chosen = yield* choose(given)
  const results: Array<Report.Result> = []
  for (const each of chosen) results.push(yield* run(each, given))
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0)
  yield* Console.log(`\nseed ${seed}, ${seconds.toFixed(0)} s\n${results.map(Report.line).join("\n")}`)
  if (report) yield* Report.write(results, seed)
  if (results.some(({ tally }) => tally.broken.length > 0)) process.exitCode = 1
})

/** The figures of `faults/cases.md` are those of all faults. */
const shortReport = invalid("report", "true", "a run without --short")

export const command = Command.make("faults", flags, (given) =>
  given.list ? list(given) : given.short && given.report ? Effect.fail(shortReport) : runAll(given)
)

if (import.meta.main)
  command.pipe(Command.run({ version: "1" }), Effect.provide(NodeServices.layer), NodeRuntime.runMain)

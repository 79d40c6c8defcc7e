// Measures transactions from their request to their `confirmed` event on a local chain, relative to signed transactions that are
// sent to the chain directly in the same run. Only the ratios are comparable between runs.
//
//   npm run bench:transactions
//   npm run bench:transactions -- --network solana
//   npm run bench:transactions -- --network stellar
//   npm run bench:transactions -- --report bench
//   npm run bench:transactions -- --against ../before
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect, Option, References, Struct } from "effect"
import { Command, Flag } from "effect/cli"
import { execFileSync } from "node:child_process"
import * as path from "node:path"
import * as Document from "./harness/Document.ts"
import * as Installation from "./harness/Installation.ts"
import * as Names from "./harness/Names.ts"
import { evm } from "./transactions/evm/Evm.ts"
import * as Report from "./transactions/Report.ts"
import * as Run from "./transactions/Run.ts"
import { solana } from "./transactions/solana/Solana.ts"
import { stellar } from "./transactions/stellar/Stellar.ts"

const networks = { evm: Run.on(evm), solana: Run.on(solana), stellar: Run.on(stellar) } as const

/** Of all networks. A run refuses those that its network does not have. */
const names = [...new Set<string>(Object.values(networks).flatMap(({ names }) => names))]

const flags = {
  smoke: Flag.Boolean("smoke").pipe(
    Flag.withDescription("A few transactions of each case: checks that each happens once, not the speed"),
    Flag.withDefault(false)
  ),
  rounds: Flag.Int("rounds").pipe(Flag.withDescription("Rounds of each case (default 2)"), Flag.optional),
  stored: Flag.Int("stored").pipe(
    Flag.withDescription("Final transactions of the second part (default 1000000; 0: no second part)"),
    Flag.optional
  ),
  cases: Flag.String("cases").pipe(
    Flag.withDescription(`Any of ${names.join(", ")}, separated by commas (default all)`),
    Names.flag(names),
    Flag.optional
  ),
  network: Flag.Literals("network", Struct.keys(networks)).pipe(
    Flag.withDescription("Type of the network (default evm)"),
    Flag.withDefault("evm" as const)
  ),
  against: Flag.String("against").pipe(
    Flag.withDescription(
      "Folder of another installed checkout of the service, measured in turn as `before`; reports ratios"
    ),
    Flag.optional
  ),
  report: Flag.String("report").pipe(
    Flag.withDescription("Folder of performance.md, whose sections are written"),
    Flag.optional
  ),
  build: Flag.Boolean("build").pipe(
    Flag.withDescription("Builds the service first; --no-build uses the existing build"),
    Flag.withDefault(true)
  )
}

const build = (cwd: string) => execFileSync("npm", ["run", "--silent", "build"], { cwd, stdio: "inherit" })

Command.make("bench:transactions", flags, ({ report, network, build: isBuilding, ...given }) =>
  Effect.gen(function* () {
    if (isBuilding) [Installation.root, ...Option.toArray(given.against)].forEach(build)
    const { goals, run } = networks[network]
    const results = yield* run(given)
    const judged = goals(results)
    yield* Console.log(Report.text(results, judged))
    if (Option.isSome(report)) {
      const of = network === "evm" ? "" : ` of ${network}`
      yield* Document.write(path.join(report.value, "performance.md"), Report.sections(results, judged, of))
    }
  }).pipe(Effect.scoped)
).pipe(
  Command.run({ version: "1" }),
  Effect.provideService(References.MinimumLogLevel, "Warn"),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)

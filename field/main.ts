// Tries the service on real nodes, outside of CI: downloads each by the client of its registry, starts it on loopback, runs one script
// on it, and writes what was expected and what was seen.
//
//   npm run field                      lists the nodes
//   npm run field -- geth-1.17 hardhat
//   npm run field -- agave --binary PATH
//   npm run field -- stellar --url URL
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Console, DateTime, Effect, Exit, Option } from "effect"
import { Argument, CliError, Command, Flag } from "effect/cli"
import * as Evm from "./Evm.ts"
import * as Nodes from "./Nodes.ts"
import * as Report from "./Report.ts"
import { holds, Sheet } from "./Sheet.ts"
import * as Solana from "./Solana.ts"
import * as Stellar from "./Stellar.ts"

/** No registry has a node of stellar. It is named by its URL. */
const stellar = "stellar"

const names = [...Nodes.nodes.map(({ name }) => name), stellar]

const flags = {
  names: Argument.String("node").pipe(
    Argument.withDescription(`Names of nodes: ${names.join(", ")}. Without a name, they are listed`),
    Argument.variadic()
  ),
  binary: Flag.String("binary").pipe(
    Flag.withDescription("The program of the one node that is named, instead of its package"),
    Flag.optional
  ),
  url: Flag.String("url").pipe(
    Flag.withDescription(
      "The URL of a node that runs already, instead of one that is started. It must be a node for tests"
    ),
    Flag.optional
  ),
  write: Flag.Boolean("write").pipe(
    Flag.withDescription("Also writes the tables of these nodes into docs/tested-on.md"),
    Flag.withDefault(false)
  )
}

type Given = Command.Command.Config.Infer<typeof flags>

const invalid = (option: string, value: string, expected: string, kind: "flag" | "argument" = "flag") =>
  new CliError.ShowHelp({
    commandPath: ["field"],
    errors: [new CliError.InvalidValue({ option, value, expected, kind })]
  })

const runOn = Effect.fnUntraced(function* (name: string, { binary, url, write }: Given) {
  const sheet = new Sheet()
  const node = Nodes.nodes.find((one) => one.name === name)
  const running = Option.map(url, Nodes.at)
  const version = node?.version ?? (Option.isSome(running) ? yield* Stellar.versionOf(running.value) : "a stellar node")
  const mode = Option.isSome(running) ? "a node that ran already" : (node?.mode ?? "")
  yield* Console.log(`\n${name}: ${version}, ${mode}`)
  const exit = yield* Effect.gen(function* () {
    const started = Option.isSome(running)
      ? running.value
      : node === undefined
        ? undefined
        : yield* node.start(Option.getOrUndefined(binary))
    if (started === undefined) return yield* Effect.die(new Error("it needs --url"))
    if (node === undefined) yield* Stellar.run(sheet, started)
    else if (node.type === "evm") yield* Evm.run(sheet, node, started)
    else yield* Solana.run(sheet, started, { recordsFor: write && Option.isNone(url) ? version : undefined })
  }).pipe(Effect.scoped, Effect.exit)
  if (Exit.isFailure(exit)) {
    yield* Console.log(Cause.pretty(exit.cause))
    sheet.rows.push({ name: "the script", expected: "reaches its end", seen: "failed before its end" })
  }
  const today = DateTime.formatIsoDateUtc(yield* DateTime.now)
  const result: Report.Result = { name, version, mode, date: today, rows: sheet.rows }
  yield* Console.log(Report.table(result))
  return result
})

const runAll = Effect.fnUntraced(function* (given: Given) {
  if (given.names.length === 0) {
    for (const { mode, name, version } of Nodes.nodes) yield* Console.log(`${name.padEnd(20)}${version}, ${mode}`)
    return yield* Console.log(`${stellar.padEnd(20)}any node with the JSON-RPC of stellar-rpc, by --url`)
  }
  const unknown = given.names.find((name) => !names.includes(name))
  if (unknown !== undefined) return yield* invalid("node", unknown, `one of ${names.join(", ")}`, "argument")
  if ((Option.isSome(given.binary) || Option.isSome(given.url)) && given.names.length > 1) {
    return yield* invalid(
      "node",
      given.names.join(" "),
      "one node, because --binary and --url are about one",
      "argument"
    )
  }
  if (given.names.includes(stellar) && Option.isNone(given.url)) {
    return yield* invalid("node", stellar, "--url, because no registry has a node of stellar", "argument")
  }
  const results = yield* Effect.forEach(given.names, (name) => runOn(name, given))
  if (given.write) yield* Report.write(results)
  if (results.some(({ rows }) => !rows.every(holds))) process.exitCode = 1
})

Command.make("field", flags, runAll).pipe(
  Command.run({ version: "1" }),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)

// Plans of the commands `plan`, `diff` and `apply`: made by the service, and printed.
import { Console, Effect, Schema } from "effect"
import { Flag } from "effect/cli"
import type { Command } from "effect/cli"
import * as fs from "node:fs"
import { version } from "../../api/Version.ts"
import * as PlanText from "../../domain/configuration/PlanText.ts"
import { ConfigurationPlan, toPlan } from "../../domain/configuration/PlanRequest.ts"
import * as Call from "../kit/Call.ts"
import { CommandFailed, exitCodes } from "../kit/CommandFailed.ts"
import * as Connection from "../kit/Connection.ts"
import { Environment } from "../kit/Environment.ts"
import * as Input from "../kit/Input.ts"
import * as Print from "../kit/Print.ts"
import * as Configuration from "./Given.ts"

export const flags = {
  ...Connection.flags,
  ...Configuration.flags,
  ...Configuration.optionFlags,
  insecure: Configuration.toggle("insecure", "Send secrets over http to a host that is not this machine"),
  quiet: Configuration.toggle("quiet", "Print only how many objects change").pipe(Flag.withAlias("q")),
  output: Flag.Literals("output", ["text", "json", "markdown"]).pipe(
    Flag.withAlias("o"),
    Flag.withDescription("Output format (default text)"),
    Flag.withDefault("text")
  )
}

export type PlanFlags = Command.Command.Config.InferValue<typeof flags>

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/

export const isLoopback = (hostname: string): boolean => loopback.test(hostname)

/** The document contains secrets. */
const checkTransport = Effect.fnUntraced(function* (given: PlanFlags) {
  const { baseUrl } = yield* Connection.open(given)
  const { protocol, hostname } = new URL(baseUrl)
  if (protocol === "https:" || isLoopback(hostname) || given.insecure) return
  return yield* new CommandFailed({
    message: `${baseUrl} is not encrypted, and a configuration contains secrets: use https, or allow it with --insecure`,
    exitCode: exitCodes.unreachable
  })
})

/** Another program at the address is no service that could refuse. */
const asUnreachable = (error: CommandFailed): CommandFailed =>
  error.exitCode === exitCodes.refused
    ? new CommandFailed({ message: error.message, exitCode: exitCodes.unreachable })
    : error

/** Calls of the commands about configurations. */
export const open = (given: Connection.ConnectionFlags) => Effect.mapError(Call.open(given), asUnreachable)

/** Loads the files, and returns the request to plan them and a function that calls the service. */
export const prepare = Effect.fnUntraced(function* (given: PlanFlags) {
  const configuration = yield* Configuration.load(given)
  for (const warning of configuration.warnings) yield* Console.error(`warning: ${warning}`)
  yield* checkTransport(given)
  const { baseUrl } = yield* Connection.open(given)
  const run = yield* open(given)
  const payload = {
    document: configuration.document,
    options: {
      prune: given.prune,
      take_over: given.takeOver,
      replace: given.replace,
      destroy_keys: given.destroyKeys
    },
    templates: Configuration.templatesOf(configuration)
  }
  return { baseUrl, payload, run }
})

export type Prepared = Effect.Success<ReturnType<typeof prepare>>

export const make = ({ baseUrl, payload, run }: Prepared) =>
  run((client) => client.configuration.plan({ payload })).pipe(
    Effect.map(({ value }) => value.data),
    Effect.catch((error) => Effect.flatMap(explained(error, baseUrl), Effect.fail))
  )

/** A service of an earlier version has no such path. `error` otherwise. */
export const explained = (error: CommandFailed, baseUrl: string): Effect.Effect<CommandFailed> =>
  error.status === 404
    ? Effect.map(Call.versionOf(baseUrl), (found) => {
        const what = found === undefined ? "this service" : `this service is version ${found} and`
        const message = `${what} has no configurations: upgrade it to ${version}`
        return new CommandFailed({ message, exitCode: exitCodes.refused })
      })
    : Effect.succeed(error)

/** `rehearsals`: lines about changed policies, which are absent if nobody has asked for them. */
export const print = (
  plan: ConfigurationPlan,
  { output, quiet }: Pick<PlanFlags, "output" | "quiet">,
  rehearsals?: ReadonlyArray<string>
): Effect.Effect<void, never, Environment> => {
  if (output === "json") {
    const shown = quiet ? plan.counts : plan
    return Print.json(rehearsals === undefined ? shown : { ...shown, rehearsals })
  }
  const domain = toPlan(plan)
  const isMarkdown = output === "markdown" && !quiet
  const write = quiet ? PlanText.headline : isMarkdown ? PlanText.markdown : PlanText.text
  const text = write(domain, plan.digest)
  const added = (rehearsals ?? []).map((line) => (isMarkdown ? `- ${line}` : line))
  const lines = (shown: string) => Console.log([shown, ...(added.length === 0 ? [] : ["", ...added])].join("\n"))
  return Effect.flatMap(hasColours, (has) => lines(has && !isMarkdown ? PlanText.withColours(text) : text))
}

/** https://no-color.org: any value of the variable that is not empty. */
const hasColours = Effect.gen(function* () {
  const { isTerminal } = yield* Environment
  return isTerminal && (yield* Environment.read("NO_COLOR")) === undefined
})

const decodePlan = Schema.decodeUnknownEffect(Schema.fromJsonString(ConfigurationPlan))

const planFile = (name: string) => Flag.Path(name, { pathType: "either", typeName: "file" })

export const out = planFile("out").pipe(
  Flag.withDescription("Also write the plan to this file, for apply --plan"),
  Flag.optional
)

export const given = planFile("plan").pipe(
  Flag.withDescription("Apply the plan in this file, which plan --out has written, and no other"),
  Flag.optional
)

/** A plan has no secrets. A file of an earlier plan is replaced. */
export const save = (plan: ConfigurationPlan, file: string) =>
  Effect.try({
    try: () => fs.writeFileSync(file, `${Print.jsonLine(plan)}\n`),
    catch: (cause) =>
      CommandFailed.usage(`cannot write ${file}: ${cause instanceof Error ? cause.message : String(cause)}`)
  })

export const saved = (file: string) =>
  Effect.flatMap(Input.readText(file), decodePlan).pipe(
    Effect.catchTag("SchemaError", () =>
      Effect.fail(CommandFailed.usage(`${file} is not a plan: write one with effect-relayer plan --out ${file}`))
    )
  )

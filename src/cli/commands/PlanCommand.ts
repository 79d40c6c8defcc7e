// `plan` and `diff`: what has to change so that the service has what the files of a configuration say.
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { hasChanges } from "../../domain/configuration/Planning.ts"
import * as PlanText from "../../domain/configuration/PlanText.ts"
import { toPlan } from "../../domain/configuration/PlanRequest.ts"
import type { ConfigurationPlan } from "../../domain/configuration/PlanRequest.ts"
import * as Configuration from "../configuration/Given.ts"
import * as Call from "../kit/Call.ts"
import { CommandFailed, exitCodes } from "../kit/CommandFailed.ts"
import * as Connection from "../kit/Connection.ts"
import * as Print from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"

const flags = {
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

type Given = Command.Command.Config.InferValue<typeof flags>

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** The document contains secrets. */
const checkTransport = Effect.fnUntraced(function* (given: Given) {
  const { baseUrl } = yield* Connection.open(given)
  const { protocol, hostname } = new URL(baseUrl)
  if (protocol === "https:" || loopback.test(hostname) || given.insecure) return
  return yield* new CommandFailed({
    message: `${baseUrl} is not encrypted, and a configuration contains secrets: use https, or allow it with --insecure`,
    exitCode: exitCodes.unreachable
  })
})

const call = Effect.fnUntraced(function* (given: Given) {
  const configuration = yield* Configuration.load(given)
  for (const warning of configuration.warnings) yield* Console.error(`warning: ${warning}`)
  yield* checkTransport(given)
  const run = yield* Call.open(given)
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
  const { value } = yield* run((client) => client.configuration.plan({ payload })).pipe(Effect.mapError(explained))
  return value.data
})

/** A service of an earlier version has no such path. */
const explained = (error: CommandFailed): CommandFailed =>
  error.status === 404
    ? new CommandFailed({
        message: "this service has no configurations: upgrade it to the version of this command",
        exitCode: exitCodes.refused
      })
    : error

const print = (plan: ConfigurationPlan, { output, quiet }: Given, withKept: boolean) => {
  if (output === "json") return Print.json(quiet ? plan.counts : plan)
  const domain = toPlan(plan)
  if (quiet) return Console.log(PlanText.headline(domain))
  const text = output === "markdown" ? PlanText.markdown(domain, { withKept }) : PlanText.text(domain, { withKept })
  return Console.log(text)
}

/** With the flag, 2 means "changes", and everything that fails before is 1. */
const detailed = <A, R>(self: Effect.Effect<A, CommandFailed, R>) =>
  Effect.mapError(self, (error) =>
    error.exitCode === exitCodes.usage
      ? new CommandFailed({ message: error.message, exitCode: exitCodes.refused })
      : error
  )

const changed = new CommandFailed({ message: "the service differs from the configuration", exitCode: exitCodes.usage })

const compare = Effect.fnUntraced(function* (given: Given, isDetailed: boolean, withKept: boolean) {
  const plan = yield* isDetailed ? detailed(call(given)) : call(given)
  yield* print(plan, given, withKept)
  if (isDetailed && hasChanges(toPlan(plan))) return yield* changed
})

export const PlanCommand = Command.make(
  "plan",
  {
    ...flags,
    detailedExitcode: Configuration.toggle(
      "detailed-exitcode",
      "End with 0 without changes, 2 with changes, 1 after a failure"
    )
  },
  ({ detailedExitcode, ...given }) => compare(given, detailedExitcode, true)
).pipe(
  Verb.about(
    "Compare a configuration with the service, and print what differs. It changes nothing.",
    "plan --file relayers.yaml",
    "plan --file relayers.yaml --overlay production.yaml --output markdown"
  )
)

export const DiffCommand = Command.make("diff", flags, (given) => compare(given, true, true)).pipe(
  Verb.about(
    "Compare a configuration with the service as plan does. Ends with 0 without changes, 2 with changes, 1 after a failure.",
    "diff --file relayers.yaml"
  )
)

// `plan`, `diff`, `apply` and `export`: the configuration of the service as files.
import { Console, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import * as fs from "node:fs"
import { ConfigurationName } from "../../domain/configuration/Document.ts"
import { hasChanges, toPlan } from "../../domain/configuration/Plan.ts"
import type { ConfigurationApplied, ConfigurationPlan } from "../../domain/configuration/Plan.ts"
import { RehearsedDays } from "../../networks/evm/rules/Hindsight.ts"
import * as Planned from "../configuration/Planned.ts"
import { rehearsalLines, reportNewRelayers, toggle, waitForNewRelayers } from "../configuration/Planned.ts"
import { connectionFlags, openConnection } from "../kit/Call.ts"
import { Environment } from "../kit/Environment.ts"
import { Lifetime } from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import { CommandFailed, exitCodes, goOnUnread } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"
import { askFirst, confirmFlag } from "../kit/Verb.ts"

const flags = {
  ...Planned.flags,
  yes: confirmFlag,
  plan: Planned.given,
  keysOut: Flag.Path("keys-out", { pathType: "either", typeName: "file" }).pipe(
    Flag.withDescription("New file for the new API keys, which are shown nowhere else"),
    Flag.optional
  ),
  revision: Flag.String("revision").pipe(
    Flag.withDescription("What the files are from, such as a commit [GITHUB_SHA, CI_COMMIT_SHA]"),
    Flag.optional
  ),
  wait: Flag.String("wait").pipe(
    Flag.withSchema(Lifetime),
    Flag.withMetavar("<duration>"),
    Flag.withDescription("Wait for the first check of the new relayers, at most as long, such as 60s"),
    Flag.optional
  )
}

type ApplyFlags = Command.Command.Config.InferValue<typeof flags>

/** Variables in which systems of continuous integration have the commit. */
const revisionVariables = ["GITHUB_SHA", "CI_COMMIT_SHA"]

const revisionOf = Effect.fnUntraced(function* ({ revision }: ApplyFlags) {
  if (Option.isSome(revision)) return revision.value
  const { variables } = yield* Environment
  return revisionVariables.map((name) => variables[name]).find((value) => value !== undefined && value !== "")
})

const created = (plan: ConfigurationPlan, kind: string) =>
  plan.steps.filter((step) => step.kind === kind && (step.action === "create" || step.action === "replace"))

const ownerOnly = 0o600

const fileProblem = (file: string, cause: unknown): CommandFailed => {
  const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST"
  const why = cause instanceof Error ? cause.message : String(cause)
  return CommandFailed.usage(exists ? `${file} exists: it is never overwritten` : `cannot write ${file}: ${why}`)
}

/** Creates the file of the new keys before they exist, so that they cannot be lost for want of a place. */
const reserve = Effect.fnUntraced(function* (plan: ConfigurationPlan, { keysOut }: ApplyFlags) {
  const keys = created(plan, "api_keys")
  if (keys.length === 0) return undefined
  if (Option.isNone(keysOut)) {
    return yield* CommandFailed.usage(
      `the plan creates ${counted(keys.length, "API key")} (${keys.map(({ id }) => id).join(", ")}): name a file for the new values with --keys-out, because they are shown only once`
    )
  }
  const file = keysOut.value
  yield* Effect.try({
    try: () => fs.writeFileSync(file, "", { flag: "wx", mode: ownerOnly }),
    catch: (cause) => fileProblem(file, cause)
  })
  return file
})

const store = Effect.fnUntraced(function* (file: string | undefined, { keys }: ConfigurationApplied) {
  if (file === undefined) return
  const text = Object.fromEntries(keys.map(({ id, key }) => [id, Redacted.value(key)]))
  yield* Effect.try({
    try: () => fs.writeFileSync(file, `${JSON.stringify(text, undefined, 2)}\n`),
    catch: (cause) => fileProblem(file, cause)
  })
  yield* Console.error(`wrote the new API keys to ${file}`)
})

/** A file without keys would keep the next apply from writing it. */
const discard = (file: string | undefined) =>
  file === undefined ? Effect.void : Effect.sync(() => fs.rmSync(file, { force: true }))

const sentence = ({ counts, name }: ConfigurationPlan): string =>
  `apply ${name}: create ${counts.create}, change ${counts.change}, delete ${counts.delete}`

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** An object that is only adopted is no change of it. */
const doneOf = ({ changed, counts }: ConfigurationApplied): string => {
  const changes = counts.create + counts.change + counts.delete
  const adopted = changed.length - changes
  const done = [
    ...(changes === 0 ? [] : [`applied ${counted(changes, "change")}`]),
    ...(adopted === 0 ? [] : [`adopted ${counted(adopted, "object")} without changes`])
  ]
  return done.length === 0 ? "nothing to do" : done.join(", ")
}

const apply = Effect.fnUntraced(function* (given: ApplyFlags) {
  yield* goOnUnread
  const prepared = yield* Planned.prepare(given)
  const plan = yield* Option.match(given.plan, { onNone: () => Planned.make(prepared), onSome: Planned.saved })
  if (given.output !== "json") yield* Planned.print(plan, given)
  const isEmpty = !hasChanges(toPlan(plan))
  if (!isEmpty) yield* askFirst(given.yes, sentence(plan))
  const file = yield* reserve(plan, given)
  const revision = yield* revisionOf(given)
  const { baseUrl, payload, run } = prepared
  const body = { ...payload, digest: plan.digest, seen: plan.seen, ...(revision === undefined ? {} : { revision }) }
  const { value } = yield* run((client) => client.configuration.apply({ payload: body })).pipe(
    Effect.catch((error) => Effect.flatMap(Planned.explained(error, baseUrl), Effect.fail)),
    Effect.tapError(({ exitCode }) => (exitCode === exitCodes.unreachable ? Effect.void : discard(file)))
  )
  const applied = value.data
  yield* store(file, applied)
  const { keys: _, ...shown } = applied
  if (given.output === "json") yield* Print.json(shown)
  else yield* Console.log(doneOf(applied))
  const relayers = created(plan, "relayers").map(({ id }) => id)
  if (relayers.length === 0 || given.output === "json") return
  yield* reportNewRelayers(run, relayers)
  if (Option.isSome(given.wait)) yield* waitForNewRelayers(run, relayers, given.wait.value)
})

export const ApplyCommand = Command.make("apply", flags, apply).pipe(
  Verb.about(
    "Make the service what the files of a configuration say: all of it, or nothing. It prints the plan and asks first.",
    "apply --file relayers.yaml",
    "apply --file relayers.yaml --yes --keys-out new-keys.json",
    "apply --file relayers.yaml --yes --plan plan.json"
  )
)

// `plan` and `diff`: what has to change so that the service has what the files of a configuration say.

/** With the flag, 2 means "changes", and everything that fails before is 1. */
const detailed = <A, R>(self: Effect.Effect<A, CommandFailed, R>) =>
  Effect.mapError(self, (error) =>
    error.exitCode === exitCodes.usage
      ? new CommandFailed({ message: error.message, exitCode: exitCodes.refused })
      : error
  )

const changed = new CommandFailed({ message: "the service differs from the configuration", exitCode: exitCodes.usage })

const call = Effect.fnUntraced(function* (given: Planned.PlanFlags) {
  const prepared = yield* Planned.prepare(given)
  return { prepared, plan: yield* Planned.make(prepared) }
})

/** `days`: policies that change are tried on the transactions of these days. `file`: the plan is also written to it. */
const compare = Effect.fnUntraced(function* (
  given: Planned.PlanFlags,
  isDetailed: boolean,
  days: Option.Option<number>,
  file: Option.Option<string>
) {
  const { plan, prepared } = yield* isDetailed ? detailed(call(given)) : call(given)
  if (Option.isSome(file)) yield* Planned.save(plan, file.value)
  const rehearsals = Option.isSome(days) ? yield* rehearsalLines(prepared, plan, days.value) : undefined
  yield* Planned.print(plan, given, rehearsals)
  if (isDetailed && hasChanges(toPlan(plan))) return yield* changed
})

export const PlanCommand = Command.make(
  "plan",
  {
    ...Planned.flags,
    out: Planned.out,
    detailedExitcode: toggle("detailed-exitcode", "End with 0 without changes, 2 with changes, 1 after a failure"),
    rehearse: Flag.Int("rehearse").pipe(
      Flag.withSchema(RehearsedDays),
      Flag.withMetavar("<days>"),
      Flag.withDescription("Try changed policies of evm relayers on their transactions of the last days, 1 to 30"),
      Flag.optional
    )
  },
  ({ detailedExitcode, out, rehearse, ...given }) => compare(given, detailedExitcode, rehearse, out)
).pipe(
  Verb.about(
    "Compare a configuration with the service, and print what differs. It changes nothing.",
    "plan --file relayers.yaml",
    "plan --file relayers.yaml --rehearse 30",
    "plan --file relayers.yaml --overlay production.yaml --output markdown --out plan.json"
  )
)

export const DiffCommand = Command.make("diff", Planned.flags, (given) =>
  compare(given, true, Option.none(), Option.none())
).pipe(
  Verb.about(
    "Compare a configuration with the service as plan does. Ends with 0 without changes, 2 with changes, 1 after a failure.",
    "diff --file relayers.yaml"
  )
)

// `export`: prints what the service has as a configuration file.

/** Loaded when it is needed, because the parser takes longer to load than other commands to run. */
const loaded = Effect.promise(() => import("../configuration/Export.ts"))

export const ExportCommand = Command.make(
  "export",
  {
    ...connectionFlags,
    name: Flag.String("name").pipe(
      Flag.withSchema(ConfigurationName),
      Flag.withDescription("Name of the configuration")
    ),
    all: toggle("all", "Everything that the service has, as the start of a configuration of this name"),
    envNames: toggle("env-names", "Write names of variables for secrets and hidden URLs, for another installation"),
    output: Flag.Literals("output", ["yaml", "json"]).pipe(
      Flag.withAlias("o"),
      Flag.withDescription("Output format (default yaml)"),
      Flag.withDefault("yaml")
    )
  },
  Effect.fnUntraced(function* ({ name, all, envNames, output, ...connection }) {
    const { baseUrl } = yield* openConnection(connection)
    const run = yield* Planned.open(connection)
    const request = { params: { configuration: name }, query: { all } }
    const { value } = yield* run((client) => client.configuration.document(request)).pipe(
      Effect.catch((error) =>
        Effect.flatMap(all ? Planned.explained(error, baseUrl) : Effect.succeed(error), Effect.fail)
      )
    )
    const { toYaml, withVariables } = yield* loaded
    const { document, variables } = envNames
      ? withVariables(value.data.document)
      : { document: value.data.document, variables: [] }
    if (output === "json") yield* Print.json(document)
    else yield* Console.log(toYaml(document, value.data.remarks, baseUrl).trimEnd())
    if (variables.length > 0) yield* Console.error(`the file reads the variables ${variables.join(", ")}`)
  })
).pipe(
  Verb.about(
    "Print what the service has as a configuration file. Secrets are references to what is stored; a plan of the file has no changes.",
    "export --all --name first > relayers.yaml",
    "export --name payments"
  )
)

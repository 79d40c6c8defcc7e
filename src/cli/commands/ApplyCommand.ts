// `apply`: makes the service what the files of a configuration say, after its plan was shown and confirmed.
import { Console, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import * as fs from "node:fs"
import type { ConfigurationApplied } from "../../domain/configuration/ApplyRequest.ts"
import { hasChanges } from "../../domain/configuration/Plan.ts"
import { toPlan } from "../../domain/configuration/PlanRequest.ts"
import type { ConfigurationPlan } from "../../domain/configuration/PlanRequest.ts"
import * as NewRelayers from "../configuration/NewRelayers.ts"
import * as Planned from "../configuration/Planned.ts"
import { CommandFailed, exitCodes } from "../kit/CommandFailed.ts"
import * as Confirm from "../kit/Confirm.ts"
import { Environment } from "../kit/Environment.ts"
import { Lifetime } from "../kit/Lifetime.ts"
import * as Print from "../kit/Print.ts"
import * as Unread from "../kit/Unread.ts"
import * as Verb from "../kit/Verb.ts"

const flags = {
  ...Planned.flags,
  yes: Confirm.flag,
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
  yield* Unread.goOn
  const prepared = yield* Planned.prepare(given)
  const plan = yield* Option.match(given.plan, { onNone: () => Planned.make(prepared), onSome: Planned.saved })
  if (given.output !== "json") yield* Planned.print(plan, given)
  const isEmpty = !hasChanges(toPlan(plan))
  if (!isEmpty) yield* Confirm.ask(given.yes, sentence(plan))
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
  yield* NewRelayers.report(run, relayers)
  if (Option.isSome(given.wait)) yield* NewRelayers.wait(run, relayers, given.wait.value)
})

export const ApplyCommand = Command.make("apply", flags, apply).pipe(
  Verb.about(
    "Make the service what the files of a configuration say: all of it, or nothing. It prints the plan and asks first.",
    "apply --file relayers.yaml",
    "apply --file relayers.yaml --yes --keys-out new-keys.json",
    "apply --file relayers.yaml --yes --plan plan.json"
  )
)

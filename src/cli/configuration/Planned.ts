// Plans of the commands `plan`, `diff` and `apply`: which configuration they are about, made by the service, tried, and printed.
import { Console, Duration, Effect, Result, Schedule, Schema } from "effect"
import { Flag } from "effect/cli"
import type { Command } from "effect/cli"
import * as fs from "node:fs"
import { parseEnv } from "node:util"
import { version } from "../../api/Version.ts"
import { isMembers } from "../../domain/configuration/Document.ts"
import {
  ConfigurationPlan,
  planHeadline,
  planMarkdown,
  planText,
  toPlan,
  withPlanColours
} from "../../domain/configuration/Plan.ts"
import { looksLikeKey } from "../../domain/configuration/Reference.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { Rehearsal } from "../../networks/evm/rules/Hindsight.ts"
import * as Call from "../kit/Call.ts"
import { connectionFlags, openConnection, relayerWarnings } from "../kit/Call.ts"
import type { ConnectionFlags } from "../kit/Call.ts"
import { Environment } from "../kit/Environment.ts"
import * as Print from "../kit/Print.ts"
import { CommandFailed, exitCodes, printable, readText } from "../kit/Terminal.ts"
import type { Loaded } from "./Load.ts"
import { variableReader } from "./Tree.ts"
import type { Problem } from "./Tree.ts"

// The flags that say which configuration a command is about, and the document that they lead to.

const paths = (name: string, description: string) =>
  Flag.Path(name, { pathType: "either" }).pipe(Flag.atLeast(0), Flag.withDescription(description))

export const toggle = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withoutNegation, Flag.withDescription(description), Flag.withDefault(false))

const names = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.atLeast(0), Flag.withDescription(description))

const configurationFlags = {
  files: paths("file", "File or folder of the configuration; may be repeated").pipe(Flag.withAlias("f")),
  overlays: paths("overlay", "File that changes the configuration (a merge patch); may be repeated"),
  roots: paths("root", "Folder that files may be read from, beside that of the first file; may be repeated"),
  envFiles: paths("env-file", "File of variables, all of which may be read; may be repeated"),
  env: names("env", "<pattern>", "Environment variables that may be read, beside RELAYER_*; may be repeated"),
  strict: toggle("strict", "Refuse a literal URL that looks like it has a key, instead of a warning")
}

export interface ConfigurationFlags {
  readonly files: ReadonlyArray<string>
  readonly overlays: ReadonlyArray<string>
  readonly roots: ReadonlyArray<string>
  readonly envFiles: ReadonlyArray<string>
  readonly env: ReadonlyArray<string>
  readonly strict: boolean
}

const optionFlags = {
  prune: toggle("prune", "Delete objects of this configuration that its files no longer contain"),
  takeOver: toggle("take-over", "Make objects of other configurations objects of this one"),
  replace: names("replace", "<relayers.id>", "Object that may be deleted and created again; may be repeated"),
  destroyKeys: names("destroy-key", "<id>", "Signer that may be deleted with the only copy of its key; may be repeated")
}

/** Loaded when it is needed, because the parser takes longer to load than other commands to run. */
const loader = Effect.promise(() => import("./Load.ts"))

const lineOf = ({ path, message, place }: Problem): string => {
  const at = place === undefined ? "" : `${place.file}:${place.line}:${place.column}: `
  return printable(`${at}${path === "" ? "" : `${path}: `}${message}`)
}

/** Literal URLs that look like they have a key, by path. */
const literalKeys = ({ document, hidden, templates }: Loaded): ReadonlyArray<string> => {
  const found: Array<string> = []
  const visit = (value: unknown, path: string): void => {
    if (typeof value === "string") {
      const isUrl = /(^|\.)(url|(private_)?rpc_urls\.\d+|horizon_url)$/.test(path)
      if (isUrl && !hidden.has(path) && !templates.has(path) && looksLikeKey(value)) found.push(path)
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, `${path}.${index}`)
    } else if (isMembers(value)) {
      for (const [name, child] of Object.entries(value)) visit(child, path === "" ? name : `${path}.${name}`)
    }
  }
  visit(document, "")
  return found
}

const looksLike = "looks like it has a key: use {env: NAME} or ${NAME}"

/** Fails with everything that is wrong with the files, one line for each problem. Returns the document and its warnings. */
const loadConfiguration = Effect.fnUntraced(function* (given: ConfigurationFlags) {
  if (given.files.length === 0) return yield* CommandFailed.usage("name a file or a folder with --file")
  const { variables, dotEnv } = yield* Environment
  const { load } = yield* loader
  const files: Record<string, string | undefined> = {}
  for (const file of given.envFiles) Object.assign(files, parseEnv(yield* readText(file)))
  const result = load({ ...given, variables: variableReader({ ...dotEnv, ...variables }, given.env, files) })
  if (Result.isFailure(result)) {
    return yield* CommandFailed.usage(result.failure.map(lineOf).join("\n"))
  }
  const warnings = literalKeys(result.success).map((path) => printable(`${path}: ${looksLike}`))
  if (given.strict && warnings.length > 0) return yield* CommandFailed.usage(warnings.join("\n"))
  return { ...result.success, warnings }
})

/** What the plan shows instead of values that came from outside of the files. */
const templatesOf = ({ hidden, templates }: Loaded): Readonly<Record<string, string>> => ({
  ...Object.fromEntries([...hidden].map((path) => [path, "(hidden)"])),
  ...Object.fromEntries(templates)
})

export const flags = {
  ...connectionFlags,
  ...configurationFlags,
  ...optionFlags,
  insecure: toggle("insecure", "Send secrets over http to a host that is not this machine"),
  quiet: toggle("quiet", "Print only how many objects change").pipe(Flag.withAlias("q")),
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
  const { baseUrl } = yield* openConnection(given)
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
export const open = (given: ConnectionFlags) => Effect.mapError(Call.open(given), asUnreachable)

/** Loads the files, and returns the request to plan them and a function that calls the service. */
export const prepare = Effect.fnUntraced(function* (given: PlanFlags) {
  const configuration = yield* loadConfiguration(given)
  for (const warning of configuration.warnings) yield* Console.error(`warning: ${warning}`)
  yield* checkTransport(given)
  const { baseUrl } = yield* openConnection(given)
  const run = yield* open(given)
  const payload = {
    document: configuration.document,
    options: {
      prune: given.prune,
      take_over: given.takeOver,
      replace: given.replace,
      destroy_keys: given.destroyKeys
    },
    templates: templatesOf(configuration)
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
  const write = quiet ? planHeadline : isMarkdown ? planMarkdown : planText
  const text = write(domain, plan.digest)
  const added = (rehearsals ?? []).map((line) => (isMarkdown ? `- ${line}` : line))
  const lines = (shown: string) => Console.log([shown, ...(added.length === 0 ? [] : ["", ...added])].join("\n"))
  return Effect.flatMap(hasColours, (has) => lines(has && !isMarkdown ? withPlanColours(text) : text))
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
  Effect.flatMap(readText(file), decodePlan).pipe(
    Effect.catchTag("SchemaError", () =>
      Effect.fail(CommandFailed.usage(`${file} is not a plan: write one with effect-relayer plan --out ${file}`))
    )
  )

// What is wrong with relayers that an apply has created: it asks their chains, which the apply does not.

type Run = Prepared["run"]

/** Relayers that are asked one after the other. The health job checks the others. */
const maxAsked = 20

const interval = Duration.seconds(1)

const printNewRelayer = (id: string, text: string) => Console.log(printable(`relayers.${id}: ${text}`))

/** Prints one line for each problem. A relayer that cannot be asked is not a failure of the apply. */
export const reportNewRelayers = Effect.fnUntraced(function* (run: Run, ids: ReadonlyArray<string>) {
  for (const id of ids.slice(0, maxAsked)) {
    const params = { relayer_id: RelayerId.make(id) }
    const problems = yield* run((client) =>
      Effect.flatMap(client.relayers.get({ params }), ({ data }) => relayerWarnings(client, data))
    ).pipe(
      Effect.map(({ value }) => value),
      Effect.catch(({ message }) => Effect.succeed([message]))
    )
    for (const problem of problems) yield* printNewRelayer(id, problem)
  }
  if (ids.length > maxAsked) yield* Console.log(`${ids.length - maxAsked} more new relayers were not asked`)
})

/** Waits for the first check of each relayer, and explains those that are not healthy then. */
export const waitForNewRelayers = Effect.fnUntraced(function* (run: Run, ids: ReadonlyArray<string>, seconds: number) {
  const deadline = Duration.seconds(seconds)
  const explanationOf = (id: string) =>
    run((client) => client.relayerHealth.explain({ params: { relayer_id: RelayerId.make(id) } })).pipe(
      Effect.map(({ value }) => value.data)
    )
  const states = new Map<string, string>()
  const read = Effect.forEach(
    ids,
    Effect.fnUntraced(function* (id) {
      const { state, reason, next } = yield* explanationOf(id)
      states.set(id, state === "healthy" ? "" : `${state}: ${reason} ${next}`)
      return state
    })
  )
  yield* read.pipe(
    Effect.repeat({
      schedule: Schedule.spaced(interval),
      until: (found) => found.every((state) => state !== "unknown")
    }),
    Effect.timeoutOption(deadline),
    Effect.catch(({ message }) => Console.error(message))
  )
  for (const [id, text] of states) if (text !== "") yield* printNewRelayer(id, text)
})

// Tries the changed policies of a plan on past transactions. It runs after the plan, and is no part of its digest.

const relayerIn = ({ payload }: Prepared, id: string) => {
  const relayers = payload.document["relayers"]
  const relayer = isMembers(relayers) ? relayers[id] : undefined
  return isMembers(relayer) ? relayer : {}
}

/** Members of the policy that change. `all`: the relayer has no policy yet, or loses it. */
const changedPolicies = ({ changes, kind }: ConfigurationPlan["steps"][number]): ReadonlySet<string> | "all" => {
  const paths = kind === "relayers" ? changes.map(({ path }) => path.split(".")) : []
  const policies = paths.filter(([field]) => field === "policies")
  if (policies.some(([, name]) => name === undefined)) return "all"
  return new Set(policies.map(([, name = ""]) => name))
}

/** The merge patch that makes the policy the wanted one: members that the document leaves out are removed. */
const patchOf = (wanted: unknown, changed: ReadonlySet<string> | "all") => {
  if (changed === "all") return isMembers(wanted) ? wanted : null
  const members = isMembers(wanted) ? wanted : {}
  return Object.fromEntries([...changed].map((name) => [name, members[name] ?? null]))
}

/** Writes a count with separators of thousands, as English texts have it. */
const shownCount = (count: number): string => count.toLocaleString("en-US")

const rehearsalSentence = ({ days, transactions, would_hold, would_refuse }: Rehearsal): string => {
  const refused = would_refuse.reduce((sum, { count }) => sum + count, 0)
  const held = shownCount(would_hold.count)
  return `of ${shownCount(transactions)} transactions of ${days} days it would have held ${held} and refused ${shownCount(refused)}`
}

/** One line for each evm relayer whose policy changes. A rehearsal that is refused is no failure of the plan. */
export const rehearsalLines = Effect.fnUntraced(function* (prepared: Prepared, plan: ConfigurationPlan, days: number) {
  const found: Array<string> = []
  for (const step of plan.steps) {
    const changed = changedPolicies(step)
    const wanted = relayerIn(prepared, step.id)
    if ((changed !== "all" && changed.size === 0) || wanted["network_type"] !== "evm") continue
    const request = {
      params: { relayer_id: RelayerId.make(step.id) },
      payload: { policies: patchOf(wanted["policies"], changed), days }
    }
    const text = yield* prepared
      .run((client) => client.policies.rehearse(request))
      .pipe(
        Effect.map(({ value }) => rehearsalSentence(value.data)),
        Effect.catch(({ message }) => Effect.succeed(message))
      )
    found.push(printable(`relayers.${step.id}: ${text}`))
  }
  return found
})

// The verbs of all resources: commands that call one endpoint and print its response, after a question if it cannot be undone.
import { Effect, Option } from "effect"
import type { Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createInterface } from "node:readline/promises"
import type * as Call from "./Call.ts"
import * as Contract from "./Contract.ts"
import * as Field from "./Field.ts"
import * as Print from "./Print.ts"
import { CommandFailed, exitCodes } from "./Terminal.ts"

// Asks before a command does what cannot be undone, unless it has `--yes`.

export const confirmFlag = Flag.Boolean("yes").pipe(
  Flag.withAlias("y"),
  Flag.withoutNegation,
  Flag.withDescription("Do not ask; required if the input or the output is not a terminal"),
  Flag.withDefault(false)
)

const answer = (question: string) =>
  Effect.callback<string>((resume) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    // Without a line, the input has ended, which is no consent.
    lines.once("close", () => resume(Effect.succeed("")))
    lines.once("SIGINT", () => lines.close())
    void lines.question(`${question} [y/N] `).then((line) => {
      resume(Effect.succeed(line))
      // An open input would keep the process from ending.
      lines.close()
    })
    return Effect.sync(() => lines.close())
  }).pipe(Effect.map((line) => line.trim().toLowerCase()))

/** `action` is an imperative sentence without its end: `delete the signer hot-1`. Fails unless the user agrees. */
export const askFirst = Effect.fnUntraced(function* (yes: boolean, action: string) {
  if (yes) return
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    return yield* CommandFailed.usage(`this would ${action}: add --yes to do it without a question`)
  }
  const given = yield* answer(`${action.slice(0, 1).toUpperCase()}${action.slice(1)}?`)
  if (given === "y" || given === "yes") return
  return yield* new CommandFailed({ message: "nothing was changed", exitCode: exitCodes.refused })
})

/** Adds a description and examples. The help of the parent command shows the first sentence. */
export const about =
  (description: string, ...examples: ReadonlyArray<string>) =>
  <Name extends string, Input, ContextInput, E, R>(self: Command.Command<Name, Input, ContextInput, E, R>) =>
    self.pipe(
      Command.withDescription(description),
      Command.withShortDescription(description.replace(/\.(\s.*)?$/s, "")),
      Command.withExamples(examples.map((example) => ({ command: `effect-relayer ${example}` })))
    )

export const id = <A>(schema: Schema.Codec<A, string>) => Argument.String("id").pipe(Argument.withSchema(schema))

/** What the user is asked about. */
interface ConfirmedCall {
  /** The id of the resource that the path of the endpoint names. */
  readonly id: string
  readonly query: Contract.Request["query"]
  readonly payload: Contract.Request["payload"]
}

/** What a command has beyond the call of its endpoint. */
interface Details<A> extends Contract.Shape, Print.How<A> {
  /** The description, if that of the contract is not enough. */
  readonly about?: string
  /** Asks first. Returns an imperative sentence without its end. */
  readonly ask?: (asked: ConfirmedCall) => string
  /** The schemas of the body by network type. The first one is the usual one, and has flags for its fields. */
  readonly bodies?: Readonly<Record<string, NonNullable<Contract.Shape["body"]>>>
  /** Why the command fails although the service did not refuse. Undefined: it does not. */
  readonly failure?: (value: A, id: string) => string | undefined
}

const networkTypeFlags = (types: ReadonlyArray<string>): Record<string, Flag.Flag<Option.Option<string>>> => {
  const [usual = "", ...others] = types
  if (others.length === 0) return {}
  const description = `Network type of the relayer (default ${usual}). The fields of ${others.join(" and ")} are given by \`--data\``
  return {
    networkType: Flag.Literals("network-type", types).pipe(Flag.withDescription(description), Flag.optional)
  }
}

/** A request without its network type was read as one of the usual type, and may be one of another. */
const readAs = (failed: CommandFailed, usual: string): CommandFailed =>
  failed.exitCode === exitCodes.usage
    ? CommandFailed.usage(`${failed.message} (read as a request of ${usual}: --network-type names another type)`)
    : failed

/** A command that calls an endpoint and prints the response. */
export const call = <const Name extends string, const O extends Contract.Operation>(
  name: Name,
  operation: O,
  examples: ReadonlyArray<string>,
  details: Details<Contract.SuccessOf<O>> = {}
) => {
  const { ask, bodies = {}, failure } = details
  const [body = details.body] = Object.values(bodies)
  const endpoint = Contract.call<Contract.SuccessOf<O>>(operation, {
    ...details,
    ...(body === undefined ? {} : { body })
  })
  const how = { fate: endpoint.isRead ? undefined : ("reverted" as const), ...details }
  const asked: Record<string, Flag.Flag<boolean>> = ask === undefined ? {} : { yes: confirmFlag }
  return Command.make(
    name,
    { given: Print.flags, asked, networkType: networkTypeFlags(Object.keys(bodies)), target: endpoint.config },
    Effect.fnUntraced(function* ({ given, asked, networkType, target }) {
      const [usual = ""] = Object.keys(bodies)
      const type = Option.getOrUndefined(networkType["networkType"] ?? Option.none())
      const request = yield* endpoint
        .request(target, bodies[type ?? usual])
        .pipe(Effect.mapError((failed) => (usual === "" || type !== undefined ? failed : readAs(failed, usual))))
      const id = String(Object.values(request.params).at(-1))
      if (ask !== undefined) yield* askFirst(asked["yes"] === true, ask({ ...request, id }))
      const value = yield* Print.one(given, (client) => endpoint.send(client, request), how)
      const message = failure?.(value, id)
      if (message !== undefined) return yield* new CommandFailed({ message, exitCode: exitCodes.refused })
    })
  ).pipe(about(details.about ?? endpoint.about(ask === undefined ? "" : "; asks first"), ...examples))
}

type RowOf<O extends Contract.Operation> =
  Contract.SuccessOf<O> extends { readonly data: ReadonlyArray<infer Row> } ? Row : never

/** What a list shows. */
interface View<Row> {
  readonly columns: Print.ListColumns<Row>
  readonly query?: Readonly<Record<string, unknown>>
  readonly complete?: (client: Call.Client, row: Row) => Effect.Effect<Row, unknown>
}

interface ListDetails<Row, Own extends Command.Command.Config> extends Contract.Shape {
  readonly about?: string
  /** Items on a page with `--all`, if the endpoint has a `limit`. */
  readonly most?: number
  /** Flags that are no parameters of the query, and what the list shows with them. `isTable`: it is not printed as JSON. */
  readonly own: Own
  readonly view: (own: Command.Command.Config.InferValue<Own>, isTable: boolean) => View<Row>
}

const perPageOfAll = 1000

/** The first page: `--all` asks for large ones. */
export const firstPlace = (
  all: boolean,
  given: Print.ListPlace,
  size: Print.ListPlace = { per_page: perPageOfAll }
) => ({
  ...(all ? size : {}),
  ...given
})

/** The pages of a list as a table, with flags of its own. */
export const listBy = <
  const Name extends string,
  const O extends Contract.Operation,
  const Own extends Command.Command.Config
>(
  name: Name,
  operation: O,
  examples: ReadonlyArray<string>,
  details: ListDetails<RowOf<O>, Own>
) => {
  const endpoint = Contract.call<Print.Listed<RowOf<O>>>(operation, details)
  const size = details.most === undefined ? undefined : { limit: details.most }
  return Command.make(
    name,
    { given: Print.listFlags, target: endpoint.config, own: details.own },
    ({ given, target, own }) => {
      const { columns, complete, query = {} } = details.view(own, given.output !== "json")
      const start = { ...firstPlace(given.all, Field.given(target.query), size), ...query }
      const page = (client: Call.Client, place: Print.ListPlace) =>
        Effect.flatMap(endpoint.query(place), (query) =>
          endpoint.send(client, { params: target.params, query, headers: {} })
        )
      return Print.printList(given, columns, start, page, complete)
    }
  ).pipe(about(details.about ?? endpoint.about(), ...examples))
}

/** The pages of a list as a table. */
export const list = <const Name extends string, const O extends Contract.Operation>(
  name: Name,
  operation: O,
  columns: Print.ListColumns<RowOf<O>>,
  examples: ReadonlyArray<string>,
  details: Omit<ListDetails<RowOf<O>, {}>, "own" | "view"> = {}
) => listBy(name, operation, examples, { ...details, own: {}, view: () => ({ columns }) })

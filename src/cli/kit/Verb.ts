// The verbs of all resources: commands that call one endpoint and print its response, after a question if it cannot be undone.
import { Effect, Option } from "effect"
import type { Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createInterface } from "node:readline/promises"
import type * as Call from "./Call.ts"
import * as Field from "./Field.ts"
import { bodyConfig, readBody, readPatch } from "./Field.ts"
import * as Print from "./Print.ts"
import { firstPlace, listFlags, pageFlags, printList } from "./Print.ts"
import type { ListColumns, Listed, ListPlace } from "./Print.ts"
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

/** `--if-match 12.3` means `--if-match '"12.3"'`. */
const ifMatch = Field.text("if_match").pipe(
  Flag.withDescription("Entity tag that the resource must still have; get prints it"),
  Flag.map((tag) =>
    Field.given({ "if-match": Option.map(tag, (text) => (/^[\w.-]+$/.test(text) ? `"${text}"` : text)) })
  )
)

/** What a change is about: an id, and the entity tag that the resource must still have. */
export const versioned = <Id>(id: Argument.Argument<Id>) => ({ id, headers: ifMatch })

/** The arguments and flags that say what a command is about. */
type Target = Command.Command.Config

type TargetFlags<T extends Target> = Command.Command.Config.InferValue<T>

/** A call without a body. */
export const call = <const Name extends string, const T extends Target, A, E>(
  name: Name,
  target: T,
  run: (client: Call.Client, target: TargetFlags<T>) => Effect.Effect<A, E>
) =>
  Command.make(name, { given: Print.flags, target }, ({ given, target }) =>
    Print.one(given, (client) => run(client, target))
  )

/** A change without a body. */
export const change = <const Name extends string, const T extends Target, A, E>(
  name: Name,
  target: T,
  run: (client: Call.Client, target: TargetFlags<T>) => Effect.Effect<A, E>,
  fate: Print.Fate
) =>
  Command.make(name, { given: Print.flags, target }, ({ given, target }) =>
    Print.changed(given, (client) => run(client, target), fate)
  )

/** A call with the id of a resource. */
export const onOne = <const Name extends string, Id, A, E>(
  name: Name,
  schema: Schema.Codec<Id, string>,
  run: (client: Call.Client, id: Id) => Effect.Effect<A, E>
) => call(name, { id: id(schema) }, (client, target) => run(client, target.id))

/** The pages of a resource, as a table. */
export const list = <Row, E>(
  columns: ListColumns<Row>,
  page: (client: Call.Client, query: ListPlace) => Effect.Effect<Listed<Row>, E>
) =>
  Command.make("list", { given: listFlags, pages: pageFlags }, ({ given, pages }) =>
    printList(given, columns, firstPlace(given.all, pages), page)
  )

/** The request of a command: `fields` and `secrets` are flags, by their path in the schema. */
interface Request<S extends Schema.ConstraintDecoder<unknown> & Schema.Top> {
  readonly schema: S
  readonly fields: Parameters<typeof bodyConfig>[1]
  readonly secrets?: Parameters<typeof bodyConfig>[2]
  /** Fields of requests that do not have them. */
  readonly defaults?: Parameters<typeof readBody>[2]
}

const bodyOf = ({ fields, schema, secrets = {} }: Request<Schema.ConstraintDecoder<unknown> & Schema.Top>) =>
  bodyConfig(schema, fields, secrets)

/** A call with a body. */
export const send = <
  const Name extends string,
  const T extends Target,
  S extends Schema.ConstraintDecoder<unknown> & Schema.Top,
  A,
  E
>(
  name: Name,
  target: T,
  request: Request<S>,
  run: (client: Call.Client, payload: S["Type"], target: TargetFlags<T>) => Effect.Effect<A, E>
) =>
  Command.make(
    name,
    { given: Print.flags, target, body: bodyOf(request) },
    Effect.fnUntraced(function* ({ given, target, body }) {
      const payload = yield* readBody(request.schema, body, request.defaults)
      return yield* Print.changed(given, (client) => run(client, payload, target))
    })
  )

export const create = <S extends Schema.ConstraintDecoder<unknown> & Schema.Top, A, E>(
  request: Request<S>,
  run: (client: Call.Client, payload: S["Type"]) => Effect.Effect<A, E>
) => send("create", {}, request, run)

/** A create, and a read of what it made that says what is wrong with it. */
export const createChecked = <S extends Schema.ConstraintDecoder<unknown> & Schema.Top, A, E, E2>(
  request: Request<S>,
  run: (client: Call.Client, payload: S["Type"]) => Effect.Effect<A, E>,
  notices: (client: Call.Client, made: A) => Effect.Effect<ReadonlyArray<string>, E2>
) =>
  Command.make(
    "create",
    { given: Print.flags, body: bodyOf(request) },
    Effect.fnUntraced(function* ({ given, body }) {
      const payload = yield* readBody(request.schema, body, request.defaults)
      return yield* Print.withNotices(given, (client) => run(client, payload), notices)
    })
  )

/** A change, which must have at least one field. */
export const update = <Id, S extends Schema.ConstraintDecoder<unknown> & Schema.Top, A, E>(
  id: Argument.Argument<Id>,
  request: Request<S>,
  run: (
    client: Call.Client,
    payload: S["Type"],
    target: TargetFlags<ReturnType<typeof versioned<Id>>>
  ) => Effect.Effect<A, E>
) =>
  Command.make(
    "update",
    { given: Print.flags, target: versioned(id), body: bodyOf(request) },
    Effect.fnUntraced(function* ({ given, target, body }) {
      const payload = yield* readPatch(request.schema, body)
      return yield* Print.changed(given, (client) => run(client, payload, target))
    })
  )

/** Asks first. `action` is an imperative sentence without its end. */
export const remove = <const T extends Target, A, E>(
  target: T,
  action: (target: TargetFlags<T>) => string,
  run: (client: Call.Client, target: TargetFlags<T>) => Effect.Effect<A, E>
) =>
  Command.make("delete", { given: Print.flags, target, yes: confirmFlag }, ({ given, target, yes }) =>
    Effect.andThen(
      askFirst(yes, action(target)),
      Print.one(given, (client) => run(client, target))
    )
  )

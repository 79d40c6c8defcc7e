// The verbs of all resources: commands that call one endpoint and print its response.
import { Effect, Option } from "effect"
import type { Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Body from "./Body.ts"
import type * as Call from "./Call.ts"
import * as Confirm from "./Confirm.ts"
import * as Field from "./Field.ts"
import * as List from "./List.ts"
import * as Print from "./Print.ts"

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
  columns: List.Columns<Row>,
  page: (client: Call.Client, query: List.Place) => Effect.Effect<List.Listed<Row>, E>
) =>
  Command.make("list", { given: List.flags, pages: List.pageFlags }, ({ given, pages }) =>
    List.print(given, columns, List.start(given.all, pages), page)
  )

/** The request of a command: `fields` and `secrets` are flags, by their path in the schema. */
interface Request<S extends Schema.ConstraintDecoder<unknown> & Schema.Top> {
  readonly schema: S
  readonly fields: Parameters<typeof Body.config>[1]
  readonly secrets?: Parameters<typeof Body.config>[2]
  /** Fields of requests that do not have them. */
  readonly defaults?: Parameters<typeof Body.read>[2]
}

const bodyOf = ({ fields, schema, secrets = {} }: Request<Schema.ConstraintDecoder<unknown> & Schema.Top>) =>
  Body.config(schema, fields, secrets)

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
      const payload = yield* Body.read(request.schema, body, request.defaults)
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
      const payload = yield* Body.read(request.schema, body, request.defaults)
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
      const payload = yield* Body.patch(request.schema, body)
      return yield* Print.changed(given, (client) => run(client, payload, target))
    })
  )

/** Asks first. `action` is an imperative sentence without its end. */
export const remove = <const T extends Target, A, E>(
  target: T,
  action: (target: TargetFlags<T>) => string,
  run: (client: Call.Client, target: TargetFlags<T>) => Effect.Effect<A, E>
) =>
  Command.make("delete", { given: Print.flags, target, yes: Confirm.flag }, ({ given, target, yes }) =>
    Effect.andThen(
      Confirm.ask(yes, action(target)),
      Print.one(given, (client) => run(client, target))
    )
  )

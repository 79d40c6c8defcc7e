// The parts that the commands of all resources share.
import type { Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import type * as Call from "./Call.ts"
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

/** A command that calls one endpoint with the id of a resource and prints the response. */
export const onOne = <const Name extends string, Id, A, E>(
  name: Name,
  schema: Schema.Codec<Id, string>,
  call: (client: Call.Client, id: Id) => Effect.Effect<A, E>
) =>
  Command.make(name, { given: Print.flags, id: id(schema) }, ({ given, id }) =>
    Print.one(given, (client) => call(client, id))
  )

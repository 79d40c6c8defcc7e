// `openapi`: prints the contract as an OpenAPI document, or the fields of one of its schemas.
import { Console, Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { CommandFailed, tableLines } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

const schema = Argument.String("schema").pipe(
  Argument.withDescription("A schema, such as CreateRelayerRequest, whose fields are printed"),
  Argument.optional
)

export const OpenApiCommand = Command.make("openapi", { schema }, ({ schema }) =>
  Effect.gen(function* () {
    const { document, fields, names } = yield* Effect.promise(() => import("../kit/OpenApiDocument.ts"))
    if (Option.isNone(schema)) return yield* Console.log(document())
    const rows = fields(schema.value)
    if (rows.length > 0) {
      return yield* Console.log(tableLines([["FIELD", "NEEDED", "DESCRIPTION"], ...rows]).join("\n"))
    }
    return yield* CommandFailed.usage(`no schema with fields has this name; there are ${names().join(", ")}`)
  })
).pipe(
  Verb.about(
    "Print the OpenAPI document, or the fields of a schema with their descriptions and examples.",
    "openapi >openapi.json",
    "openapi CreateRelayerRequest"
  )
)

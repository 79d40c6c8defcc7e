// `openapi`: prints the contract as an OpenAPI document.
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import * as Verb from "../kit/Verb.ts"

export const OpenApiCommand = Command.make("openapi", {}, () =>
  Effect.gen(function* () {
    const { document } = yield* Effect.promise(() => import("../kit/OpenApiDocument.ts"))
    yield* Console.log(document())
  })
).pipe(Verb.about("Print the OpenAPI document.", "openapi >openapi.json"))

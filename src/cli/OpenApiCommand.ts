// `openapi`: the contract as a document.
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import * as Verb from "./Verb.ts"

export const OpenApiCommand = Command.make("openapi", {}, () =>
  Effect.gen(function* () {
    const [{ OpenApi }, { Api }] = yield* Effect.promise(() =>
      Promise.all([import("effect/http-api"), import("../api/Api.ts")])
    )
    yield* Console.log(JSON.stringify(OpenApi.fromApi(Api), null, 2))
  })
).pipe(Verb.about("Print the OpenAPI document.", "openapi >openapi.json"))

// The handlers of `SystemApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { identification } from "../../api/SystemApi.ts"
import { setHeader } from "../responses/CurrentRequest.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import { Readiness } from "./Readiness.ts"

const ok = Effect.as(setHeader(identification.name, identification.value), "OK" as const)

export const SystemHttp = HttpApiBuilder.group(
  Api,
  "system",
  Effect.fnUntraced(function* (handlers) {
    const readiness = yield* Readiness
    return handlers.handleAll({
      health: () => ok,
      healthAlias: () => ok,
      ready: () => readiness.check
    })
  })
).pipe(GroupServices.limitTo(Readiness))

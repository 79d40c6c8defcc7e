// The handlers of `MasterKeyApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as Respond from "../responses/Respond.ts"
import { MasterKeys } from "./MasterKeys.ts"

export const MasterKeyHttp = HttpApiBuilder.group(
  Api,
  "masterKey",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* MasterKeys
    // A value that no known key opens is for the operator to look at: it is logged, and a fault here.
    const rotate = Effect.catchTags(keys.rotate, { WrongMasterKey: Effect.die, SecretUnreadable: Effect.die })
    return handlers.handleAll({ rotate: () => Respond.one(rotate) })
  })
)

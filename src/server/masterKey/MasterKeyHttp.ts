// The handlers of `MasterKeyApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Transaction from "../../sql/Transaction.ts"
import * as Respond from "../responses/Respond.ts"
import { MasterKeys } from "./MasterKeys.ts"

export const MasterKeyHttp = HttpApiBuilder.group(
  Api,
  "masterKey",
  Effect.fnUntraced(function* (handlers) {
    const keys = yield* MasterKeys
    const outside = yield* Transaction.outside
    // An unknown key or an unreadable value is an operator's problem, not the caller's: it is logged and answered with 500.
    const rotate = Effect.catchTags(keys.rotate, { WrongMasterKey: Effect.die, SecretUnreadable: Effect.die })
    // The rotation has connections of its own. That of an idempotent request is free meanwhile.
    return handlers.handleAll({ rotate: () => Respond.one(outside(rotate)) })
  })
).pipe(GroupServices.limitTo(MasterKeys, SqlClient.SqlClient))

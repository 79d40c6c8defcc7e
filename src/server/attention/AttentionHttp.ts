// The handler of `AttentionApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Api } from "../../api/Api.ts"
import { LedgerRules } from "../ledger/LedgerRules.ts"
import { Readiness } from "../lifecycle/Readiness.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import * as Attention from "./Attention.ts"

export const AttentionHttp = HttpApiBuilder.group(
  Api,
  "attention",
  Effect.fnUntraced(function* (handlers) {
    const attention = yield* Attention.make
    return handlers.handleAll({ list: () => Respond.one(attention.list) })
  })
).pipe(GroupServices.limitTo(SqlClient.SqlClient, LedgerRules, Readiness))

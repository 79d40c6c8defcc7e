// The handlers of `AttentionApi` and `InstancesApi`: what an operator looks at first.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Api } from "../../api/Api.ts"
import { Chains } from "../chains/Chains.ts"
import { Holder } from "../ledger/Holder.ts"
import { LedgerRules } from "../ledger/LedgerEntries.ts"
import { TopUps } from "../ledger/TopUps.ts"
import { Readiness } from "../lifecycle/Readiness.ts"
import { RelayerHealth } from "../health/RelayerHealth.ts"
import { RelayerTargets } from "../relayers/RelayerTargets.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import { Conditions } from "../lifecycle/Lifecycle.ts"
import * as Respond from "../responses/Respond.ts"
import * as Attention from "./Attention.ts"
import * as Instances from "./Instances.ts"

export const AttentionHttp = HttpApiBuilder.group(
  Api,
  "attention",
  Effect.fnUntraced(function* (handlers) {
    const attention = yield* Attention.make
    return handlers.handleAll({ list: () => Respond.one(attention.list) })
  })
).pipe(
  GroupServices.limitTo(
    Chains,
    Conditions,
    SqlClient.SqlClient,
    LedgerRules,
    Readiness,
    RelayerHealth,
    RelayerTargets,
    TopUps
  )
)

export const InstancesHttp = HttpApiBuilder.group(
  Api,
  "instances",
  Effect.fnUntraced(function* (handlers) {
    const instances = yield* Instances.make
    return handlers.handleAll({ list: () => Respond.one(instances.list()) })
  })
).pipe(GroupServices.limitTo(SqlClient.SqlClient, Holder))

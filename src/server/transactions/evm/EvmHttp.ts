// The handlers of `NoncesApi`, `PoliciesApi` and `FeesApi`. Only relayers of evm have the last two.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import * as GroupServices from "../../responses/GroupServices.ts"
import { EvmNodes } from "../../chains/evm/EvmNodes.ts"
import { Ledger } from "../../ledger/Ledger.ts"
import { OutboundWork } from "../../limits/CallerLimits.ts"
import * as Respond from "../../responses/Respond.ts"
import { Networks } from "../../networks/Networks.ts"
import { RelayerTargets } from "../../relayers/RelayerTargets.ts"
import { Relayers } from "../../relayers/Relayers.ts"
import * as BlockFees from "./BlockFees.ts"
import { Nonces } from "./Nonces.ts"
import { Rehearsals } from "./Rehearsals.ts"

export const NoncesHttp = HttpApiBuilder.group(
  Api,
  "nonces",
  Effect.fnUntraced(function* (handlers) {
    const nonces = yield* Nonces
    return handlers.handleAll({
      get: ({ params }) => Respond.one(nonces.get(params.relayer_id)),
      resync: ({ params, payload }) => Respond.one(nonces.resync(params.relayer_id, payload)),
      clear: ({ params, payload }) => Respond.one(nonces.clear(params.relayer_id, payload)),
      releaseChannels: ({ params }) => Respond.one(nonces.releaseChannels(params.relayer_id)),
      beginGeneration: ({ params }) => Respond.one(nonces.beginGeneration(params.relayer_id))
    })
  })
).pipe(GroupServices.limitTo(Nonces))

export const PoliciesHttp = HttpApiBuilder.group(
  Api,
  "policies",
  Effect.fnUntraced(function* (handlers) {
    const rehearsals = yield* Rehearsals
    return handlers.handleAll({
      rehearse: ({ params, payload }) => Respond.one(rehearsals.rehearse(params.relayer_id, payload))
    })
  })
).pipe(GroupServices.limitTo(Rehearsals))

export const FeesHttp = HttpApiBuilder.group(
  Api,
  "fees",
  Effect.fnUntraced(function* (handlers) {
    const fees = yield* BlockFees.make
    return handlers.handleAll({
      ofTransaction: ({ params }) => Respond.one(fees.get(params.relayer_id, params.transaction_id))
    })
  })
).pipe(GroupServices.limitTo(Relayers, Networks, Ledger, EvmNodes, RelayerTargets, OutboundWork))

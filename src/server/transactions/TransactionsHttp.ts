// The handlers of `TransactionsApi` and `AllTransactionsApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { Simulations } from "./evm/Simulations.ts"
import { Transactions } from "./Transactions.ts"

export const TransactionsHttp = HttpApiBuilder.group(
  Api,
  "transactions",
  Effect.fnUntraced(function* (handlers) {
    const transactions = yield* Transactions
    const simulations = yield* Simulations
    return handlers.handleAll({
      simulate: ({ params, payload }) => Respond.one(simulations.simulate(params.relayer_id, payload)),
      send: ({ params, payload }) => Respond.created(transactions.send(params.relayer_id, payload)),
      sendBatch: ({ params, payload }) => Respond.one(transactions.sendBatch(params.relayer_id, payload)),
      list: ({ params, query }) => Respond.pageOrItems(transactions.list(params.relayer_id, query)),
      get: ({ params }) => Respond.one(transactions.get(params.relayer_id, params.transaction_id)),
      byNonce: ({ params }) => Respond.one(transactions.byNonce(params.relayer_id, params.nonce)),
      explain: ({ params }) => Respond.one(transactions.explain(params.relayer_id, params.transaction_id)),
      replace: ({ params, payload }) =>
        Respond.one(transactions.replace(params.relayer_id, params.transaction_id, payload)),
      cancel: ({ params }) => Respond.one(transactions.cancel(params.relayer_id, params.transaction_id)),
      cancelPending: ({ params }) => Respond.one(transactions.cancelPending(params.relayer_id))
    })
  })
).pipe(GroupServices.limitTo(Transactions, Simulations))

export const AllTransactionsHttp = HttpApiBuilder.group(
  Api,
  "allTransactions",
  Effect.fnUntraced(function* (handlers) {
    const transactions = yield* Transactions
    return handlers.handleAll({ list: ({ query }) => Respond.items(transactions.listAll(query)) })
  })
).pipe(GroupServices.limitTo(Transactions))

// The handlers of all endpoints about transactions: sends, lists, statistics, signatures, sponsored transactions, JSON-RPC calls, sequences,
// rehearsals and base fees. The network of the relayer decodes bodies.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { Relayers } from "../relayers/Relayers.ts"
import * as GroupServices from "../responses/GroupServices.ts"
import * as Respond from "../responses/Respond.ts"
import { Hindsight, MessageSigning, Sponsoring, TransactionSigning } from "./Exchanges.ts"
import { bodyOf } from "./Intake.ts"
import { NodePassing } from "./NodePassing.ts"
import { Delegations } from "./Delegations.ts"
import { Nonces } from "./Nonces.ts"
import { makeStatistics } from "./TransactionViews.ts"
import { Transactions } from "./Transactions.ts"

export const TransactionsHttp = HttpApiBuilder.group(
  Api,
  "transactions",
  Effect.fnUntraced(function* (handlers) {
    const transactions = yield* Transactions
    return handlers
      .handleRaw("simulate", (call) =>
        Respond.one(Effect.flatMap(bodyOf(call), (body) => transactions.simulate(call.params.relayer_id, body)))
      )
      .handleRaw("send", (call) =>
        Respond.created(Effect.flatMap(bodyOf(call), (body) => transactions.send(call.params.relayer_id, body)))
      )
      .handleRaw("sendBatch", (call) =>
        Respond.one(Effect.flatMap(bodyOf(call), (body) => transactions.sendBatch(call.params.relayer_id, body)))
      )
      .handleRaw("replace", (call) => {
        const { relayer_id, transaction_id } = call.params
        return Respond.one(
          Effect.flatMap(bodyOf(call), (body) => transactions.replace(relayer_id, transaction_id, body))
        )
      })
      .handleAll({
        list: ({ params, query }) => Respond.pageOrItems(transactions.list(params.relayer_id, query)),
        get: ({ params, query }) => Respond.one(transactions.get(params.relayer_id, params.transaction_id, query.wait)),
        byNonce: ({ params }) => Respond.one(transactions.byNonce(params.relayer_id, params.nonce)),
        explain: ({ params }) => Respond.one(transactions.explain(params.relayer_id, params.transaction_id)),
        cancel: ({ params, query }) =>
          Respond.one(transactions.cancel(params.relayer_id, params.transaction_id, query.only_pending)),
        changeRoute: ({ params }) => Respond.one(transactions.publish(params.relayer_id, params.transaction_id)),
        cancelPending: ({ params }) => Respond.one(transactions.cancelPending(params.relayer_id))
      })
  })
).pipe(GroupServices.limitTo(Transactions))

export const StatisticsHttp = HttpApiBuilder.group(
  Api,
  "statistics",
  Effect.fnUntraced(function* (handlers) {
    const statistics = yield* makeStatistics
    return handlers.handleAll({ get: ({ query }) => Respond.one(statistics.get(query)) })
  })
).pipe(GroupServices.limitTo(Ledger, Relayers))

export const AllTransactionsHttp = HttpApiBuilder.group(
  Api,
  "allTransactions",
  Effect.fnUntraced(function* (handlers) {
    const transactions = yield* Transactions
    return handlers.handleAll({ list: ({ query }) => Respond.items(transactions.listAll(query)) })
  })
).pipe(GroupServices.limitTo(Transactions))

// The handlers of `TransactionSigningApi`, `SponsoredApi` and `NodeCallsApi`. The network of the relayer decodes the body.

export const TransactionSigningHttp = HttpApiBuilder.group(
  Api,
  "transactionSigning",
  Effect.fnUntraced(function* (handlers) {
    const signing = yield* TransactionSigning
    return handlers.handleRaw("signTransaction", (call) =>
      Respond.one(Effect.flatMap(bodyOf(call), (body) => signing.sign(call.params.relayer_id, body)))
    )
  })
).pipe(GroupServices.limitTo(TransactionSigning))

export const SponsoredHttp = HttpApiBuilder.group(
  Api,
  "sponsored",
  Effect.fnUntraced(function* (handlers) {
    const sponsoring = yield* Sponsoring
    return handlers
      .handleRaw("quote", (call) =>
        Respond.one(Effect.flatMap(bodyOf(call), (body) => sponsoring.quote(call.params.relayer_id, body)))
      )
      .handleRaw("build", (call) =>
        Respond.one(Effect.flatMap(bodyOf(call), (body) => sponsoring.build(call.params.relayer_id, body)))
      )
  })
).pipe(GroupServices.limitTo(Sponsoring))

export const NodeCallsHttp = HttpApiBuilder.group(
  Api,
  "nodeCalls",
  Effect.fnUntraced(function* (handlers) {
    const passing = yield* NodePassing
    return handlers.handleAll({ rpc: ({ params, payload }) => passing.call(params.relayer_id, payload) })
  })
).pipe(GroupServices.limitTo(NodePassing))

// The handlers of `NoncesApi`, `SigningApi`, `PoliciesApi` and `FeesApi`: what only some network types have.

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

export const DelegationsHttp = HttpApiBuilder.group(
  Api,
  "delegations",
  Effect.fnUntraced(function* (handlers) {
    const delegations = yield* Delegations
    return handlers.handleAll({
      get: ({ params }) => Respond.one(delegations.get(params.relayer_id)),
      delegate: ({ params, payload }) => Respond.one(delegations.delegate(params.relayer_id, payload)),
      undelegate: ({ params }) => Respond.one(delegations.undelegate(params.relayer_id))
    })
  })
).pipe(GroupServices.limitTo(Delegations))

export const SigningHttp = HttpApiBuilder.group(
  Api,
  "signing",
  Effect.fnUntraced(function* (handlers) {
    const signing = yield* MessageSigning
    return handlers.handleAll({
      sign: ({ params, payload }) => Respond.one(signing.sign(params.relayer_id, payload)),
      signTypedData: ({ params, payload }) => Respond.one(signing.signTypedData(params.relayer_id, payload))
    })
  })
).pipe(GroupServices.limitTo(MessageSigning))

export const PoliciesHttp = HttpApiBuilder.group(
  Api,
  "policies",
  Effect.fnUntraced(function* (handlers) {
    const hindsight = yield* Hindsight
    return handlers.handleAll({
      rehearse: ({ params, payload }) => Respond.one(hindsight.rehearse(params.relayer_id, payload))
    })
  })
).pipe(GroupServices.limitTo(Hindsight))

export const FeesHttp = HttpApiBuilder.group(
  Api,
  "fees",
  Effect.fnUntraced(function* (handlers) {
    const hindsight = yield* Hindsight
    return handlers.handleAll({
      ofTransaction: ({ params }) => Respond.one(hindsight.feesOf(params.relayer_id, params.transaction_id))
    })
  })
).pipe(GroupServices.limitTo(Hindsight))

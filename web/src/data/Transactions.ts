// Transactions: lists over all relayers and of one, one transaction with its explanation, and what a person does with it.
import { DateTime, Effect } from "effect"
import type {
  ReplaceTransactionRequest,
  SendTransactionRequest,
  TransactionResponse,
  TransactionStatistics
} from "../../../src/client/Client.ts"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { AllTransactionsQuery } from "../../../src/networks/core/TransactionRequests.ts"
import { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { SendEvmTransaction } from "../../../src/networks/evm/rules/EvmSchemas.ts"
import { SendSolanaTransaction } from "../../../src/networks/solana/rules/SolanaExchanges.ts"
import { SendStellarTransaction } from "../../../src/networks/stellar/rules/StellarRequests.ts"
import { call, callById, once } from "./Client.ts"
import { now } from "./Clock.ts"
import type { Failure } from "./Failure.ts"
import { bodyReader, pageOf, queryReader } from "./Pages.ts"
import { queries } from "./Registry.ts"

export type Transaction = TransactionResponse

export type { TransactionStatistics }

/** What the page of a transaction needs of its relayer. `network` is absent if the session may not read relayers. */
export interface RelayerOfTransaction {
  readonly id: string
  readonly network_type: string
  readonly network?: string
}

export const openStatuses = ["pending", "sent", "submitted", "mined"] as const

export const finalStatuses = ["confirmed", "failed", "canceled", "expired"] as const

export const isOpen = (transaction: { readonly status: string }): boolean =>
  openStatuses.some((status) => status === transaction.status)

const readQuery = queryReader(AllTransactionsQuery, ["status", "relayer_id", "code"])

/** The transactions that the parameters of the address select, the newest first. */
export const transactionPage = queries((key) =>
  call(({ allTransactions }) =>
    Effect.flatMap(readQuery(key), (query) =>
      pageOf(allTransactions.list({ query, responseMode: "decoded-and-response" }))
    )
  )
)

/** Names one transaction of one relayer, as the key of a query. */
export const transactionKey = (relayer: string, transaction: string): string => `${relayer}/${transaction}`

const params = (key: string) => {
  const [relayer = "", transaction = ""] = key.split("/")
  return { relayer_id: RelayerId.make(relayer), transaction_id: TransactionId.make(transaction) }
}

/** Pages of transactions need the scope, so that a 403 is about the relayer of the address: the same as an id that does not exist. */
const unseen = (failure: Failure): Failure => (failure.status === 403 ? { ...failure, status: 404 } : failure)

export const transactionByKey = queries((key) =>
  Effect.mapError(
    callById(({ transactions }) =>
      Effect.map(transactions.get({ params: params(key), query: {} }), ({ data }) => data)
    ),
    unseen
  )
)

export const transactionExplanation = queries((key) =>
  callById(({ transactions }) => Effect.map(transactions.explain({ params: params(key) }), ({ data }) => data))
)

/** Asks a provider for the base fees of its blocks. evm only. */
export const transactionFees = queries((key) =>
  callById(({ fees }) => Effect.map(fees.ofTransaction({ params: params(key) }), ({ data }) => data))
)

/** Periods of statistics, with their hours and the seconds of a step. The first one is shown first. */
export const periods = {
  "1h": { hours: 1, step: 60 },
  "24h": { hours: 24, step: 900 },
  "7d": { hours: 168, step: 3600 }
} as const
export type Period = keyof typeof periods

export const isPeriod = (value: string | null): value is Period => value !== null && Object.hasOwn(periods, value)

/** Counts of the transactions that became final in a period, by step, and of those that are open now. Its last step has just begun. */
export const transactionStatistics = queries((period) => {
  const { hours, step } = periods[isPeriod(period) ? period : "1h"]
  return call(({ statistics }) =>
    Effect.suspend(() => {
      const since = DateTime.makeUnsafe(now() - (hours * 3_600 - step) * 1_000)
      return Effect.map(statistics.get({ query: { since, step } }), ({ data }) => data)
    })
  )
})

/** `only_pending`: it is canceled if nothing was signed; otherwise nothing happens, and the call fails. */
export const cancelTransaction = (key: string, only_pending = false) =>
  call(({ transactions }) =>
    Effect.map(transactions.cancel({ params: params(key), query: { only_pending } }), ({ data }) => data)
  )

/** Normal RPC URLs get a private transaction from now on, and so does everybody. */
export const publishTransaction = (key: string) =>
  call(({ transactions }) =>
    Effect.map(transactions.changeRoute({ params: params(key), payload: { route: "public" } }), ({ data }) => data)
  )

export const replaceTransaction = (key: string, payload: ReplaceTransactionRequest) =>
  call(({ transactions }) => Effect.map(transactions.replace({ params: params(key), payload }), ({ data }) => data))

const readers = {
  evm: bodyReader(SendEvmTransaction),
  solana: bodyReader(SendSolanaTransaction),
  stellar: bodyReader(SendStellarTransaction)
}

/** Network types whose transactions the contract has a body for. */
export type SendingType = keyof typeof readers

export const isSending = (type: string): type is SendingType => type in readers

/** Reads a body as the service does. Nothing is sent. */
export const checkTransaction = (type: SendingType, body: unknown) =>
  call((): Effect.Effect<SendTransactionRequest, unknown> => readers[type](body))

/** `key` is the same for each try of one form. */
export const sendTransaction = (type: SendingType, relayer: string, body: unknown, key: string) =>
  once(
    key,
    call(({ transactions }) =>
      Effect.flatMap(readers[type](body), (payload: SendTransactionRequest) =>
        Effect.map(transactions.send({ params: { relayer_id: RelayerId.make(relayer) }, payload }), ({ data }) => data)
      )
    )
  )

/** What would happen, without sending anything. */
export const simulateTransaction = (type: SendingType, relayer: string, body: unknown) =>
  call(({ transactions }) =>
    Effect.flatMap(readers[type](body), (payload: SendTransactionRequest) =>
      Effect.map(
        transactions.simulate({ params: { relayer_id: RelayerId.make(relayer) }, payload }),
        ({ data }) => data
      )
    )
  )

/** An operator's decision about a nonce that cannot be proven. */
export const decide = (key: string, answer: "send" | "give_up") =>
  call(({ nonces }) =>
    nonces.resync({
      params: { relayer_id: params(key).relayer_id },
      payload: { answer, transaction_id: params(key).transaction_id }
    })
  )

/** The relayer of a transaction. `null`: no transaction has this id, or this key may not see it. */
export const relayerOf = queries((id) =>
  callById(({ search }) =>
    Effect.map(
      search.find({ query: { q: id } }),
      ({ data }) => data.find((item) => item.kind === "transaction" && item.id === id)?.relayer_id ?? null
    )
  )
)

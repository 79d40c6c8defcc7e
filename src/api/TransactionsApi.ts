// The endpoints of transactions: send, list, read, replace, cancel, simulate, explain, and those whose users pay the fees in a token.
import { Schema } from "effect"
import { RelayerId } from "../domain/relayer/Relayer.ts"
import {
  AllTransactionsQuery,
  CanceledTransactions,
  CancelQuery,
  ReadQuery,
  SequenceParam,
  TransactionExplanation,
  TransactionQuery
} from "../networks/core/TransactionRequests.ts"
import { TransactionId } from "../networks/core/TransactionValues.ts"
import { OtherTransaction } from "../networks/core/UnknownNetwork.ts"
import {
  ChangeRoute,
  EvmTransaction,
  ReplaceEvmTransaction,
  SendEvmBatch,
  SendEvmTransaction,
  Simulation
} from "../networks/evm/rules/EvmSchemas.ts"
import { TransactionFees } from "../networks/evm/rules/Hindsight.ts"
import {
  BuildSolanaTransaction,
  BuiltSolanaTransaction,
  QuoteSolanaTransaction,
  ReplaceSolanaTransaction,
  SendSolanaBatch,
  SendSolanaTransaction,
  SolanaQuote,
  SolanaSimulation,
  SolanaTransactionResponse
} from "../networks/solana/rules/SolanaExchanges.ts"
import {
  BuildStellarTransaction,
  BuiltStellarTransaction,
  QuoteStellarTransaction,
  ReplaceStellarTransaction,
  SendStellarBatch,
  SendStellarTransaction,
  StellarQuote
} from "../networks/stellar/rules/StellarRequests.ts"
import { StellarSimulation, StellarTransactionResponse } from "../networks/stellar/rules/StellarResponses.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Idempotency, OutboundLimit, RequestBody } from "./Middleware.ts"

/** By network type, which `network_type` names. */
const TransactionResponse = Schema.Union([
  EvmTransaction,
  SolanaTransactionResponse,
  StellarTransactionResponse,
  OtherTransaction
]).annotate({
  identifier: "TransactionResponse",
  description: "A transaction, as its network type shows it."
})

// A network type adds its schemas to these three unions, and to `TransactionResponse`. The server decodes a body by the schema
// of the relayer's network type alone (`server/transactions/Intake.ts`).

const SendTransaction = Schema.Union([SendEvmTransaction, SendSolanaTransaction, SendStellarTransaction]).annotate({
  identifier: "SendTransactionRequest",
  description: "A transaction to send, as the network type of the relayer has it."
})

const SendBatch = Schema.Union([SendEvmBatch, SendSolanaBatch, SendStellarBatch]).annotate({
  identifier: "SendTransactionBatchRequest",
  description: "Transactions that are accepted together."
})

const ReplaceTransaction = Schema.Union([
  ReplaceEvmTransaction,
  ReplaceSolanaTransaction,
  ReplaceStellarTransaction
]).annotate({
  identifier: "ReplaceTransactionRequest",
  description: "What a transaction does instead, as the network type of the relayer has it."
})

const ShownSimulation = Schema.Union([Simulation, SolanaSimulation, StellarSimulation]).annotate({
  identifier: "SimulatedTransaction",
  description: "What a send would do and cost now, as the network type of the relayer has it."
})

const ofRelayer = Schema.Struct({ relayer_id: RelayerId })
const ofTransaction = Schema.Struct({ relayer_id: RelayerId, transaction_id: TransactionId })
const ofNonce = Schema.Struct({ relayer_id: RelayerId, nonce: SequenceParam })

const notFound = [Errors.RelayerNotFoundError, Errors.TransactionNotFoundError] as const

const unsent = [Errors.RelayerNotFoundError, Errors.NotImplementedError] as const

const sent = [
  Errors.RelayerPausedError,
  Errors.TransactionLimitExceededError,
  Errors.TransactionConflictError,
  ...unsent
] as const

export class TransactionsApi extends Endpoint.group(
  "transactions",
  "/api/v1/relayers",
  { title: "Transactions", description: "Transactions that relayers send." },
  Endpoint.post("send", "/:relayer_id/transactions", {
    scope: "transactions:write",
    summary: "Send a transaction",
    description:
      "The transaction is stored before the response, and is then executed at most once. It gets a nonce and is signed in the background: poll it, or subscribe to its events. If `external_id`, or prebuilt bytes, were accepted before with the same body, the response is that transaction, also if the body could no longer be accepted; with another body it is 409, and `error` names the transaction. `Location` is the URL of the transaction.",
    through: [Idempotency, RequestBody],
    params: ofRelayer,
    payload: Json.body(SendTransaction),
    success: Envelope.of(TransactionResponse),
    error: sent
  }),
  Endpoint.get("list", "/:relayer_id/transactions", {
    scope: "transactions:read",
    summary: "List a relayer's transactions",
    description:
      "Newest first. `total_items` is at most 10,000, and pages beyond that are empty. The `Link` header leads to the next page by `cursor`, which reaches all transactions; with `cursor` there is no `pagination`.",
    params: ofRelayer,
    query: TransactionQuery,
    success: Envelope.pageOrListOf(TransactionResponse),
    error: Errors.RelayerNotFoundError,
    transform: Endpoint.linked
  }),
  Endpoint.post("simulate", "/:relayer_id/transactions/simulate", {
    scope: "transactions:read",
    summary: "Simulate a transaction",
    description:
      "Returns the gas or the compute units, the prices per speed, the highest cost, and what policies say. Nothing is stored or sent.",
    through: [RequestBody, OutboundLimit],
    params: ofRelayer,
    payload: Json.body(SendTransaction),
    success: Envelope.of(ShownSimulation),
    error: [Errors.BadGatewayError, ...unsent]
  }),
  Endpoint.post("sendBatch", "/:relayer_id/transactions/batch", {
    scope: "transactions:write",
    summary: "Send up to 100 transactions",
    description:
      "All or none are accepted. They get their nonces in the order of the request. Those that were accepted before are in the response as `POST …/transactions` answers them; if the others are refused, `error` names them.",
    through: [Idempotency, RequestBody],
    params: ofRelayer,
    payload: Json.body(SendBatch),
    success: Envelope.of(
      Schema.Array(TransactionResponse).annotate({
        identifier: "TransactionBatch",
        description: "The accepted transactions, in the order of the request."
      })
    ),
    error: sent
  }),
  Endpoint.remove("cancelPending", "/:relayer_id/transactions/pending", {
    scope: "transactions:write",
    summary: "Cancel all open transactions of a relayer",
    description:
      "Cancels each of them as `DELETE …/transactions/{transaction_id}` does. Transactions that are mined are left out. For a key with `transaction_limits`, those that other keys have sent are among `failed_to_queue_transaction_ids`.",
    params: ofRelayer,
    success: Envelope.of(CanceledTransactions),
    error: Errors.RelayerNotFoundError
  }),
  Endpoint.get("byNonce", "/:relayer_id/transactions/by-nonce/:nonce", {
    scope: "transactions:read",
    summary: "Get the transaction of a nonce",
    description: "The transaction of this relayer that has the nonce, or the sequence on networks that call it so.",
    params: ofNonce,
    success: Envelope.of(TransactionResponse),
    error: [Errors.NotImplementedError, ...notFound]
  }),
  Endpoint.get("get", "/:relayer_id/transactions/:transaction_id", {
    scope: "transactions:read",
    summary: "Get a transaction",
    description:
      "With all its attempts and its receipt. With `wait`, the response comes as soon as the transaction has got so far, without polls: `status` says whether it has.",
    params: ofTransaction,
    query: ReadQuery,
    success: Envelope.of(TransactionResponse),
    error: notFound
  }),
  Endpoint.put("replace", "/:relayer_id/transactions/:transaction_id", {
    scope: "transactions:write",
    summary: "Replace a transaction",
    description:
      "Sends another request at the same nonce. Fees in the request must be more than 10 % above those that were sent. Until the replacement is mined, the former version may still be executed instead of it. `external_id`, `nonce`, `priority` and `not_before` cannot be changed. Authorizations that were sent can be used by anybody until the nonce of their authority has moved, also if the replacement has others.",
    through: [RequestBody],
    params: ofTransaction,
    payload: Json.body(ReplaceTransaction),
    success: Envelope.of(TransactionResponse),
    error: [Errors.TransactionNotFoundError, ...sent]
  }),
  Endpoint.remove("cancel", "/:relayer_id/transactions/:transaction_id", {
    scope: "transactions:write",
    summary: "Cancel a transaction",
    description:
      "Only a response with the status `canceled` promises that it has no effect of its own; authorizations that were sent can be used by anybody until the nonce of their authority has moved. Otherwise `is_canceled` is true and a no-op competes for its nonce; the transaction may still be executed. With `only_pending=true`, no no-op is ever sent: the response is a transaction with the status `canceled`, also if it was canceled before, or 409 because it was signed or is final, and nothing has changed. A key with `transaction_limits` cancels only what it, or a key that it created, has sent.",
    params: ofTransaction,
    query: CancelQuery,
    success: Envelope.of(TransactionResponse),
    error: [Errors.TransactionConflictError, Errors.TransactionLimitExceededError, ...notFound]
  }),
  Endpoint.post("changeRoute", "/:relayer_id/transactions/:transaction_id/route", {
    scope: "transactions:write",
    summary: "Send a private transaction publicly",
    description:
      "The way out when its private RPC URLs include nothing: from now on, normal RPC URLs get it as well, and so does everybody. A transaction that is public already stays as it is. A key with `transaction_limits` changes only what it, or a key that it created, has sent. Audited.",
    through: [Idempotency, RequestBody],
    params: ofTransaction,
    payload: Json.body(ChangeRoute),
    success: Envelope.of(TransactionResponse),
    error: [Errors.TransactionConflictError, Errors.TransactionLimitExceededError, ...notFound]
  }),
  Endpoint.get("explain", "/:relayer_id/transactions/:transaction_id/explain", {
    scope: "transactions:read",
    summary: "Explain a transaction's state",
    description: "Says what it waits for and since when, what happens next and when, as text and as a code.",
    params: ofTransaction,
    success: Envelope.of(TransactionExplanation),
    error: notFound
  })
) {}

// The list of the transactions of all relayers.

export class AllTransactionsApi extends Endpoint.group(
  "allTransactions",
  "/api/v1/transactions",
  { title: "Transactions of all relayers", description: "Transactions across relayers." },
  Endpoint.get("list", "/", {
    scope: "transactions:read",
    summary: "List transactions of all relayers",
    description:
      "Newest first, and only of relayers that the API key can use. The `Link` header leads to the next page by `cursor`.",
    query: AllTransactionsQuery,
    success: Envelope.listOf(TransactionResponse),
    transform: Endpoint.linked
  })
) {}

// The endpoint that shows the base fees of the blocks that could have contained a transaction.

export class FeesApi extends Endpoint.group(
  "fees",
  "/api/v1/relayers",
  { title: "Fees", description: "Base fees of the blocks that could have had a transaction." },
  Endpoint.get("ofTransaction", "/:relayer_id/transactions/:transaction_id/fees", {
    scope: "transactions:read",
    summary: "Get the base fees of a transaction's blocks",
    description:
      "Asks a provider of the relayer for the base fees of the blocks from the acceptance of the transaction until it was mined, or until now: beside the fees of its attempts they show why it waited. What it answers for a final transaction is remembered for an hour. Relayers on evm only.",
    through: [OutboundLimit],
    params: Schema.Struct({ relayer_id: RelayerId, transaction_id: TransactionId }),
    success: Envelope.of(TransactionFees),
    error: [
      Errors.RelayerNotFoundError,
      Errors.TransactionNotFoundError,
      Errors.NotImplementedError,
      Errors.BadGatewayError
    ]
  })
) {}

// The endpoints of transactions whose users pay the fees in a token.

// A network type adds its schemas to these four unions, and `quote` and `build` to its intake (`server/transactions/Intake.ts`).

const Quoting = Schema.Union([QuoteSolanaTransaction, QuoteStellarTransaction]).annotate({
  identifier: "QuoteSponsoredTransactionRequest",
  description: "A transaction whose fee is to be quoted, as the network type of the relayer has it."
})

const Quote = Schema.Union([SolanaQuote, StellarQuote]).annotate({
  identifier: "SponsoredTransactionQuote",
  description: "What a transaction costs its user, as the network type of the relayer has it."
})

const Building = Schema.Union([BuildSolanaTransaction, BuildStellarTransaction]).annotate({
  identifier: "BuildSponsoredTransactionRequest",
  description: "A transaction to build, as the network type of the relayer has it."
})

const Built = Schema.Union([BuiltSolanaTransaction, BuiltStellarTransaction]).annotate({
  identifier: "SponsoredTransaction",
  description: "A transaction for the user to sign, as the network type of the relayer has it."
})

const params = Schema.Struct({ relayer_id: RelayerId })

const error = [Errors.RelayerNotFoundError, Errors.NotImplementedError, Errors.BadGatewayError] as const

export class SponsoredApi extends Endpoint.group(
  "sponsored",
  "/api/v1/relayers",
  { title: "Sponsored transactions", description: "Users pay the relayer in a token." },
  Endpoint.post("quote", "/:relayer_id/transactions/sponsored/quote", {
    scope: "transactions:read",
    summary: "Quote the fee of a user's transaction in a token",
    description:
      "The highest fee of the transaction with the relayer's margin, at the price of now. Nothing is stored. 502 with `price_unavailable` if there is no price.",
    through: [RequestBody, OutboundLimit],
    params,
    payload: Json.body(Quoting),
    success: Envelope.of(Quote),
    error
  }),
  Endpoint.post("build", "/:relayer_id/transactions/sponsored/build", {
    scope: "transactions:read",
    summary: "Build a user's transaction with a payment to the relayer",
    description:
      "The user signs it, and sends it with `POST …/transactions`. Nothing is stored, and nothing of it is trusted later: the payment is verified before the relayer signs.",
    through: [RequestBody, OutboundLimit],
    params,
    payload: Json.body(Building),
    success: Envelope.of(Built),
    error: [Errors.RelayerPausedError, Errors.TransactionLimitExceededError, ...error]
  })
) {}

// The endpoints with which an operator reads and repairs the nonces of a relayer's account.
import { Schema } from "effect"
import { ResyncNonce } from "../networks/core/TransactionRequests.ts"
import { ClearedNonces, ClearNonces, NonceDecision, NonceState } from "../networks/evm/rules/EvmSchemas.ts"
import { SolanaLaneState } from "../networks/solana/rules/SolanaExchanges.ts"
import { StellarNonceState } from "../networks/stellar/rules/StellarResponses.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import { Idempotency, OutboundLimit, RequestBody } from "./Middleware.ts"
import { RelayerId } from "../domain/relayer/Relayer.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"

const ShownSequences = Schema.Union([NonceState, StellarNonceState, SolanaLaneState]).annotate({
  identifier: "ShownSequences",
  description: "What the service has recorded next to what the chain says, as the network type of the relayer has it."
})

const params = Schema.Struct({ relayer_id: RelayerId })
const error = [Errors.RelayerNotFoundError, Errors.NotImplementedError] as const

export class NoncesApi extends Endpoint.group(
  "nonces",
  "/api/v1/relayers",
  { title: "Nonces", description: "The nonces of accounts, for operators." },
  Endpoint.get("get", "/:relayer_id/nonce", {
    scope: "transactions:read",
    summary: "Get the nonces of a relayer's account",
    description: "What the service has recorded, next to what a provider says now.",
    through: [OutboundLimit],
    params,
    success: Envelope.of(ShownSequences),
    error: [...error]
  }),
  Endpoint.post("resync", "/:relayer_id/nonce/resync", {
    scope: "transactions:write",
    summary: "Accept the chain's count, and decide about unproven transactions",
    description:
      "Resolves the code `nonce_ahead`: the service accepts the chain's count when it reads it next. With `answer`, transactions with the codes `restored_unproven` and `nonce_taken_unproven` are sent or given up. A transaction that has a nonce is decided only after every provider that answers has that nonce in a final block; before, its bytes can still be mined, and the answer is 409. `give_up` ends it as `failed` if its own bytes are not what used the nonce. One with the code `effect_unproven` can only be given up. Of solana, only transactions without a place can be decided. Only a key that may delegate decides about a delegation. Audited.",
    through: [OutboundLimit, Idempotency, RequestBody],
    params,
    payload: Json.optionalBody(ResyncNonce),
    success: Envelope.of(NonceDecision),
    error: [
      Errors.TransactionNotFoundError,
      Errors.TransactionConflictError,
      Errors.TransactionLimitExceededError,
      ...error
    ]
  }),
  Endpoint.post("clear", "/:relayer_id/nonce/clear", {
    scope: "transactions:write",
    summary: "Replace open transactions by no-ops",
    description:
      "A no-op competes with each open transaction for its nonce. The chain decides which one is mined, so that the transaction may still be executed. A no-op follows the market up to the `gas_price_cap` of the relayer; `max_fee_per_gas` is another limit, for a nonce that no block takes within the cap. It applies to all open transactions of the range, also to those that are being canceled. Only a key that may delegate clears a delegation: its authorization can then be used by anybody, until a no-op has used the nonce after it. Only for evm: 409 for stellar, whose accounts have no gaps. Audited.",
    through: [Idempotency, RequestBody],
    params,
    payload: Json.body(ClearNonces),
    success: Envelope.of(ClearedNonces),
    error: [Errors.TransactionLimitExceededError, Errors.TransactionConflictError, ...error]
  }),
  Endpoint.post("releaseChannels", "/:relayer_id/channels/release", {
    scope: "relayers:write",
    summary: "End the channels of a relayer's account",
    description:
      "Sets `channels.count` of the policy to 0. Channels that no other relayer of the account wants end: what was sent with them is final first, then their accounts are merged into that of the relayer, which gets their reserves back. Also needs the scope `transactions:write`. Only for stellar: 409 for others. Audited.",
    through: [Idempotency],
    params,
    success: Envelope.of(ShownSequences),
    error: [Errors.ForbiddenError, Errors.TransactionLimitExceededError, Errors.TransactionConflictError, ...error]
  }),
  Endpoint.post("beginGeneration", "/:relayer_id/nonce/generation", {
    scope: "transactions:write",
    summary: "Declare that a test network was restarted",
    description:
      "Only for networks with `is_testnet`. Transactions that were ever signed end as `failed` with the code `chain_changed`, and their bytes are never sent again. Audited.",
    through: [Idempotency],
    params,
    success: Envelope.of(ShownSequences),
    error: [Errors.TransactionConflictError, ...error]
  })
) {}

// The endpoints that sign with a relayer's key what callers send themselves: messages, typed data, transactions, calls of a node.
import { Schema } from "effect"
import { RelayerId } from "../domain/relayer/Relayer.ts"
import { NodeCalls, NodeReplies } from "../networks/core/NodeCall.ts"
import { EvmSignature, SignMessage, SignTypedData } from "../networks/evm/rules/EvmMessages.ts"
import { SignedSolanaTransaction, SignSolanaTransaction } from "../networks/solana/rules/SolanaExchanges.ts"
import { SignedStellarTransaction, SignStellarTransaction } from "../networks/stellar/rules/StellarRequests.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Idempotency, OutboundLimit, RequestBody } from "./Middleware.ts"

const params = Schema.Struct({ relayer_id: RelayerId })

const error = [
  Errors.RelayerNotFoundError,
  Errors.RelayerPausedError,
  Errors.TransactionLimitExceededError,
  Errors.NotImplementedError,
  Errors.BadGatewayError
] as const

export class SigningApi extends Endpoint.group(
  "signing",
  "/api/v1/relayers",
  { title: "Signing", description: "Signatures with a relayer's key." },
  Endpoint.post("sign", "/:relayer_id/sign", {
    scope: "transactions:sign",
    summary: "Sign a message",
    description: "With the prefix of EIP-191. Audited.",
    through: [Idempotency, RequestBody],
    params,
    payload: Json.body(SignMessage),
    success: Envelope.of(EvmSignature),
    error
  }),
  Endpoint.post("signTypedData", "/:relayer_id/sign-typed-data", {
    scope: "transactions:sign",
    summary: "Sign typed data",
    description:
      "EIP-712. Such a signature can move tokens (a permit, an order): no policy of the relayer limits it. Audited.",
    through: [Idempotency, RequestBody],
    params,
    payload: Json.body(SignTypedData),
    success: Envelope.of(EvmSignature),
    error
  })
) {}

// The endpoint that signs transactions which callers send themselves.

// A network type adds its schemas to these two unions, and its `signing` to its intake (`server/transactions/Intake.ts`).

const SignTransaction = Schema.Union([SignSolanaTransaction, SignStellarTransaction]).annotate({
  identifier: "SignTransactionRequest",
  description: "A transaction to sign without sending it, as the network type of the relayer has it."
})

const SignedTransaction = Schema.Union([SignedSolanaTransaction, SignedStellarTransaction]).annotate({
  identifier: "SignedTransaction",
  description: "A signed transaction, as the network type of the relayer has it."
})

export class TransactionSigningApi extends Endpoint.group(
  "transactionSigning",
  "/api/v1/relayers",
  { title: "Transaction signing", description: "Transactions that callers send themselves." },
  Endpoint.post("signTransaction", "/:relayer_id/sign-transaction", {
    scope: "transactions:sign",
    summary: "Sign a transaction",
    description:
      "The caller sends it. It passes all rules of a send, and its fee counts for the limits of the API key, landed or not. It is stored before the response, and the same bytes are signed once: the same request again returns them. 409 if a transaction of the service has the same bytes. Audited.",
    through: [Idempotency, RequestBody],
    params: Schema.Struct({ relayer_id: RelayerId }),
    payload: Json.body(SignTransaction),
    success: Envelope.of(SignedTransaction),
    error: [
      Errors.RelayerNotFoundError,
      Errors.RelayerPausedError,
      Errors.TransactionLimitExceededError,
      Errors.TransactionConflictError,
      Errors.NotImplementedError,
      Errors.BadGatewayError
    ]
  })
) {}

// The endpoint that answers JSON-RPC calls as a node that holds the key of the relayer.

export class NodeCallsApi extends Endpoint.group(
  "nodeCalls",
  "/api/v1/relayers",
  { title: "JSON-RPC", description: "Calls to the chain of a relayer." },
  Endpoint.post("rpc", "/:relayer_id/rpc", {
    scope: "rpc:call",
    summary: "Call a JSON-RPC method of the chain",
    description:
      "Answers as a node that holds the key of the relayer, so that viem, ethers, web3.py, Hardhat and Foundry send through it. The service itself answers `eth_accounts`, `eth_requestAccounts`, `eth_chainId`, `net_version`, `eth_sendTransaction` (needs `transactions:write`), `personal_sign`, `eth_sign`, `eth_signTypedData` and `eth_signTypedData_v4` (need `transactions:sign`). Other methods are passed on to a provider of the relayer if they are in `rpc_methods` of the network. `eth_sendTransaction` is admitted as `POST /transactions`, and returns the hash of the first signed version; an error in its reply means that the transaction is never executed. A client that cannot set a header may give its API key in the URL, as the password of HTTP Basic authentication. The response is plain JSON-RPC, without an envelope; `Idempotency-Key` has no effect.",
    through: [RequestBody, OutboundLimit],
    params: Schema.Struct({ relayer_id: RelayerId }),
    payload: Json.body(NodeCalls),
    success: Json.body(NodeReplies),
    error: [Errors.RelayerNotFoundError, Errors.ForbiddenError, Errors.NotImplementedError, Errors.BadGatewayError]
  })
) {}

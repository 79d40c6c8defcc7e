// The endpoints with which an operator reads and changes what a relayer's account delegates to.
import { Schema } from "effect"
import { RelayerId } from "../domain/relayer/Relayer.ts"
import { Delegate, Delegation, DelegationChange } from "../networks/evm/rules/DelegationSchemas.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Idempotency, OutboundLimit, RequestBody } from "./Middleware.ts"

const params = Schema.Struct({ relayer_id: RelayerId })

const changing = [
  Errors.RelayerNotFoundError,
  Errors.RelayerPausedError,
  Errors.TransactionConflictError,
  Errors.TransactionLimitExceededError,
  Errors.NotImplementedError,
  Errors.BadGatewayError
] as const

const whoMay =
  "It needs a key with this scope for all relayers and without `transaction_limits`, because the account may be that of several relayers and its code could do what limits forbid."

export class DelegationsApi extends Endpoint.group(
  "delegations",
  "/api/v1/relayers",
  {
    title: "Delegations",
    description: "What accounts of evm delegate to (EIP-7702), so that they make many calls at once."
  },
  Endpoint.get("get", "/:relayer_id/delegation", {
    scope: "relayers:read",
    summary: "Get the delegation of a relayer's account",
    description:
      "What the service has recorded of it, and what its checks have found. No provider is asked. Only for evm.",
    params,
    success: Envelope.of(Delegation),
    error: [Errors.RelayerNotFoundError, Errors.NotImplementedError]
  }),
  Endpoint.post("delegate", "/:relayer_id/delegation", {
    scope: "relayers:write",
    summary: "Delegate a relayer's account to an executor",
    description: `The contract is checked by calls, as if the account had delegated to it: it must make many calls at once (ERC-7821) for the account alone, take transfers, and need no initialization. Then a transaction of the account to itself carries the authorization; it takes two nonces, is sent when nothing of the account is open, and cannot be canceled once it is signed. ${whoMay} Audited. Only for evm.`,
    through: [OutboundLimit, Idempotency, RequestBody],
    params,
    payload: Json.body(Delegate),
    success: Envelope.of(DelegationChange),
    error: changing
  }),
  Endpoint.remove("undelegate", "/:relayer_id/delegation", {
    scope: "relayers:write",
    summary: "End the delegation of a relayer's account",
    description: `By a transaction like that of a delegation. Transactions with \`calls\` that are queued then fail without a nonce. ${whoMay} Audited. Only for evm.`,
    through: [OutboundLimit],
    params,
    success: Envelope.of(DelegationChange),
    error: changing
  })
) {}

// The endpoints of relayers: create, list, read, change, delete; their health; a policy on past transactions.
import { Schema } from "effect"
import { CheckQuery } from "../domain/chain/ChainSnapshot.ts"
import { BalanceTrend, BalanceTrendQuery } from "../domain/health/Funding.ts"
import { RelayerExplanation } from "../domain/health/HealthExplanation.ts"
import {
  CreateRelayer,
  Relayer,
  RelayerBalance,
  RelayerId,
  RelayerQuery,
  RelayerStatus,
  UpdateRelayer
} from "../domain/relayer/Relayer.ts"
import { Rehearsal, RehearsePolicy } from "../networks/evm/rules/Hindsight.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Idempotency, OutboundLimit, RequestBody } from "./Middleware.ts"

const params = Schema.Struct({ relayer_id: RelayerId })

export class RelayersApi extends Endpoint.group(
  "relayers",
  "/api/v1/relayers",
  { title: "Relayers", description: "Accounts on one network with one signer." },
  Endpoint.post("create", "/", {
    scope: "relayers:write",
    summary: "Create a relayer",
    description:
      "The signer, network and notification must exist, and the signer must be able to serve the network type. The relayer has the signer's address on that network type; several relayers may share a signer. If the id exists, the response is 409, even if other fields are invalid. A request may have at most 65,536 bytes of JSON. A key with `transaction_limits` may give no RPC URLs. No provider is asked, unless `check` is true: then `metadata.logs` names the RPC URLs that do not work, and what to send where.",
    through: [Idempotency, RequestBody],
    query: CheckQuery,
    payload: Json.body(CreateRelayer),
    success: Envelope.created(Relayer),
    error: [
      Errors.RelayerIdTakenError,
      Errors.RelayerIsChannelError,
      Errors.ForbiddenError,
      Errors.TransactionLimitExceededError
    ]
  }),
  Endpoint.get("list", "/", {
    scope: "relayers:read",
    summary: "List relayers",
    description:
      "In creation order unless `sort` says otherwise. A page past the end is empty. The `Link` header leads to the next page by `cursor`: the last page is served as fast as the first, no relayer is skipped or repeated if others are created or deleted, and `total_items` is that of the first page. A page by cursor ends at about 1 MiB, which may be before `per_page`. A page by number is never cut short: if it would have more than 2 MiB, the response is 400, and `error` says how many relayers fit.",
    query: RelayerQuery,
    success: Envelope.pageOf(Relayer),
    transform: Endpoint.linked
  }),
  Endpoint.get("get", "/:relayer_id", {
    scope: "relayers:read",
    summary: "Get a relayer",
    description: "RPC URLs are masked.",
    params,
    success: Envelope.of(Relayer),
    error: Errors.RelayerNotFoundError,
    transform: Endpoint.versioned
  }),
  Endpoint.patch("update", "/:relayer_id", {
    scope: "relayers:write",
    summary: "Change a relayer",
    description:
      "A merge patch (RFC 7396): absent fields stay, null removes a field. The result must be a valid relayer. A list of RPC URLs is replaced as a whole; in it, the n-th occurrence of a masked URL stands for the n-th stored URL with that mask, so that weights and order can be changed without sending the URLs again. Concurrent patches apply one after the other; with `If-Match`, a patch of an older version is refused. A key with `transaction_limits` may change neither RPC URLs nor `policies`.",
    through: [RequestBody],
    params,
    headers: Endpoint.ifMatch,
    payload: Json.mergePatch(UpdateRelayer),
    success: Envelope.of(Relayer),
    error: [Errors.RelayerNotFoundError, Errors.PreconditionFailedError, Errors.TransactionLimitExceededError],
    transform: Endpoint.versioned
  }),
  Endpoint.remove("delete", "/:relayer_id", {
    scope: "relayers:write",
    summary: "Delete a relayer",
    description:
      "Its signer, network and notification stay, and so do its final transactions. A relayer with open transactions is not deleted: cancel them, or wait for them.",
    params,
    headers: Endpoint.ifMatch,
    success: Envelope.deleted("Relayer deleted successfully"),
    error: [Errors.RelayerNotFoundError, Errors.RelayerInUseError, Errors.PreconditionFailedError]
  })
) {}

// The endpoints of relayer health: status, balance, check, explain.

const ofRelayer = { params, error: Errors.RelayerNotFoundError } as const

export class RelayerHealthApi extends Endpoint.group(
  "relayerHealth",
  "/api/v1/relayers",
  { title: "Relayer health", description: "Whether relayers work, and why not." },
  Endpoint.get("status", "/:relayer_id/status", {
    scope: "relayers:read",
    summary: "Get a relayer's status",
    description:
      "Inspects the chain now. If no provider answers, `live` is false, and balance and nonce are those of the last inspection, at `read_at`.",
    through: [OutboundLimit],
    ...ofRelayer,
    success: Envelope.of(RelayerStatus)
  }),
  Endpoint.get("balance", "/:relayer_id/balance", {
    scope: "relayers:read",
    summary: "Get a relayer's balance",
    description:
      "Reads the balance from the chain now. Answers 502 if no provider answers, or if the provider serves another chain.",
    through: [OutboundLimit],
    ...ofRelayer,
    error: [Errors.RelayerNotFoundError, Errors.BadGatewayError, Errors.NotImplementedError],
    success: Envelope.of(RelayerBalance)
  }),
  Endpoint.post("check", "/:relayer_id/check", {
    scope: "relayers:write",
    summary: "Check a relayer now",
    description:
      "Runs the regular health check now, with the same consequences: two failed checks in a row disable the relayer (three until its chain has answered once, and a wrong chain at once), and one successful check enables it.",
    through: [Idempotency, OutboundLimit],
    ...ofRelayer,
    success: Envelope.of(RelayerStatus),
    error: [Errors.RelayerNotFoundError, Errors.NotImplementedError]
  }),
  Endpoint.get("balances", "/:relayer_id/balances", {
    scope: "relayers:read",
    summary: "Get what a relayer's balance was",
    description:
      "The balance hour by hour, as the checks of all instances read it, what is spent in a day, and for how long the rest suffices. No provider is asked.",
    ...ofRelayer,
    query: BalanceTrendQuery,
    success: Envelope.of(BalanceTrend)
  }),
  Endpoint.get("explain", "/:relayer_id/explain", {
    scope: "relayers:read",
    summary: "Explain a relayer's state",
    description: "Says why the relayer is in its state, what happens next and when, as text and as a code.",
    ...ofRelayer,
    success: Envelope.of(RelayerExplanation)
  })
) {}

// The endpoint that tries a policy on past transactions.

export class PoliciesApi extends Endpoint.group(
  "policies",
  "/api/v1/relayers",
  { title: "Policies", description: "The limits of relayers." },
  Endpoint.post("rehearse", "/:relayer_id/policies/rehearse", {
    scope: "relayers:read",
    summary: "Try a policy on past transactions",
    description:
      "Says what a changed policy would have done to the final transactions of the last days: which it would have refused, and which it would have held because of its `gas_price_cap`. Changes and stores nothing. Relayers on evm only. It also needs the scope `transactions:read`. Repeat it with fewer `days` if it answers 413.",
    through: [RequestBody, OutboundLimit],
    params,
    payload: Json.body(RehearsePolicy),
    success: Envelope.of(Rehearsal),
    error: [
      Errors.RelayerNotFoundError,
      Errors.NotImplementedError,
      Errors.RehearsalTooLargeError,
      Errors.ForbiddenError
    ]
  })
) {}

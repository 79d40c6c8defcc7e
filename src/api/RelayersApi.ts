// The endpoints of relayers: create, list, read, change, delete; their health; a policy on past transactions.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
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
import { ifMatch, linked, RequiredScope, versioned } from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, Idempotency, OutboundLimit, RequestBody } from "./Middleware.ts"

const params = Schema.Struct({ relayer_id: RelayerId })

export class RelayersApi extends HttpApiGroup.make("relayers")
  .add(
    HttpApiEndpoint.post("create", "/", {
      query: CheckQuery,
      payload: Json.body(CreateRelayer),
      success: Envelope.created(Relayer),
      error: [
        Errors.RelayerIdTakenError,
        Errors.RelayerIsChannelError,
        Errors.ForbiddenError,
        Errors.TransactionLimitExceededError,
        ...Errors.ofOutboundWork,
        ...Errors.any
      ]
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "relayers:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a relayer",
          description:
            "The signer, network and notification must exist, and the signer must be able to serve the network type. The relayer has the signer's address on that network type; several relayers may share a signer. If the id exists, the response is 409, even if other fields are invalid. A request may have at most 65,536 bytes of JSON. A key with `transaction_limits` may not give `custom_rpc_urls`. No provider is asked, unless `check` is true: then `metadata.logs` names the RPC URLs that do not work, and what to send where."
        })
      ),
    HttpApiEndpoint.get("list", "/", {
      query: RelayerQuery,
      success: Envelope.pageOf(Relayer),
      error: Errors.any
    })
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List relayers",
          description:
            "In creation order unless `sort` says otherwise. A page past the end is empty. The `Link` header leads to the next page by `cursor`: the last page is served as fast as the first, no relayer is skipped or repeated if others are created or deleted, and `total_items` is that of the first page. A page by cursor ends at about 1 MiB, which may be before `per_page`. A page by number is never cut short: if it would have more than 2 MiB, the response is 400, and `error` says how many relayers fit.",
          transform: linked
        })
      ),
    HttpApiEndpoint.get("get", "/:relayer_id", {
      params,
      success: Envelope.of(Relayer),
      error: [Errors.RelayerNotFoundError, ...Errors.any]
    })
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Get a relayer",
          description: "RPC URLs are masked.",
          transform: versioned
        })
      ),
    HttpApiEndpoint.patch("update", "/:relayer_id", {
      params,
      headers: ifMatch,
      payload: Json.mergePatch(UpdateRelayer),
      success: Envelope.of(Relayer),
      error: [
        Errors.RelayerNotFoundError,
        Errors.PreconditionFailedError,
        Errors.TransactionLimitExceededError,
        ...Errors.any
      ]
    })
      .middleware(RequestBody)
      .annotate(RequiredScope, "relayers:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a relayer",
          description:
            "A merge patch (RFC 7396): absent fields stay, null removes a field. The result must be a valid relayer. `custom_rpc_urls` is replaced as a whole; in it, the n-th occurrence of a masked URL stands for the n-th stored URL with that mask, so that weights and order can be changed without sending the URLs again. Concurrent patches apply one after the other; with `If-Match`, a patch of an older version is refused. A key with `transaction_limits` may change neither `custom_rpc_urls` nor `policies`.",
          transform: versioned
        })
      ),
    HttpApiEndpoint.delete("delete", "/:relayer_id", {
      params,
      headers: ifMatch,
      success: Envelope.deleted("Relayer deleted successfully"),
      error: [Errors.RelayerNotFoundError, Errors.RelayerInUseError, Errors.PreconditionFailedError, ...Errors.any]
    })
      .annotate(RequiredScope, "relayers:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a relayer",
          description:
            "Its signer, network and notification stay, and so do its final transactions. A relayer with open transactions is not deleted: cancel them, or wait for them."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/relayers")
  .annotateMerge(OpenApi.annotations({ title: "Relayers", description: "Accounts on one network with one signer." })) {}

// The endpoints of relayer health: status, balance, check, explain.

const healthParams = Schema.Struct({ relayer_id: RelayerId })
const error = [Errors.RelayerNotFoundError, ...Errors.any] as const
const outbound = { params: healthParams, error: [...Errors.ofOutboundWork, ...error] } as const

export class RelayerHealthApi extends HttpApiGroup.make("relayerHealth")
  .add(
    HttpApiEndpoint.get("status", "/:relayer_id/status", { ...outbound, success: Envelope.of(RelayerStatus) })
      .middleware(OutboundLimit)
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Get a relayer's status",
          description:
            "Inspects the chain now. If no provider answers, `live` is false, and balance and nonce are those of the last inspection, at `read_at`."
        })
      ),
    HttpApiEndpoint.get("balance", "/:relayer_id/balance", {
      params: healthParams,
      error: [Errors.BadGatewayError, Errors.NotImplementedError, ...outbound.error],
      success: Envelope.of(RelayerBalance)
    })
      .middleware(OutboundLimit)
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Get a relayer's balance",
          description:
            "Reads the balance from the chain now. Answers 502 if no provider answers, or if the provider serves another chain."
        })
      ),
    HttpApiEndpoint.post("check", "/:relayer_id/check", {
      ...outbound,
      success: Envelope.of(RelayerStatus),
      error: [Errors.NotImplementedError, ...outbound.error]
    })
      .middleware(Idempotency)
      .middleware(OutboundLimit)
      .annotate(RequiredScope, "relayers:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Check a relayer now",
          description:
            "Runs the regular health check now, with the same consequences: two failed checks in a row disable the relayer (three until its chain has answered once, and a wrong chain at once), and one successful check enables it."
        })
      ),
    HttpApiEndpoint.get("balances", "/:relayer_id/balances", {
      params: healthParams,
      query: BalanceTrendQuery,
      success: Envelope.of(BalanceTrend),
      error
    })
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Get what a relayer's balance was",
          description:
            "The balance hour by hour, as the checks of all instances read it, what is spent in a day, and for how long the rest suffices. No provider is asked."
        })
      ),
    HttpApiEndpoint.get("explain", "/:relayer_id/explain", {
      params: healthParams,
      success: Envelope.of(RelayerExplanation),
      error
    })
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Explain a relayer's state",
          description: "Says why the relayer is in its state, what happens next and when, as text and as a code."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/relayers")
  .annotateMerge(
    OpenApi.annotations({ title: "Relayer health", description: "Whether relayers work, and why not." })
  ) {}

// The endpoint that tries a policy on past transactions.

export class PoliciesApi extends HttpApiGroup.make("policies")
  .add(
    HttpApiEndpoint.post("rehearse", "/:relayer_id/policies/rehearse", {
      params: Schema.Struct({ relayer_id: RelayerId }),
      payload: Json.body(RehearsePolicy),
      success: Envelope.of(Rehearsal),
      error: [
        Errors.RelayerNotFoundError,
        Errors.NotImplementedError,
        Errors.RehearsalTooLargeError,
        Errors.ForbiddenError,
        ...Errors.ofOutboundWork,
        ...Errors.any
      ]
    })
      .middleware(RequestBody)
      .middleware(OutboundLimit)
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Try a policy on past transactions",
          description:
            "Says what a changed policy would have done to the final transactions of the last days: which it would have refused, and which it would have held because of its `gas_price_cap`. Changes and stores nothing. Relayers on evm only. It also needs the scope `transactions:read`. Repeat it with fewer `days` if it answers 413."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/relayers")
  .annotateMerge(OpenApi.annotations({ title: "Policies", description: "The limits of relayers." })) {}

// The endpoints of relayer health: status, balance, check, explain.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { BalanceTrend, BalanceTrendQuery } from "../domain/health/BalanceTrend.ts"
import { RelayerExplanation } from "../domain/health/HealthExplanation.ts"
import { RelayerId } from "../domain/relayer/Relayer.ts"
import { RelayerBalance, RelayerStatus } from "../domain/relayer/RelayerStatus.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors, Idempotency, OutboundLimit } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

const params = Schema.Struct({ relayer_id: RelayerId })
const error = [Errors.RelayerNotFoundError, ...Errors.any] as const
const outbound = { params, error: [...Errors.ofOutboundWork, ...error] } as const

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
      params,
      error: [Errors.BadGatewayError, ...outbound.error],
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
    HttpApiEndpoint.post("check", "/:relayer_id/check", { ...outbound, success: Envelope.of(RelayerStatus) })
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
      params,
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
    HttpApiEndpoint.get("explain", "/:relayer_id/explain", { params, success: Envelope.of(RelayerExplanation), error })
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

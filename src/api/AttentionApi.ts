// The endpoint of what needs the attention of an operator.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AttentionItem } from "../domain/attention/Attention.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

export class AttentionApi extends HttpApiGroup.make("attention")
  .add(
    HttpApiEndpoint.get("list", "/", {
      success: Envelope.listOf(AttentionItem),
      error: Errors.any
    })
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List what needs attention",
          description:
            "At most 50 items, the most important first; none if nothing needs attention. What names the same host of an RPC provider is one item, at the place of its most important part. Transactions are counted with `transactions:read`, receivers are shown with `notifications:read`, API keys with `api-keys:read`, rows of signers and networks that cannot be verified with `signers:read` and `networks:read`; a key that is limited to relayers sees theirs. Items are those of all instances, except for `service`. A response may be two seconds old."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/attention")
  .annotateMerge(
    OpenApi.annotations({
      title: "Attention",
      description: "What is wrong, since when, what it holds back, and what helps."
    })
  ) {}

// The endpoints of relayers: create, list, read, change, delete.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { CheckQuery } from "../domain/chain/CheckQuery.ts"
import { CreateRelayer, Relayer, RelayerId, UpdateRelayer } from "../domain/relayer/Relayer.ts"
import { RelayerQuery } from "../domain/relayer/RelayerQuery.ts"
import * as Condition from "./Condition.ts"
import { linked, versioned } from "./document/Operation.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, Idempotency, RequestBody } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

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
      headers: Condition.ifMatch,
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
      headers: Condition.ifMatch,
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

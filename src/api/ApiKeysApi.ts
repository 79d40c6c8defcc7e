// API keys: made, shown once, rotated, revoked.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ApiKey, ApiKeyId, CreateApiKey, NewApiKey, RevokedApiKeys, RotateApiKey } from "../domain/access/ApiKey.ts"
import { PageQuery } from "../domain/request/Page.ts"
import { Flag } from "../domain/request/Text.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, Idempotency, RequestBody } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

const params = Schema.Struct({ key_id: ApiKeyId })

const RevokeQuery = { descendants: Schema.optionalKey(Flag) }

export class ApiKeysApi extends HttpApiGroup.make("apiKeys")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: Json.body(CreateApiKey),
      success: Envelope.created(NewApiKey),
      error: [Errors.ForbiddenError, Errors.TooManyApiKeysError, ...Errors.any]
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "api-keys:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an API key",
          description:
            "`key` is shown in this answer and nowhere else: the service keeps its hash. Nobody can give a key more than they have."
        })
      ),
    HttpApiEndpoint.get("list", "/", {
      query: PageQuery,
      success: Envelope.pageOf(ApiKey),
      error: Errors.any
    })
      .annotate(RequiredScope, "api-keys:read")
      .annotateMerge(OpenApi.annotations({ summary: "List API keys", description: "In creation order." })),
    HttpApiEndpoint.get("get", "/:key_id", {
      params,
      success: Envelope.of(ApiKey),
      error: [Errors.ApiKeyNotFoundError, ...Errors.any]
    })
      .annotate(RequiredScope, "api-keys:read")
      .annotateMerge(OpenApi.annotations({ summary: "Get an API key" })),
    HttpApiEndpoint.post("rotate", "/:key_id/rotate", {
      params,
      payload: Json.optionalBody(RotateApiKey),
      success: Envelope.of(NewApiKey),
      error: [Errors.ApiKeyNotFoundError, Errors.ForbiddenError, ...Errors.any]
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "api-keys:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Rotate an API key",
          description:
            "A new `key` with the same id, name and scopes. The one before lives on for `overlap_seconds`, a day unless told; the one before that ends at once."
        })
      ),
    HttpApiEndpoint.delete("delete", "/:key_id", {
      params,
      query: RevokeQuery,
      success: Envelope.of(RevokedApiKeys),
      error: [Errors.ApiKeyNotFoundError, Errors.ForbiddenError, ...Errors.any]
    })
      .annotate(RequiredScope, "api-keys:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke an API key",
          description:
            "The key ends at once. With `descendants=true`, all keys end that it has created, directly or through others; without, the response lists those that stay valid."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/api-keys")
  .annotateMerge(
    OpenApi.annotations({
      title: "API keys",
      description: "Who may call, and what they may do. The key of the configuration may do everything."
    })
  ) {}

// The endpoints of API keys: create, list, read, rotate, revoke; and of the master key: rotate.
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  ApiKey,
  ApiKeyId,
  CreateApiKey,
  CurrentKey,
  NewApiKey,
  RevokedApiKeys,
  RotateApiKey,
  UpdateApiKey
} from "../domain/access/ApiKey.ts"
import { MasterKeyRotation } from "../domain/masterKey/MasterKey.ts"
import { PageQuery } from "../domain/request/Page.ts"
import { flag } from "../domain/request/Shown.ts"
import { EveryCaller, ifMatch, RequiredScope, versioned, withOptionalBody } from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, Idempotency, RequestBody } from "./Middleware.ts"

const params = Schema.Struct({ key_id: ApiKeyId })

const RevokeQuery = { descendants: Schema.optionalKey(flag("Whether to revoke the keys that this key created, too.")) }

export class ApiKeysApi extends HttpApiGroup.make("apiKeys")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: Json.body(CreateApiKey),
      success: Envelope.created(NewApiKey),
      error: [Errors.ForbiddenError, Errors.ApiKeyIdTakenError, Errors.TooManyApiKeysError, ...Errors.any]
    })
      .middleware(Idempotency)
      .middleware(RequestBody)
      .annotate(RequiredScope, "api-keys:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an API key",
          description:
            "Only this response contains `key`; the service stores its hash. A key cannot get scopes or relayers that its creator lacks.",
          transform: versioned
        })
      ),
    HttpApiEndpoint.get("list", "/", {
      query: PageQuery,
      success: Envelope.pageOf(ApiKey),
      error: Errors.any
    })
      .annotate(RequiredScope, "api-keys:read")
      .annotateMerge(OpenApi.annotations({ summary: "List API keys", description: "In creation order." })),
    HttpApiEndpoint.get("current", "/current", {
      success: Envelope.of(CurrentKey),
      error: Errors.any
    })
      .annotate(EveryCaller, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Get the own API key",
          description:
            "What the API key of the request may do. Every key may ask, whatever its scopes are. In a session of the console, the scopes are those of the session."
        })
      ),
    HttpApiEndpoint.get("get", "/:key_id", {
      params,
      success: Envelope.of(ApiKey),
      error: [Errors.ApiKeyNotFoundError, ...Errors.any]
    })
      .annotate(RequiredScope, "api-keys:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Get an API key",
          description:
            "The key itself is not returned. `ETag` names the version of what can be changed; a use of the key does not change it.",
          transform: versioned
        })
      ),
    HttpApiEndpoint.patch("update", "/:key_id", {
      params,
      headers: ifMatch,
      payload: Json.mergePatch(UpdateApiKey),
      success: Envelope.of(ApiKey),
      error: [Errors.ApiKeyNotFoundError, Errors.ForbiddenError, Errors.PreconditionFailedError, ...Errors.any]
    })
      .middleware(RequestBody)
      .annotate(RequiredScope, "api-keys:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change an API key",
          description:
            "A merge patch: absent fields stay, null removes. The key itself stays, and requests with it get the new rights at once. The result may do nothing that the caller may not do; a caller cannot change its own key or the keys that it descends from. Rights that a key which it has created still has cannot be removed: the error names those keys.",
          transform: versioned
        })
      ),
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
            "Creates a new `key` with the same id, name and scopes. The previous key stays valid for `overlap_seconds`, by default one day; the key before that is revoked at once.",
          transform: withOptionalBody
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
            "The key is refused from now on. With `descendants=true`, all keys that it created, directly or through others, are revoked as well; without, the response lists those that stay valid."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/api-keys")
  .annotateMerge(
    OpenApi.annotations({
      title: "API keys",
      description: "Credentials of callers. The administrator's key, which is in the configuration, may do everything."
    })
  ) {}

// The endpoint that rotates the master key.

export class MasterKeyApi extends HttpApiGroup.make("masterKey")
  .add(
    HttpApiEndpoint.post("rotate", "/rotate", {
      success: Envelope.of(MasterKeyRotation),
      error: [Errors.ForbiddenError, Errors.RotationRunningError, ...Errors.any]
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "master-key:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Rotate the master key",
          description:
            "Encrypts every secret in the database again, without downtime: with the master key of the configuration, or, if the service keeps its master key in a file, with a new one. The response is sent when no secret needs the previous keys. The rotation continues if the caller disconnects. Only the administrator may rotate a key that the service keeps in a file, because copies of that file become outdated: the response names the files to copy. Older backups need the older key."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/master-key")
  .annotateMerge(
    OpenApi.annotations({ title: "Master key", description: "The key that encrypts all secrets in the database." })
  ) {}

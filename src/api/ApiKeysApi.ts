// The endpoints of API keys: create, list, read, rotate, revoke; and of the master key: rotate.
import { Schema } from "effect"
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
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Idempotency, RequestBody } from "./Middleware.ts"

const params = Schema.Struct({ key_id: ApiKeyId })

const RevokeQuery = { descendants: Schema.optionalKey(flag("Whether to revoke the keys that this key created, too.")) }

export class ApiKeysApi extends Endpoint.group(
  "apiKeys",
  "/api/v1/api-keys",
  {
    title: "API keys",
    description: "Credentials of callers. The administrator's key, which is in the configuration, may do everything."
  },
  Endpoint.post("create", "/", {
    scope: "api-keys:write",
    summary: "Create an API key",
    description:
      "Only this response contains `key`; the service stores its hash. A key cannot get scopes or relayers that its creator lacks.",
    through: [Idempotency, RequestBody],
    payload: Json.body(CreateApiKey),
    success: Envelope.created(NewApiKey),
    error: [Errors.ForbiddenError, Errors.ApiKeyIdTakenError, Errors.TooManyApiKeysError],
    transform: Endpoint.versioned
  }),
  Endpoint.get("list", "/", {
    scope: "api-keys:read",
    summary: "List API keys",
    description: "In creation order.",
    query: PageQuery,
    success: Envelope.pageOf(ApiKey)
  }),
  Endpoint.get("current", "/current", {
    scope: "every caller",
    summary: "Get the own API key",
    description:
      "What the API key of the request may do. Every key may ask, whatever its scopes are. In a session of the console, the scopes are those of the session.",
    success: Envelope.of(CurrentKey)
  }),
  Endpoint.get("get", "/:key_id", {
    scope: "api-keys:read",
    summary: "Get an API key",
    description:
      "The key itself is not returned. `ETag` names the version of what can be changed; a use of the key does not change it.",
    params,
    success: Envelope.of(ApiKey),
    error: Errors.ApiKeyNotFoundError,
    transform: Endpoint.versioned
  }),
  Endpoint.patch("update", "/:key_id", {
    scope: "api-keys:write",
    summary: "Change an API key",
    description:
      "A merge patch: absent fields stay, null removes. The key itself stays, and requests with it get the new rights at once. The result may do nothing that the caller may not do; a caller cannot change its own key or the keys that it descends from. Rights that a key which it has created still has cannot be removed: the error names those keys.",
    through: [RequestBody],
    params,
    headers: Endpoint.ifMatch,
    payload: Json.mergePatch(UpdateApiKey),
    success: Envelope.of(ApiKey),
    error: [Errors.ApiKeyNotFoundError, Errors.ForbiddenError, Errors.PreconditionFailedError],
    transform: Endpoint.versioned
  }),
  Endpoint.post("rotate", "/:key_id/rotate", {
    scope: "api-keys:write",
    summary: "Rotate an API key",
    description:
      "Creates a new `key` with the same id, name and scopes. The previous key stays valid for `overlap_seconds`, by default one day; the key before that is revoked at once.",
    through: [Idempotency, RequestBody],
    params,
    payload: Json.optionalBody(RotateApiKey),
    success: Envelope.of(NewApiKey),
    error: [Errors.ApiKeyNotFoundError, Errors.ForbiddenError],
    transform: Endpoint.withOptionalBody
  }),
  Endpoint.remove("delete", "/:key_id", {
    scope: "api-keys:write",
    summary: "Revoke an API key",
    description:
      "The key is refused from now on. With `descendants=true`, all keys that it created, directly or through others, are revoked as well; without, the response lists those that stay valid.",
    params,
    query: RevokeQuery,
    success: Envelope.of(RevokedApiKeys),
    error: [Errors.ApiKeyNotFoundError, Errors.ForbiddenError]
  })
) {}

// The endpoint that rotates the master key.

export class MasterKeyApi extends Endpoint.group(
  "masterKey",
  "/api/v1/master-key",
  { title: "Master key", description: "The key that encrypts all secrets in the database." },
  Endpoint.post("rotate", "/rotate", {
    scope: "master-key:write",
    summary: "Rotate the master key",
    description:
      "Encrypts every secret in the database again, without downtime: with the master key of the configuration, or, if the service keeps its master key in a file, with a new one. The response is sent when no secret needs the previous keys. The rotation continues if the caller disconnects. Only the administrator may rotate a key that the service keeps in a file, because copies of that file become outdated: the response names the files to copy. Older backups need the older key.",
    through: [Idempotency],
    success: Envelope.of(MasterKeyRotation),
    error: [Errors.ForbiddenError, Errors.RotationRunningError]
  })
) {}

// The endpoint that rotates the master key.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { MasterKeyRotation } from "../domain/masterKey/MasterKey.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { Authorization, DecodeErrors, Idempotency } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

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

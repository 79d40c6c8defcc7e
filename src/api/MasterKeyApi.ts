// The master key: the key under which all other secrets lie.
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
      error: [Errors.RotationRunningError, ...Errors.any]
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "master-key:write")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Rotate the master key",
          description:
            "Wraps every secret in the database anew, while everything goes on: under `STORAGE_ENCRYPTION_KEY`, or, where the service keeps its key in a file, under a new key that it makes now. Answers when the keys before are needed no more; it goes on where the caller does not wait for that."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/master-key")
  .annotateMerge(
    OpenApi.annotations({ title: "Master key", description: "The key under which all other secrets lie." })
  ) {}

// Limits the requests of an address for the documents, which need no API key.
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import * as Failures from "../responses/Failures.ts"
import { Strangers } from "../limits/Strangers.ts"

/** For the routes of the documents. */
export const OpenDocument = HttpRouter.middleware(
  Effect.map(
    Strangers,
    ({ admit }) =>
      (document) =>
        Effect.matchEffect(admit, {
          onFailure: (error) => Effect.succeed(Failures.tooManyRequests(error)),
          onSuccess: () => document
        })
  )
).layer

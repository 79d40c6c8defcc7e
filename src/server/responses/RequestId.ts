// The id of the request that is being answered.
import { Context } from "effect"

/** Undefined outside of requests. */
export const CurrentRequestId = Context.Reference<string | undefined>(
  "effect-relayer/server/responses/RequestId/CurrentRequestId",
  { defaultValue: () => undefined }
)

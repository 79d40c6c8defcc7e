// Requests that were refused because an API key may not make them, as the audit log records them.
import { Schema } from "effect"

export const RefusedRequests = Schema.Struct({
  /** The scope that the endpoint requires; `*` if only the administrator may use it. */
  scope: Schema.String,
  /** The method of the last of these requests. */
  method: Schema.String,
  /** The pattern of its path, such as `/api/v1/relayers/:relayer_id`. */
  route: Schema.String,
  count: Schema.Natural
})
export type RefusedRequests = typeof RefusedRequests.Type

// Header fields of a response beside those that the contract encodes.
import { Context, Effect } from "effect"

export interface ResponseHeaders {
  /** Set by the endpoint. A response that is stored for its `Idempotency-Key` keeps them. */
  readonly endpoint: Map<string, string>
  /** True of this request only, such as the state of its rate limit. */
  readonly request: Map<string, string>
}

export const make = (): ResponseHeaders => ({ endpoint: new Map(), request: new Map() })

/** Those of the request that is being answered. Both maps are set on the response, whatever its status. */
export const CurrentResponseHeaders = Context.Reference<ResponseHeaders>(
  "effect-relayer/server/responses/ResponseHeaders/CurrentResponseHeaders",
  { defaultValue: make }
)

/** Sets a header field of the endpoint. */
export const set = (name: string, value: string) =>
  Effect.map(CurrentResponseHeaders, ({ endpoint }) => void endpoint.set(name, value))

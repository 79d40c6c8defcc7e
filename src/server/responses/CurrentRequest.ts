// The request that is being answered: its id, its client's address, and the header fields of its response besides those of the
// contract.
import { Context, Effect } from "effect"

/** Work that waits for key services has limits of its own: it stops the time of the request. */
interface TimeLimit {
  readonly ms: number
  readonly stop: () => void
  /** From the beginning. */
  readonly restart: () => void
}

export interface RequestState {
  readonly id: string
  /** `ClientAddress.reader` finds it. `undefined` if the server knows none, as with Unix sockets. */
  readonly clientAddress: string | undefined
  /** Id of the caller. `undefined` until the caller is authenticated. */
  actor: string | undefined
  /** The time that the request has. Absent: it has no limit. */
  timeLimit?: TimeLimit
  /** Set by the endpoint. A response that is stored for its `Idempotency-Key` keeps them. */
  readonly headers: Map<string, string>
  /** True of this response only, such as the state of the rate limit. They are never stored. */
  readonly ownHeaders: Map<string, string>
}

export const make = (id: string, clientAddress: string | undefined): RequestState => ({
  id,
  clientAddress,
  actor: undefined,
  headers: new Map(),
  ownHeaders: new Map()
})

/** `undefined` outside of requests. */
export const CurrentRequest = Context.Reference<RequestState | undefined>(
  "effect-relayer/server/responses/CurrentRequest",
  { defaultValue: () => undefined }
)

/** `undefined` outside of requests. */
export const currentRequestId = Effect.map(CurrentRequest, (request) => request?.id)

/** Sets a header field of the endpoint. */
export const setHeader = (name: string, value: string) =>
  Effect.map(CurrentRequest, (request) => void request?.headers.set(name, value))

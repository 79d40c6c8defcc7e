// The methods of the client with promises.
import type { ErrorOf } from "../Method.ts"
import type { Result } from "./Result.ts"

export interface CallOptions {
  /** Ends the call. The promise is then rejected with the reason of the signal. */
  readonly signal?: AbortSignal
}

type Arguments<Request> = {} extends Request
  ? [request?: Request, options?: CallOptions]
  : [request: Request, options?: CallOptions]

/** `Request` and `Success` name the types of the JSON of the endpoint. */
export type Method<Group extends string, Name extends string, Request, Success> = (
  ...args: Arguments<Request>
) => Promise<Result<Success, ErrorOf<Group, Name>>>

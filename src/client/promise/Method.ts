// The methods of the client with promises, and their results: a value, or an error whose type names what can go wrong.
import type { ErrorOf } from "../Method.ts"

export type Result<A, E> = { readonly ok: true; readonly value: A } | { readonly ok: false; readonly error: E }

/** For programs that catch errors: returns the value or throws the error. */
export const orThrow = <A, E>(result: Result<A, E>): A => {
  if (result.ok) return result.value
  throw result.error
}

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

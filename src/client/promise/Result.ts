// The result of a call: a value, or an error whose type names what can go wrong.

export type Result<A, E> = { readonly ok: true; readonly value: A } | { readonly ok: false; readonly error: E }

/** For programs that catch errors: returns the value or throws the error. */
export const orThrow = <A, E>(result: Result<A, E>): A => {
  if (result.ok) return result.value
  throw result.error
}

// The result of a call: a value, or an error whose type names what can go wrong.

export type Result<A, E> = { readonly ok: true; readonly value: A } | { readonly ok: false; readonly error: E }

/** For programs that catch errors: the value, or the error is thrown. */
export const orThrow = <A, E>(result: Result<A, E>): A => {
  if (result.ok) return result.value
  throw result.error
}

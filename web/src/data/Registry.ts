// The atoms' values, which live as long as a page shows them and a little longer, so that the way back shows them at once.
import { Effect, Exit } from "effect"
import { Atom, AtomRegistry } from "effect/reactivity"
import type { AsyncResult } from "effect/reactivity"
import type { Failure } from "./Failure.ts"
import { isFailure } from "./Failure.ts"

/** Milliseconds that a value is kept after the last page that shows it. */
const keptFor = 60_000

export const registry = AtomRegistry.make({ defaultIdleTTL: keptFor })

export type Query<A> = Atom.Atom<AsyncResult.AsyncResult<A, Failure>>

/** What an action got: a value, or why not. */
export type Outcome<A> = { readonly ok: true; readonly value: A } | { readonly ok: false; readonly failure: Failure }

const unexpected = (cause: unknown): Failure => ({ _tag: "Failure", status: 0, text: String(cause) })

/** Runs what a person has asked for. */
export const act = async <A>(effect: Effect.Effect<A, Failure>): Promise<Outcome<A>> => {
  const exit = await Effect.runPromiseExit(effect)
  if (Exit.isSuccess(exit)) return { ok: true, value: exit.value }
  const [reason] = exit.cause.reasons
  const error = reason?._tag === "Fail" ? reason.error : reason
  return { ok: false, failure: isFailure(error) ? error : unexpected(error) }
}

/** A query for each key. Keys are texts, so that the same list is the same atom. */
export const queries = <A>(ask: (key: string) => Effect.Effect<A, Failure>): ((key: string) => Query<A>) =>
  Atom.family((key: string) => Atom.make(ask(key)))

export const query = <A>(effect: Effect.Effect<A, Failure>): Query<A> => Atom.make(effect)

export const refresh = (...atoms: ReadonlyArray<Atom.Atom<unknown>>): void => {
  for (const atom of atoms) registry.refresh(atom)
}

// Loads the package of a key service on first use. Packages of key services are optional peers of this one.
import { Effect } from "effect"
import { SignerUnavailable } from "../SignerBackend.ts"

/** `load` is `() => import(name)`, which bundlers and the compiler can read. */
export const load = <A>(name: string, load: () => Promise<A>): Effect.Effect<A, SignerUnavailable> =>
  Effect.tryPromise({
    try: load,
    catch: () =>
      new SignerUnavailable({
        reason: "not_installed",
        message: `needs the package ${name}, which cannot be loaded: install it next to effect-relayer`
      })
  })

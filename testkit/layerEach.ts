// Tests that change what they share: like `layer` of `@effect/vitest`, except that each test has the services for itself.
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Layer, Scope } from "effect"

interface Methods<R> {
  readonly effect: <A, E>(name: string, self: () => Effect.Effect<A, E, R | Scope.Scope>) => void
  /** By the clock of the machine. */
  readonly live: <A, E>(name: string, self: () => Effect.Effect<A, E, R | Scope.Scope>) => void
}

/** A service with a database takes a tenth of a second; `layer` is for tests that leave everything as it was. */
export const layerEach = <R, E>(services: Layer.Layer<R, E>) => {
  const run = <A, E2>(self: () => Effect.Effect<A, E2, R | Scope.Scope>) =>
    Effect.scoped(Effect.suspend(self)).pipe(Effect.provide(services))
  const methods: Methods<R> = {
    effect: (name, self) => it.effect(name, () => run(self)),
    live: (name, self) => it.live(name, () => run(self))
  }
  return (name: string, define: (it: Methods<R>) => void): void => {
    describe(name, () => define(methods))
  }
}

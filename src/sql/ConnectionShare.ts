// A share of the pool of connections: statements and transactions that run under a share wait until it has a connection left, so
// that they cannot take all connections of the pool.
import { Context, Effect } from "effect"
import type { Scope, Semaphore } from "effect"

/** Semaphores with one permit per connection. `common` is the same for several shares. */
export interface ConnectionShare {
  readonly own: Semaphore.Semaphore
  readonly common: Semaphore.Semaphore
}

/** Absent: the whole pool. It is also absent while a connection of the share is held, so that none is taken twice. */
export const Current = Context.Reference<ConnectionShare | undefined>("effect-relayer/sql/ConnectionShare/Current", {
  defaultValue: () => undefined
})

/** Runs `self` under the share. */
export const under =
  (share: ConnectionShare | undefined) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(self, Current, share)

/** Runs `self`, which uses one connection, when the current share has one left. */
export const hold = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber(({ context }) => {
    const share = Context.get(context, Current)
    if (share === undefined) return self
    return share.own.withPermit(share.common.withPermit(under(undefined)(self)))
  })

/** Waits until the share has a connection left, and counts it until the scope closes. */
export const take = (share: ConnectionShare | undefined): Effect.Effect<void, never, Scope.Scope> =>
  share === undefined ? Effect.void : Effect.andThen(share.own.takeScoped(1), share.common.takeScoped(1))

// Whether the service can be reached.
import { Atom } from "effect/reactivity"
import { now } from "./Clock.ts"
import { registry } from "./Registry.ts"

/** When the service was last reached, and since when it is not. Milliseconds. */
export interface Connection {
  readonly reachedAt?: number
  readonly lostAt?: number
}

export const connection = Atom.keepAlive(Atom.make<Connection>({}))

export const isLost = (): boolean => registry.get(connection).lostAt !== undefined

export const reached = (): void => registry.set(connection, { reachedAt: now() })

export const lost = (): void => {
  const { reachedAt, lostAt } = registry.get(connection)
  registry.set(connection, { ...(reachedAt === undefined ? {} : { reachedAt }), lostAt: lostAt ?? now() })
}

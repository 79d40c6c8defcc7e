// This process as a holder of lanes: its id, its database session, which shows that it lives, and the transactions it has accepted.
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { latestMigration } from "../../sql/migrations/index.ts"
import * as Session from "../../sql/Session.ts"
import { LedgerMemory } from "./memory/LedgerMemory.ts"
import type { LaneId } from "./StoredLane.ts"

/** A transaction that this process has accepted. */
export interface AcceptedHere {
  readonly laneId: LaneId
  readonly number: number
}

type Hear = (accepted: ReadonlyArray<AcceptedHere>) => Effect.Effect<void>

/** Those of this process that listen. */
const listening = () => {
  const listeners = new Set<Hear>()
  const hear: Hear = (rows) => Effect.suspend(() => Effect.forEach(listeners, (hear) => hear(rows), { discard: true }))
  const listen = (hear: Hear) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => listeners.add(hear)),
        () => Effect.sync(() => listeners.delete(hear))
      )
    )
  return { hear, listen }
}

export class Holder extends Context.Service<
  Holder,
  {
    readonly id: string
    /** Calls the listeners after the commit of the running SQL transaction, or at once if none is running. */
    accepted(rows: ReadonlyArray<AcceptedHere>): Effect.Effect<void>
    /** Runs `hear` after each commit of accepted transactions, until the scope closes. `hear` must not wait for anything. */
    listen(hear: Hear): Effect.Effect<void, never, Scope.Scope>
  }
>()("effect-relayer/server/ledger/Holder") {
  static readonly layer = Layer.effect(
    Holder,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const id = randomUUID()
      const { hear, listen } = listening()
      yield* Session.holdLock(sql, Session.lockKeyOf(id), latestMigration)
      return Holder.of({ id, accepted: (rows) => sql.afterCommit(hear(rows)), listen })
    })
  )

  /** A process on tables in memory. It dies when the scope closes. */
  static readonly layerMemory = Layer.effect(
    Holder,
    Effect.gen(function* () {
      const { living } = yield* LedgerMemory
      const id = randomUUID()
      yield* Effect.acquireRelease(
        Effect.sync(() => living.add(id)),
        () => Effect.sync(() => living.delete(id))
      )
      const { hear, listen } = listening()
      return Holder.of({ id, accepted: hear, listen })
    })
  )
}

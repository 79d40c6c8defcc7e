// The contract of the ledger: tests that run on a database and in memory, so that what is shown with the one holds with the other.
import { Context, Effect, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { Rules } from "../../../src/networks/core/Rules.ts"
import type { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import type { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { LedgerMemory } from "../../../src/server/ledger/memory/LedgerMemory.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { ledger, ledgerOf, memory, memoryOf, memoryProcess, process } from "./Fixtures.ts"

/** What a test does to a ledger from the outside. */
export class Backing extends Context.Service<
  Backing,
  {
    /** A further process on the same ledger. It dies when the scope closes. */
    readonly process: Effect.Effect<Context.Context<Ledger | LaneLedger>, never, Scope.Scope>
    /** As if the leases of all lanes had passed. */
    readonly passLeases: Effect.Effect<void>
    /** Marks all open requests as restored. */
    readonly markRestored: Effect.Effect<void>
  }
>()("effect-relayer/test/server/ledger/Contract/Backing") {}

/** The services of a layer have its scope: a process has that of the test. */
const inOwnScope = <A, R>(process: Effect.Effect<A, never, R | Scope.Scope>, services: Context.Context<R>) =>
  Effect.flatMap(Effect.scope, (scope) => process.pipe(Scope.provide(scope), Effect.provideContext(services)))

const onDatabase = Layer.effect(
  Backing,
  Effect.gen(function* () {
    const services = yield* Effect.context<Layer.Success<typeof ledger>>()
    const sql = yield* SqlClient.SqlClient
    return Backing.of({
      process: inOwnScope(process(), services),
      passLeases: Effect.orDie(sql`UPDATE lanes SET held_until = now() - interval '1 second' WHERE holder IS NOT NULL`),
      markRestored: Effect.orDie(sql`UPDATE transactions SET restored = true`)
    })
  })
).pipe(Layer.provideMerge(ledger))

const inMemory = Layer.effect(
  Backing,
  Effect.gen(function* () {
    const services = yield* Effect.context<Layer.Success<typeof memory>>()
    const { rows } = yield* LedgerMemory
    return Backing.of({
      process: inOwnScope(memoryProcess, services),
      passLeases: Effect.sync(() => {
        for (const row of rows.accounts()) {
          if (row.holder !== undefined) rows.setAccount({ ...row, holder: { ...row.holder, until: -Infinity } })
        }
      }),
      markRestored: Effect.sync(() => {
        for (const row of rows.all()) {
          const transaction = { ...row.stored.transaction, restored: true }
          rows.setTransaction({ ...row, stored: { ...row.stored, transaction } })
        }
      })
    })
  })
).pipe(Layer.provideMerge(memory))

type Services = Ledger | LaneLedger | Backing

/** Each ledger by its name. */
export const ledgers: ReadonlyArray<readonly [string, Layer.Layer<Services, SqlError.SqlError>]> = [
  ["on a database", onDatabase],
  ["in memory", inMemory]
]

/** The same with rules of a test, without what `Backing` does. */
export const ledgersOf = (
  ...rules: ReadonlyArray<Rules>
): ReadonlyArray<readonly [string, Layer.Layer<Ledger | LaneLedger, SqlError.SqlError>]> => [
  ["on a database", ledgerOf(...rules)],
  ["in memory", memoryOf(...rules)]
]

type It = Parameters<Parameters<ReturnType<typeof layerEach<Services, never>>>[1]>[0]

/** Runs the tests on each ledger. */
export const contract = (name: string, define: (it: It) => void): void => {
  for (const [kind, layer] of ledgers) layerEach(layer)(`${name}, ${kind},`, define)
}

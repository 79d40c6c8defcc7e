// Finds rows that cannot be verified before a request reads them. Readiness, "needs attention" and a gauge show them.
import { Effect, Layer, Metric } from "effect"
import { Conditions } from "../lifecycle/Lifecycle.ts"
import type { RowName } from "../lifecycle/Lifecycle.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import { RowMacs } from "../secrets/Secrets.ts"
import { authenticatedTables, makeAuthenticatedRepo } from "./ProtectedRowsRepo.ts"
import type { AuthenticatedRow, AuthenticatedTable } from "./ProtectedRowsRepo.ts"

export const unreadableRows = Metric.gauge("unreadable_rows", {
  description: "Rows that cannot be verified, by table. Nothing is done with them until an operator repairs them."
})

/** Rows that are verified with one statement. */
export const batch = 500

/** Batches of a round, which is every ten seconds: 2,000 rows take 20 ms of CPU time. The first round reads all rows. */
const batchesPerRound = 4

/** Names in a line of the log. */
const maxLogged = 20

/** A constant, because readiness needs no API key. */
const reason = "rows of the database cannot be verified"

const nameOf = ({ table, id }: RowName): string => `${table}/${id}`

export const namesOf = (rows: ReadonlyArray<RowName>, most: number): string => {
  const more = rows.length - most
  return rows.slice(0, most).map(nameOf).join(", ") + (more > 0 ? ` and ${more} more` : "")
}

const make = Effect.gen(function* () {
  const repo = yield* makeAuthenticatedRepo
  const macs = yield* RowMacs
  const conditions = yield* Conditions

  /** By name. */
  const known = new Map<string, RowName>()
  /** Where the walk is. The table is one of `authenticatedTables`. */
  const position = { table: 0, after: "" }
  /** The rows of this table that the walk has found. */
  const seen = new Set<string>()
  let isFirst = true

  const isUnreadable = (table: string, { id, content, mac }: AuthenticatedRow) =>
    Effect.map(macs.matches({ table, id, content }, mac), (isVerified) => !isVerified)

  const unreadable = ({ table }: AuthenticatedTable, rows: ReadonlyArray<AuthenticatedRow>) =>
    Effect.filter(rows, (row) => isUnreadable(table, row))

  /** Rows that were repaired or deleted are known at once, wherever the walk is. */
  const recheck = Effect.fnUntraced(function* (authenticated: AuthenticatedTable) {
    const ids = [...known.values()].filter(({ table }) => table === authenticated.table).map(({ id }) => id)
    if (ids.length === 0) return
    const some = ids.slice(0, batch)
    const still = new Set(
      (yield* unreadable(authenticated, yield* repo.among(authenticated, some))).map(({ id }) => id)
    )
    for (const id of some) if (!still.has(id)) known.delete(nameOf({ table: authenticated.table, id }))
  })

  const endTable = ({ table }: AuthenticatedTable) => {
    for (const [name, row] of known) if (row.table === table && !seen.has(name)) known.delete(name)
    seen.clear()
    position.after = ""
    position.table = (position.table + 1) % authenticatedTables.length
  }

  /** One batch. Returns whether the walk has come to the end of the last table. */
  const step = Effect.fnUntraced(function* () {
    const authenticated = authenticatedTables[position.table]
    if (authenticated === undefined) return true
    const { table } = authenticated
    const rows = yield* repo.page(authenticated, position.after, batch)
    for (const { id } of yield* unreadable(authenticated, rows)) {
      const row = { table, id }
      seen.add(nameOf(row))
      known.set(nameOf(row), row)
    }
    const last = rows[batch - 1]
    if (last === undefined) endTable(authenticated)
    else position.after = last.id
    return last === undefined && position.table === 0
  })

  const walk = Effect.fnUntraced(function* () {
    for (let batches = 0; isFirst || batches < batchesPerRound; batches++) {
      const isAtEnd = yield* step()
      yield* Effect.yieldNow
      if (!isAtEnd) continue
      isFirst = false
      return
    }
  })

  /** Names what was found since the last round. The condition is only logged when it begins and ends. */
  const log = (rows: ReadonlyArray<RowName>) =>
    rows.length === 0
      ? Effect.void
      : Effect.annotateLogs(Effect.logError("rows cannot be verified: run effect-relayer repair"), {
          rows: namesOf(rows, maxLogged)
        })

  return Effect.gen(function* () {
    const before = new Set(known.keys())
    for (const authenticated of authenticatedTables) yield* recheck(authenticated)
    yield* walk()
    const rows = [...known.values()]
    for (const { table } of authenticatedTables) {
      const count = rows.filter((row) => row.table === table).length
      yield* Metric.update(Metric.withAttributes(unreadableRows, { table }), count)
    }
    yield* log(rows.filter((row) => !before.has(nameOf(row))))
    yield* conditions.report("rows", rows.length === 0 ? undefined : { reason, details: { rows: rows.length }, rows })
  })
})

/** Looks for such rows until the scope closes. */
export const layer = Layer.effectDiscard(Effect.flatMap(make, (round) => measureGauge(unreadableRows.id, round)))

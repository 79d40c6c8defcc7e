// Walks over the sealed values of all tables and brings them under the current key.
import { Effect, Option } from "effect"
import type { Keyring } from "../secrets/Keyring.ts"
import * as SealedRepo from "./SealedRepo.ts"
import { sealedColumns } from "./SealedRepo.ts"
import type { Sealed, SealedColumn } from "./SealedRepo.ts"

/** Values that are re-wrapped with one statement. */
export const batch = 500

/** How many stale values a walk found, and how many it re-wrapped: fewer if values were locked or have changed. */
export interface Walked {
  readonly found: number
  readonly rewrapped: number
}

const rewrapValue = (keyring: Keyring, { table, column }: SealedColumn, { id, sealed, context }: Sealed) =>
  keyring
    .rewrap(sealed, { table, id, column, ...(context === null ? {} : { context }) })
    .pipe(
      Effect.tapError(() =>
        Effect.annotateLogs(Effect.logError("sealed value cannot be opened"), { table, column, id })
      )
    )

export const make = Effect.gen(function* () {
  const values = yield* SealedRepo.make

  const replace = (column: SealedColumn, changes: ReadonlyArray<SealedRepo.Rewrapped>, takesTurns: boolean) => {
    const { turn } = column
    if (turn === undefined || !takesTurns) return values.replace(column, changes)
    // One row at a time, so that two orders of turns cannot meet.
    return Effect.reduce(
      changes,
      () => 0,
      (count, change) => Effect.map(values.replaceInTurn(column, turn, change), (replaced) => count + replaced)
    )
  }

  /**
   * Re-wraps all stale values once. It fails at a value that cannot be opened, which the log names. `takesTurns`: it waits for the transactions that share locks of
   * rows, which never leave a row free if they overlap. It must not be part of a transaction then.
   */
  return Effect.fnUntraced(function* (keyring: Keyring, takesTurns: boolean) {
    const rewrap = (column: SealedColumn, value: Sealed) =>
      rewrapValue(keyring, column, value).pipe(
        Effect.map((found) =>
          Option.match(found, { onNone: () => [], onSome: (rewrapped) => [{ ...value, rewrapped }] })
        )
      )

    const walked = { found: 0, rewrapped: 0 }
    for (const column of sealedColumns) {
      let last: Sealed | undefined
      do {
        const page = yield* values.stale(column, keyring.header, last?.id ?? "", batch)
        const changes = yield* Effect.forEach(page, (value) => rewrap(column, value))
        if (page.length > 0) walked.rewrapped += yield* replace(column, changes.flat(), takesTurns)
        walked.found += page.length
        last = page[batch - 1]
      } while (last !== undefined)
    }
    return walked
  })
})

// Recognizes that an effect died because a row cannot be verified, or its sealed value does not open. Lists name such rows beside their items.
import { Array, Effect, Exit } from "effect"
import type { Cause } from "effect"
import type { Unreadable } from "../../domain/request/Page.ts"
import { SecretUnreadable } from "./Keyring.ts"
import { RowChanged } from "./RowMacs.ts"

export type ChangedRow = SecretUnreadable | RowChanged

export const inCause = ({ reasons }: Cause.Cause<unknown>): ChangedRow | undefined => {
  for (const reason of reasons) {
    if (reason._tag !== "Die") continue
    const { defect } = reason
    if (defect instanceof SecretUnreadable || defect instanceof RowChanged) return defect
  }
  return undefined
}

interface Split<Row> {
  readonly items: ReadonlyArray<Row>
  readonly unreadable: ReadonlyArray<Unreadable>
}

/** The rows that `verify` accepts, and the others. */
export const split = <Row>(rows: ReadonlyArray<Row>, verify: (row: Row) => Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const exits = yield* Effect.forEach(rows, (row) => Effect.exit(verify(row)))
    const items: globalThis.Array<Row> = []
    const unreadable: globalThis.Array<Unreadable> = []
    for (const [row, exit] of Array.zip(rows, exits)) {
      if (Exit.isSuccess(exit)) items.push(row)
      else {
        const changed = inCause(exit.cause)
        if (changed === undefined) return yield* Effect.failCause(exit.cause)
        unreadable.push({ id: changed.id, reason: changed.message })
      }
    }
    const found: Split<Row> = { items, unreadable }
    return found
  })

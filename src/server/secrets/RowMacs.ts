// Authenticates columns that are not secret but direct how secrets and money are used: a MAC of them is stored in their row.
import { Array, Context, Effect, Exit, Layer, Schema } from "effect"
import type { Cause } from "effect"
import { createHmac, timingSafeEqual } from "node:crypto"
import type { Unreadable } from "../../domain/request/Page.ts"
import { canonicalJson, SecretUnreadable } from "./Secrets.ts"
import { ServiceSecrets } from "./ServiceSecrets.ts"

export interface Row {
  readonly table: string
  readonly id: string
  /** The authenticated columns, as JSON. */
  readonly content: unknown
}

/** Ends a sentence whose subject is a row. */
const cannotBeVerified =
  "cannot be verified: another program or a person changed it in the database, or a defect of an earlier version lost the secret of its MAC"

/** What an operator does, as a part of a sentence. Advice to delete a row would destroy a key that exists nowhere else. */
const repairFirst =
  "`effect-relayer repair` shows the evidence for each cause; restore the row from a backup if it was changed, else confirm it with that command; delete no signer whose key exists nowhere else"

/** The MAC of a row is not that of its columns, or was not made with the secret that is stored now. The two cannot be told apart here. */
class RowChanged extends Schema.TaggedError<RowChanged>()("RowChanged", {
  table: Schema.String,
  id: Schema.String
}) {
  override readonly message = `${JSON.stringify(this.id)} of ${this.table} ${cannotBeVerified}; ${repairFirst}`
}

/** The name of the secret of all MACs. */
export const secretName = "row_macs"

/** HMAC-SHA-256 as base64url. */
export const macOf = (secret: string, { table, id, content }: Row): string =>
  createHmac("sha256", secret)
    .update(canonicalJson([table, id, content]))
    .digest("base64url")

export class RowMacs extends Context.Service<
  RowMacs,
  {
    /** HMAC-SHA-256 as base64url. */
    make(row: Row): Effect.Effect<string>
    /** Whether `mac` is the MAC of the row. */
    matches(row: Row, mac: string | null): Effect.Effect<boolean>
    /** Dies with `RowChanged` if `mac` is not the MAC of the row. */
    verify(row: Row, mac: string | null): Effect.Effect<void>
  }
>()("effect-relayer/server/secrets/RowMacs") {
  static readonly layer = Layer.effect(
    RowMacs,
    Effect.gen(function* () {
      const secrets = yield* ServiceSecrets

      const make = (row: Row) => Effect.map(secrets.get(secretName), (secret) => macOf(secret, row))

      const isEqual = (one: string, other: string) =>
        one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

      const matches = (row: Row, mac: string | null) =>
        Effect.map(make(row), (expected) => mac !== null && isEqual(mac, expected))

      const verify = (row: Row, mac: string | null) =>
        Effect.flatMap(matches(row, mac), (isVerified) =>
          isVerified ? Effect.void : Effect.die(new RowChanged({ table: row.table, id: row.id }))
        )

      return RowMacs.of({ make, matches, verify })
    })
  ).pipe(Layer.provide(ServiceSecrets.layer))
}

// Recognizes that an effect died because a row cannot be verified, or its sealed value does not open. Lists name such rows beside their items.

export type ChangedRow = SecretUnreadable | RowChanged

export const changedRowIn = ({ reasons }: Cause.Cause<unknown>): ChangedRow | undefined => {
  for (const reason of reasons) {
    if (reason._tag !== "Die") continue
    const { defect } = reason
    if (defect instanceof SecretUnreadable || defect instanceof RowChanged) return defect
  }
  return undefined
}

interface VerifiedRows<Row> {
  readonly items: ReadonlyArray<Row>
  readonly unreadable: ReadonlyArray<Unreadable>
}

/** The rows that `verify` accepts, and the others. */
export const splitVerified = <Row>(rows: ReadonlyArray<Row>, verify: (row: Row) => Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const exits = yield* Effect.forEach(rows, (row) => Effect.exit(verify(row)))
    const items: globalThis.Array<Row> = []
    const unreadable: globalThis.Array<Unreadable> = []
    for (const [row, exit] of Array.zip(rows, exits)) {
      if (Exit.isSuccess(exit)) items.push(row)
      else {
        const changed = changedRowIn(exit.cause)
        if (changed === undefined) return yield* Effect.failCause(exit.cause)
        unreadable.push({ id: changed.id, reason: changed.message })
      }
    }
    const found: VerifiedRows<Row> = { items, unreadable }
    return found
  })

// Authenticates columns that are not secret but direct how secrets and money are used: a MAC of them is stored in their row.
import { Context, Effect, Layer, Schema } from "effect"
import { createHmac, timingSafeEqual } from "node:crypto"
import { canonicalJson } from "./Envelope.ts"
import { ServiceSecrets } from "./ServiceSecrets.ts"

export interface Row {
  readonly table: string
  readonly id: string
  /** The authenticated columns, as JSON. */
  readonly content: unknown
}

/** Authenticated columns of a row were changed outside of the service. */
export class RowChanged extends Schema.TaggedError<RowChanged>()("RowChanged", {
  table: Schema.String,
  id: Schema.String
}) {
  override readonly message = `${JSON.stringify(this.id)} of ${this.table} was changed in the database; restore the row from a backup, or delete it and create it again`
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

      const verify = (row: Row, mac: string | null) =>
        Effect.flatMap(make(row), (expected) =>
          mac !== null && isEqual(mac, expected)
            ? Effect.void
            : Effect.die(new RowChanged({ table: row.table, id: row.id }))
        )

      return RowMacs.of({ make, verify })
    })
  ).pipe(Layer.provide(ServiceSecrets.layer))
}

// Which API keys have created which, and the limits of fees that keys share with their descendants: the tables `api_key_descendants` and
// `api_key_fee_limits`, whose rows outlive the keys.
import { DateTime, Effect, Option, Schema } from "effect"
import { TransactionLimits, feeLimitsOf } from "../../domain/transaction/TransactionLimits.ts"
import { ApiKeyIdTaken } from "../../domain/access/ApiKey.ts"
import type { ApiKey, ApiKeyId } from "../../domain/access/ApiKey.ts"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const readCreator = Rows.first(
  Schema.Struct({
    expires_at: Schema.NullOr(Schema.Date),
    ancestors: Schema.Array(Schema.String),
    transaction_limits: Schema.NullOr(TransactionLimits)
  })
)
const readFeeLimits = Rows.all(Schema.Struct({ id: Schema.String, maximum: Schema.BigIntFromString }))
const readCreated = Rows.one(Schema.Struct({ created: Rows.Integer }))

/** A key whose fees per day on networks of a type are limited, together with those of its descendants. Smallest unit. */
export interface FeeLimit {
  readonly keyId: string
  readonly networkType: string
  readonly maximum: bigint
}

/** What limits the keys that an API key creates. */
export interface Creator {
  readonly expires_at: DateTime.Utc | undefined
  readonly transaction_limits: TransactionLimits | undefined
  /** API keys from the first one down to the creator's own. */
  readonly ancestors: ReadonlyArray<string>
  /** Keys that are not revoked and that the first of the ancestors has created, directly or through others. */
  readonly created: number
}

export const make = Effect.gen(function* () {
  const sql = yield* client

  const add = (id: ApiKeyId, ancestors: ReadonlyArray<string>) =>
    sql`INSERT INTO api_key_descendants (ancestor, id) SELECT ancestor, ${id} FROM unnest(${ancestors}::text[]) AS given (ancestor)`

  const addFeeLimits = ({ id, transaction_limits }: ApiKey) => {
    const limits = feeLimitsOf(transaction_limits)
    const types = limits.map(({ type }) => type)
    const maxima = limits.map(({ maximum }) => String(maximum))
    return limits.length === 0
      ? Effect.void
      : Effect.asVoid(sql`
          INSERT INTO api_key_fee_limits (key_id, network_type, maximum)
          SELECT ${id}, type, maximum FROM unnest(${types}::text[], ${maxima}::numeric[]) AS given (type, maximum)`)
  }

  const replaceFeeLimits = (key: ApiKey) =>
    Effect.andThen(sql`DELETE FROM api_key_fee_limits WHERE key_id = ${key.id}`, addFeeLimits(key))

  /** Limits and descendants outlive a key: another key of its id would get them. */
  const checkUnused = (id: ApiKeyId) =>
    sql`
      SELECT 1 WHERE EXISTS (SELECT 1 FROM api_key_fee_limits WHERE key_id = ${id})
        OR EXISTS (SELECT 1 FROM api_key_descendants WHERE id = ${id} OR ancestor = ${id})`.pipe(
      Effect.flatMap((rows) => (rows.length === 0 ? Effect.void : Effect.fail(new ApiKeyIdTaken({}))))
    )

  /** The limits of fees per day on networks of a type, of the key and of the keys that it descends from. They outlive the keys. */
  const feeLimits = (id: string, networkType: string) =>
    sql`
      SELECT l.key_id AS id, l.maximum::text AS maximum FROM api_key_fee_limits l
      WHERE l.network_type = ${networkType} AND l.key_id IN (SELECT ${id} UNION ALL SELECT d.ancestor FROM api_key_descendants d WHERE d.id = ${id})
      ORDER BY l.key_id`.pipe(
      Effect.flatMap(readFeeLimits),
      Effect.map((rows) => rows.map(({ id: keyId, maximum }): FeeLimit => ({ keyId, networkType, maximum }))),
      query("KeyLineageRepo.feeLimits")
    )

  /** Rows of descendants outlive their keys. */
  const descendsFrom = (id: string, ancestor: string) =>
    sql`SELECT 1 FROM api_key_descendants WHERE ancestor = ${ancestor} AND id = ${id}`.pipe(
      Effect.map((rows) => rows.length > 0),
      query("KeyLineageRepo.descendsFrom")
    )

  /**
   * Locks its row, and that of its first ancestor, until the transaction ends. None if the caller is no API key. Several
   * statements: the count must include the keys of requests that held the lock before.
   */
  const holdCreator = (id: string) =>
    Effect.gen(function* () {
      const first = firstAncestor(id)
      yield* sql`SELECT 1 FROM api_keys WHERE id = ${id} OR id = ${first} ORDER BY seq FOR UPDATE`
      return yield* readCreatorOf(id)
    }).pipe(query("KeyLineageRepo.holdCreator"))

  const firstAncestor = (id: string) => sql`(SELECT coalesce(ancestors[1], id) FROM api_keys WHERE id = ${id})`

  /** The same without locks. */
  const findCreator = (id: string) => readCreatorOf(id).pipe(query("KeyLineageRepo.findCreator"))

  const readCreatorOf = (id: string) =>
    Effect.gen(function* () {
      const found = yield* readCreator(
        yield* sql`SELECT expires_at, ancestors, transaction_limits FROM api_keys WHERE id = ${id}`
      )
      const { created } = yield* readCreated(
        yield* sql`SELECT count(*) AS created FROM api_keys WHERE ancestors @> ARRAY[${firstAncestor(id)}]`
      )
      return Option.map(found, ({ expires_at, ancestors, transaction_limits }): Creator => ({
        transaction_limits: transaction_limits ?? undefined,
        ancestors,
        expires_at: expires_at === null ? undefined : DateTime.fromDateUnsafe(expires_at),
        created
      }))
    })

  return { add, addFeeLimits, replaceFeeLimits, checkUnused, feeLimits, descendsFrom, holdCreator, findCreator }
})

// The table `signatures_given`.
import { Duration, Effect, Schema } from "effect"
import { Hex } from "effect/encoding"
import type { SqlClient } from "effect/sql"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import type { LaneKey } from "../../../domain/transaction/Rules.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import type { GivenPlace, GivenSignature } from "../GivenSignature.ts"
import type { Account } from "../NewTransaction.ts"
import type { LaneId } from "../StoredLane.ts"

const Stored = Schema.Struct({ hash: Schema.String, raw: Schema.Uint8Array, relayer_number: Schema.Int })

const readStored = Rows.first(Stored)
const readOffers = Rows.all(Schema.Struct({ identity: Schema.String, hash: Schema.String, offer: Schema.Unknown }))
const readPlaces = Rows.all(
  Schema.Struct({ hash: Schema.String, sequence: Schema.BigIntFromString, valid_until: Schema.Finite })
)

/** Signatures of one account that a lane looks at: those with the lowest sequences come next. */
export const maxPlaces = 100

const readHashes = Rows.all(Schema.Struct({ hash: Schema.String }))

/**
 * Fees and value that signatures that were given can take from the balance of a lane `l`. Null: none can land any more. `height`: one that the chain
 * has passed, if it is above that of the lane.
 */
export const costOf = (sql: SqlClient.SqlClient, height = 0) => sql`(
  SELECT sum(g.fee + g.outflow) FROM signatures_given g WHERE g.chain = l.chain AND g.address = l.address
    AND (g.valid_until > now() OR g.last_height >= greatest(coalesce(l.chain_block, 0), ${height}::bigint))
)`

export const make = Effect.gen(function* () {
  const sql = yield* client
  const lane = ({ chain, address }: LaneKey) => sql`l.chain = ${chain} AND l.address = ${address}`
  const moment = (at: Moment | null) => sql`to_timestamp(${at}::float8 / 1000)`

  /** In the present generation of the lane. */
  const find = (key: LaneKey, identity: string) =>
    sql`
      SELECT g.hash, g.raw, g.relayer_number::float8 AS relayer_number FROM lanes l
      JOIN signatures_given g ON g.generation = l.generation AND g.identity = ${identity} WHERE ${lane(key)}`.pipe(
      Effect.flatMap(readStored),
      query("GivenRepo.find")
    )

  /** What attempts with these bytes would offer, as it is stored, by identity. In the present generation of the lane. */
  const offers = (key: LaneKey, ids: ReadonlyArray<string>) =>
    sql`
      SELECT g.identity, g.hash, g.offer FROM lanes l
      JOIN signatures_given g ON g.generation = l.generation AND g.identity = ANY(${ids}::text[])
      WHERE ${lane(key)} AND g.chain = l.chain AND g.address = l.address AND g.offer IS NOT NULL`.pipe(
      Effect.flatMap(readOffers),
      Effect.map((rows) => new Map(rows.map(({ identity, ...given }) => [identity, given]))),
      query("GivenRepo.offers")
    )

  /** False if another row has the identity. The lane exists. */
  const insert = (
    account: Account,
    keyId: string,
    { identity, hash, raw, fee, end, outflow = 0n, sequence }: GivenSignature,
    offer: string | undefined,
    now: Moment
  ) => {
    const { validUntil = null, lastHeight = null } = { validUntil: undefined, lastHeight: undefined, ...end }
    return sql`
      INSERT INTO signatures_given (
        relayer_number, key_id, chain, address, generation, identity, hash, raw, fee, valid_until, last_height, offer, outflow, sequence, created_at
      )
      SELECT ${account.relayerNumber}::bigint, ${keyId}::text, l.chain, l.address, l.generation, ${identity ?? null}::text,
        ${hash}::text, ${`\\x${Hex.encode(raw)}`}::bytea, ${String(fee)}::numeric, ${moment(validUntil)},
        ${lastHeight}::bigint, ${offer ?? null}::jsonb, ${String(outflow)}::numeric,
        ${sequence === undefined ? null : String(sequence)}::numeric, ${moment(now)}
      FROM lanes l WHERE ${lane(account)}
      ON CONFLICT DO NOTHING RETURNING id`.pipe(
      Effect.map((rows) => rows.length === 1),
      query("GivenRepo.insert")
    )
  }

  /** Those of the hashes that were given. */
  const among = (hashes: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>> =>
    hashes.length === 0
      ? Effect.succeed(new Set())
      : sql`SELECT g.hash FROM signatures_given g WHERE g.hash = ANY(${hashes}::text[])`.pipe(
          Effect.flatMap(readHashes),
          Effect.map((rows) => new Set(rows.map(({ hash }) => hash))),
          query("GivenRepo.among")
        )

  /** Those that can land at `now` at a sequence of the lane's own account that is not used yet, the lowest sequence first. */
  const places = (lane: LaneId, now: Moment) =>
    sql`
      SELECT g.hash, g.sequence::text AS sequence, (extract(epoch FROM g.valid_until) * 1000)::float8 AS valid_until
      FROM lanes l JOIN signatures_given g ON g.chain = l.chain AND g.address = l.address AND g.generation = l.generation
      WHERE l.id = ${lane}::bigint AND g.sequence >= l.settled_nonce AND g.valid_until > ${moment(now)}
      ORDER BY g.sequence, g.id LIMIT ${maxPlaces}`.pipe(
      Effect.flatMap(readPlaces),
      Effect.map((rows) =>
        rows.map(({ hash, sequence, valid_until }): GivenPlace => ({ hash, sequence, validUntil: valid_until }))
      ),
      query("GivenRepo.places")
    )

  /** Deletes at most `limit` rows that were given longer than `age` ago and count nowhere. Returns how many. */
  const prune = (age: Duration.Input, limit: number) =>
    sql`
      DELETE FROM signatures_given WHERE id = ANY(ARRAY(
        SELECT g.id FROM signatures_given g LEFT JOIN lanes l ON l.chain = g.chain AND l.address = g.address
        WHERE g.created_at < now() - ${Duration.toSeconds(Duration.fromInputUnsafe(age))}::float8 * interval '1 second'
          AND (g.valid_until <= now() OR g.last_height < coalesce(l.chain_block, 0))
        ORDER BY g.created_at LIMIT ${limit} FOR UPDATE OF g SKIP LOCKED
      )) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("GivenRepo.prune")
    )

  return { find, offers, insert, among, places, prune }
})

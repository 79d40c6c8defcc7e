// Finds transactions that a new one cannot stand beside: those with the same bytes, and open ones that exclude it.
import { Effect, Schema } from "effect"
import type { LaneKey } from "../../../domain/transaction/Rules.ts"
import { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import type { NewTransaction } from "../NewTransaction.ts"

/** The identity of a transaction that is not accepted yet, and the lane that it is for. */
export interface LaneIdentity extends LaneKey {
  readonly identity: string
}

/** As `NewTransaction` has them. */
export type Identified = Partial<Pick<NewTransaction, "id" | "identity" | "exclusive">>

const Rival = Schema.Struct({
  kind: Schema.Literals(["identity", "exclusive"]),
  id: TransactionId,
  relayer_number: Schema.Int
})
export type Rival = typeof Rival.Type

const readRivals = Rows.all(Rival)
const readIdentities = Rows.all(Schema.Struct({ identity: Schema.String }))

const given = (values: ReadonlyArray<string | undefined>) => values.filter((value) => value !== undefined)

export const make = Effect.gen(function* () {
  const sql = yield* client

  /**
   * Stored transactions that conflict with the added ones: by the unique index of `identity` in the generation of the lane, by that
   * of `exclusive`, or because an attempt contains the same inner bytes and may be, or was, executed. A transaction does not conflict
   * with itself.
   */
  const rivals = Effect.fnUntraced(function* ({ chain, address }: LaneKey, added: ReadonlyArray<Identified>) {
    const identities = given(added.map(({ identity }) => identity))
    const exclusives = given(added.map(({ exclusive }) => exclusive))
    if (identities.length === 0 && exclusives.length === 0) return []
    const own = given(added.map(({ id }) => id))
    return yield* sql`
      WITH lane AS (SELECT l.id, l.generation FROM lanes l WHERE l.chain = ${chain} AND l.address = ${address})
      SELECT 'identity' AS kind, t.id, t.relayer_number::float8 AS relayer_number FROM transactions t
      WHERE t.generation = coalesce((SELECT generation FROM lane), 0) AND t.identity = ANY(${identities}::text[])
        AND t.id <> ALL(${own}::uuid[])
      UNION ALL
      SELECT 'identity', t.id, t.relayer_number::float8 FROM attempts a JOIN transactions t ON t.id = a.transaction_id
      WHERE (a.offer ->> 'innerHash') IS NOT NULL AND (a.offer ->> 'innerHash') = ANY(${identities}::text[])
        AND (t.final_at IS NULL OR t.mined_attempt IS NOT NULL) AND t.id <> ALL(${own}::uuid[])
      UNION ALL
      SELECT 'exclusive' AS kind, t.id, t.relayer_number::float8 AS relayer_number FROM transactions t JOIN lane ON lane.id = t.lane_id
      WHERE t.exclusive = ANY(${exclusives}::text[]) AND t.final_at IS NULL AND t.id <> ALL(${own}::uuid[])`.pipe(
      Effect.flatMap(readRivals),
      query("IdentitiesRepo.rivals")
    )
  })

  /**
   * Identities that a stored transaction, an attempt or a signature that a caller got has, in the generation of the lane or around the
   * same inner bytes. A transaction can be accepted beside some of them: `rivals` decides.
   */
  const taken = Effect.fnUntraced(function* (added: ReadonlyArray<LaneIdentity>) {
    const identities = added.map(({ identity }) => identity)
    const rows = yield* sql`
      WITH given AS (
        SELECT g.identity, coalesce(l.generation, 0) AS generation
        FROM unnest(${added.map(({ chain }) => chain)}::text[], ${added.map(({ address }) => address)}::text[], ${identities}::text[])
          AS g (chain, address, identity)
        LEFT JOIN lanes l ON l.chain = g.chain AND l.address = g.address
      )
      SELECT g.identity FROM given g JOIN transactions t ON t.generation = g.generation AND t.identity = g.identity
      UNION ALL
      SELECT g.identity FROM given g JOIN signatures_given s ON s.generation = g.generation AND s.identity = g.identity
      UNION ALL
      SELECT a.offer ->> 'innerHash' FROM attempts a
      WHERE (a.offer ->> 'innerHash') IS NOT NULL AND (a.offer ->> 'innerHash') = ANY(${identities}::text[])`.pipe(
      Effect.flatMap(readIdentities),
      query("IdentitiesRepo.taken")
    )
    return rows.map(({ identity }) => identity)
  })

  /**
   * Locks identities until the running transaction ends: a signature that a caller gets and a transaction with the same bytes are
   * stored one after the other.
   */
  const lock = (identities: ReadonlyArray<string>) =>
    identities.length === 0
      ? Effect.void
      : sql`
          SELECT pg_advisory_xact_lock(hashtextextended(identity, 0)) FROM (
            SELECT DISTINCT identity FROM unnest(${identities}::text[]) AS given(identity) ORDER BY identity
          ) sorted`.pipe(Effect.asVoid, query("IdentitiesRepo.lock"))

  /**
   * The transaction that has a signature as one of its attempts, in the generation of the lane, if it is open or was executed. Its
   * bytes can be ones that the service built, so that it has no identity.
   */
  const signedAs = ({ chain, address }: LaneKey, hash: string) =>
    sql`
      SELECT 'identity' AS kind, t.id, t.relayer_number::float8 AS relayer_number
      FROM lanes l JOIN transactions t ON t.lane_id = l.id JOIN attempts a ON a.transaction_id = t.id
      WHERE a.hash = ${hash}::text AND a.generation = l.generation AND l.chain = ${chain} AND l.address = ${address}
        AND (t.final_at IS NULL OR t.mined_attempt IS NOT NULL)
      LIMIT 1`.pipe(Effect.flatMap(readRivals), query("IdentitiesRepo.signedAs"))

  return { rivals, taken, signedAs, lock }
})

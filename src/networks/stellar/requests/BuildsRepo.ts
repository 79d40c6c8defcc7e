// The table `sponsored_builds`: calls that the service built for users, as long as they can be sent.
import { Effect, Option, Schema } from "effect"
import * as Rows from "../../../sql/Rows.ts"
import { client, query } from "../../../sql/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import type { BuiltCall } from "../rules/SponsoredPayment.ts"

const readFacts = Rows.first(Schema.Struct({ facts: Schema.Struct({ entry: Schema.String }) }))

/** Milliseconds for which a build can be sent. */
const lifetime = 300_000

/** A build of a relayer. `hash`: hex, of the envelope without its sequence. */
interface Key {
  readonly relayerNumber: number
  readonly hash: string
}

export const make = Effect.gen(function* () {
  const sql = yield* client
  const moment = (at: Moment) => sql`to_timestamp(${at}::float8 / 1000)`

  /** Undefined: the relayer has no such build, or it has expired. */
  const find = ({ hash, relayerNumber }: Key, now: Moment): Effect.Effect<BuiltCall | undefined> =>
    sql`
      SELECT facts FROM sponsored_builds
      WHERE hash = decode(${hash}, 'hex') AND relayer_number = ${relayerNumber}::bigint AND expires_at > ${moment(now)}`.pipe(
      Effect.flatMap(readFacts),
      Effect.map((row) => Option.getOrUndefined(row)?.facts),
      query("BuildsRepo.find")
    )

  /** Deletes what has expired, too. The same build is stored once: its entry has a random number. */
  const insert = ({ hash, relayerNumber }: Key, built: BuiltCall, now: Moment): Effect.Effect<void> =>
    sql`
      WITH expired AS (DELETE FROM sponsored_builds WHERE expires_at <= ${moment(now)})
      INSERT INTO sponsored_builds (hash, relayer_number, expires_at, facts)
      VALUES (decode(${hash}, 'hex'), ${relayerNumber}::bigint, ${moment(now + lifetime)}, ${JSON.stringify(built)}::jsonb)`.pipe(
      Effect.asVoid,
      query("BuildsRepo.insert")
    )

  return { find, insert }
})

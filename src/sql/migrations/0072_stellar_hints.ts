// Finds stellar accounts of the service by the letters of their addresses that the hint of a signature has.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // Letters 48 to 52, counted from 1 as SQL does; `hintLetters` in `StellarSignatures.ts` counts from 0. Accounts of other networks are left out.
    yield* sql`
      CREATE INDEX relayers_hint_idx ON relayers (substr(address, 48, 5)) WHERE network_type = 'stellar'`
    yield* sql`
      CREATE INDEX lanes_hint_idx ON lanes (substr(address, 48, 5)) WHERE starts_with(chain, 'stellar:')`
  })
)

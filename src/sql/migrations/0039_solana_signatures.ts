// Makes the signatures of solana unique. Equal bytes execute once, so two transactions with one signature would both be reported as
// executed.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Migration from "./Migration.ts"

export default Migration.make(
  "compatible",
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    // Only signatures of solana are longer than 66 characters: they have 87 or 88, and hashes of the other networks at most 66.
    // A fork of an evm chain can have the hash of an attempt of another chain, so those stay as they are.
    yield* sql`CREATE UNIQUE INDEX attempts_signature_key ON attempts (hash) WHERE length(hash) > 66`
  })
)

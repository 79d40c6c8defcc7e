// Several relayers may use one signer on one network.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE relayers DROP CONSTRAINT relayers_signer_network_key`
  // The relayers of a signer: for the filter of lists, and for the foreign key when a signer is deleted.
  yield* sql`CREATE INDEX relayers_signer_id_idx ON relayers (signer_id, seq)`
})

// A PostgreSQL that refuses to name itself.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The `search_path` of a connection that calls the function of `create` instead of the one of the server. */
export const searchPath = "refusing,pg_catalog,public"

/** Adds a function that hides the identity of the server from connections with `searchPath`: it fails with `state`, an SQLSTATE. */
export const create = Effect.fnUntraced(function* (state: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE SCHEMA refusing`
  yield* sql`
    CREATE FUNCTION refusing.pg_control_system() RETURNS TABLE (system_identifier bigint) LANGUAGE plpgsql
    AS ${sql.literal(`'BEGIN RAISE EXCEPTION ''too many sessions'' USING ERRCODE = ''${state}''; END'`)}`
})

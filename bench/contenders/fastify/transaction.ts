// Runs a transaction, and turns violated constraints into failures with a status.
import { DatabaseError } from "pg"
import type { Pool, PoolClient } from "pg"
import { Failure } from "./failures.ts"

const conflicts: Record<string, Failure> = {
  relayers_pkey: new Failure(409, "Relayer with this ID already exists")
}

export const transaction = async <A>(pool: Pool, run: (client: PoolClient) => Promise<A>): Promise<A> => {
  const client = await pool.connect()
  try {
    await client.query("BEGIN")
    const result = await run(client)
    await client.query("COMMIT")
    return result
  } catch (error) {
    await client.query("ROLLBACK")
    throw error instanceof DatabaseError ? (conflicts[error.constraint ?? ""] ?? error) : error
  } finally {
    client.release()
  }
}

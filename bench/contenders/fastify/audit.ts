// Chains the records of the audit log after the creates have committed, as the service does: in batches, one at a time.
import type { Pool } from "pg"
import { chain } from "../../../src/server/audit/Chain.ts"
import type { ChainedRow } from "../../../src/server/audit/Chain.ts"

export interface Audit {
  /** Schedules the chaining of new records. */
  changed(): void
}

const gather = 200
const batch = 1000

const unlinked = {
  name: "unlinked",
  text: `
    SELECT id::text AS id, (extract(epoch FROM at) * 1000000)::bigint::text AS at_micros, key_id, action, resource,
      resource_id, request_id, before::text AS before, after::text AS after
    FROM audit WHERE position IS NULL ORDER BY audit.id LIMIT $1`
}

const head = {
  name: "head",
  text: "SELECT position, hash FROM audit WHERE position IS NOT NULL ORDER BY position DESC LIMIT 1"
}

const update = {
  name: "link",
  text: `
    UPDATE audit SET position = link.position, hash = decode(link.hash, 'hex')
    FROM json_to_recordset($1::text::json) AS link (id bigint, position bigint, hash text)
    WHERE audit.id = link.id`
}

export const audit = (pool: Pool): Audit => {
  let timer: NodeJS.Timeout | undefined

  /** Chains one batch and returns the number of records in it. */
  const link = async (): Promise<number> => {
    const client = await pool.connect()
    try {
      await client.query("BEGIN")
      await client.query("SELECT pg_advisory_xact_lock(7226801141)")
      const { rows } = await client.query<ChainedRow>({ ...unlinked, values: [batch] })
      const [last] = (await client.query<{ position: number; hash: Uint8Array }>(head)).rows
      const links = chain(rows, last).map(({ position, hash }, index) => ({
        id: rows[index]?.id,
        position,
        hash: Buffer.from(hash).toString("hex")
      }))
      await client.query({ ...update, values: [JSON.stringify(links)] })
      await client.query("COMMIT")
      return rows.length
    } finally {
      client.release()
    }
  }

  const run = async () => {
    timer = undefined
    while ((await link()) === batch);
  }

  return { changed: () => void (timer ??= setTimeout(() => void run(), gather)) }
}

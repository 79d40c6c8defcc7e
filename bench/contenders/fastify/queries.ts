// The service's SQL, as named statements, and its rows as relayers.

const columns = `t.id, t.name, t.network_type, t.network, t.address, t.paused, t.system_disabled, t.disabled_reason,
  t.signer_id, t.notification_id, t.policies, t.custom_rpc_urls`

const pageWhere = (total: string, where: string, offset: string) => `
  SELECT counted.total, page.seq AS seq, ${columns}
  FROM (SELECT ${total} AS total) counted
  LEFT JOIN (SELECT t.seq FROM relayers t WHERE ${where} ORDER BY t.seq LIMIT $1 ${offset}) page ON true
  LEFT JOIN relayers t ON t.seq = page.seq
  ORDER BY t.seq`

/** Limit, offset. */
export const page = {
  name: "page",
  text: pageWhere("(SELECT sum(count)::bigint FROM relayer_counts)", "true", "OFFSET $2")
}

/** Limit, sequence, total. */
export const pageAfter = { name: "pageAfter", text: pageWhere("$3::bigint", "t.seq > $2", "") }

/** Id. */
export const one = { name: "one", text: `SELECT ${columns}, t.version FROM relayers t WHERE t.id = $1` }

/** Id, name, network, paused, policies, signer. */
export const insert = {
  name: "insert",
  text: `
    INSERT INTO relayers AS t (id, name, network_type, network, address, paused, signer_id, policies)
    SELECT $1, $2, 'evm', $3, s.evm_address, $4, s.id, $5::text::jsonb
    FROM signers s WHERE s.id = $6 AND s.evm_address IS NOT NULL
    RETURNING ${columns}, t.version`
}

/** Id, request, relayer as JSON. */
export const record = {
  name: "record",
  text: `
    INSERT INTO audit (key_id, action, resource, resource_id, request_id, before, after)
    VALUES ('administrator', 'relayer.created', 'relayer', $1, $2, NULL, $3::text::json)`
}

/** Id, request, relayer as JSON. */
export const tell = {
  name: "tell",
  text: `
    INSERT INTO events (type, resource_id, request_id, data)
    VALUES ('relayer.created', $1, $2, $3::text::json) RETURNING id`
}

export interface RelayerRow {
  readonly version: number
  readonly disabled_reason: object | null
  readonly notification_id: string | null
  readonly policies: object | null
  readonly custom_rpc_urls: ReadonlyArray<object> | null
  readonly [column: string]: unknown
}

/** Without what is not set; the answer's schema knows which columns are shown. */
export const toRelayer = (row: RelayerRow) => ({
  ...row,
  disabled_reason: row.disabled_reason ?? undefined,
  notification_id: row.notification_id ?? undefined,
  policies: row.policies ?? undefined,
  custom_rpc_urls: row.custom_rpc_urls ?? undefined
})

// The service's SQL as named statements, and the conversion of rows to relayers.

const columns = `t.id, t.name, t.network_type, t.network, t.address, t.paused, t.system_disabled, t.disabled_reason,
  t.signer_id, t.notification_id, t.policies, t.custom_rpc_urls`

const pageWhere = (total: string, where: string, offset: string) => `
  SELECT counted.total, page.seq AS seq, ${columns}
  FROM (SELECT ${total} AS total) counted
  LEFT JOIN (SELECT t.seq FROM relayers t WHERE ${where} ORDER BY t.seq LIMIT $1 ${offset}) page ON true
  LEFT JOIN relayers t ON t.seq = page.seq
  ORDER BY t.seq`

/** Parameters: limit, offset. */
export const page = {
  name: "page",
  text: pageWhere("(SELECT sum(count)::bigint FROM relayer_counts)", "true", "OFFSET $2")
}

/** Parameters: limit, sequence number, total. */
export const pageAfter = { name: "pageAfter", text: pageWhere("$3::bigint", "t.seq > $2", "") }

/** Parameter: id. */
export const one = { name: "one", text: `SELECT ${columns}, t.version FROM relayers t WHERE t.id = $1` }

/** Parameters: id, name, network, paused, policies, signer id. */
export const insert = {
  name: "insert",
  text: `
    INSERT INTO relayers AS t (id, name, network_type, network, address, paused, signer_id, policies)
    SELECT $1, $2, 'evm', $3, s.evm_address, $4, s.id, $5::text::jsonb
    FROM signers s WHERE s.id = $6 AND s.evm_address IS NOT NULL
    RETURNING ${columns}, t.version`
}

/** Parameters: id, request id, relayer as JSON. */
export const record = {
  name: "record",
  text: `
    INSERT INTO audit (key_id, action, resource, resource_id, request_id, before, after)
    VALUES ('administrator', 'relayer.created', 'relayer', $1, $2, NULL, $3::text::json)`
}

/** Parameters: id, request id, relayer as JSON. */
export const publish = {
  name: "publish",
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

/** `undefined` omits a field that is not set. The schema of the response omits columns that are not public. */
export const toRelayer = (row: RelayerRow) => ({
  ...row,
  disabled_reason: row.disabled_reason ?? undefined,
  notification_id: row.notification_id ?? undefined,
  policies: row.policies ?? undefined,
  custom_rpc_urls: row.custom_rpc_urls ?? undefined
})

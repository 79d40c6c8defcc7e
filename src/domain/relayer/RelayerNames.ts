// How the audit log, events and scopes name relayers.

export const auditResource = "relayer"

export const actions = [
  "relayer.created",
  "relayer.updated",
  "relayer.deleted",
  "relayer.message_signed",
  "relayer.typed_data_signed"
] as const

export const eventTypes = [
  "relayer.created",
  "relayer.updated",
  "relayer.deleted",
  "relayer.paused",
  "relayer.resumed",
  "relayer.disabled",
  "relayer.enabled",
  "relayer.degraded",
  "relayer.recovered",
  "relayer.low_balance"
] as const

export const scopes = ["relayers:read", "relayers:write"] as const

/** Scopes that a key limited to some relayers may hold. */
export const narrowableScopes = ["relayers:read", "relayers:write"] as const

export const allScopes = "relayers:*"

// How the audit log, events and scopes name notifications.

export const auditResource = "notification"

export const actions = [
  "notification.created",
  "notification.updated",
  "notification.deleted",
  "notification.delivery_retried",
  "notification.deliveries_replayed",
  "notification.tested"
] as const

export const eventTypes = [
  "notification.created",
  "notification.updated",
  "notification.deleted",
  "notification.paused"
] as const

export const scopes = ["notifications:read", "notifications:write"] as const

/** Scopes that a key limited to some relayers may hold. It sees only the notifications of these relayers. */
export const narrowableScopes = ["notifications:read"] as const

export const allScopes = "notifications:*"

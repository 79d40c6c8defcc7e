// How the audit log, events and scopes name API keys.

export const auditResource = "key"

export const actions = ["key.created", "key.rotated", "key.deleted", "key.refused"] as const

export const eventTypes = ["key.created", "key.rotated", "key.deleted"] as const

export const scopes = ["api-keys:read", "api-keys:write"] as const

export const allScopes = "api-keys:*"

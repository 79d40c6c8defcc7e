// How the audit log, events and scopes name the master key.

export const auditResource = "master_key"

export const actions = ["master_key.rotated"] as const

export const eventTypes = ["master_key.rotated"] as const

export const scopes = ["master-key:write"] as const

export const allScopes = "master-key:*"

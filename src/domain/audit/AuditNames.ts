// How the audit log names its own changes, and how scopes name the audit log.

export const auditResource = "audit"

export const actions = ["audit.checkpoint_created", "audit.pruned"] as const

export const scopes = ["audit:read", "audit:write"] as const

export const allScopes = "audit:*"

// How scopes name the audit log.

export const scopes = ["audit:read"] as const

export const allScopes = "audit:*"

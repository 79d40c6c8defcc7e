// How scopes name events.

export const scopes = ["events:read"] as const

export const allScopes = "events:*"

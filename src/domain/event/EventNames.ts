// How scopes name events.

export const scopes = ["events:read"] as const

/** Scopes that a key limited to some relayers may hold. It sees only the events of these relayers. */
export const narrowableScopes = ["events:read"] as const

export const allScopes = "events:*"

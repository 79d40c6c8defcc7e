// How the audit log, events and scopes name networks.

export const auditResource = "network"

export const actions = ["network.created", "network.updated", "network.deleted"] as const

export const eventTypes = ["network.created", "network.updated", "network.deleted"] as const

export const scopes = ["networks:read", "networks:write"] as const

export const allScopes = "networks:*"

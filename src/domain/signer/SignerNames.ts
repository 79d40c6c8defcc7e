// How the audit log, events and scopes name signers.

export const auditResource = "signer"

export const actions = [
  "signer.created",
  "signer.verified",
  "signer.disabled",
  "signer.enabled",
  "signer.deleted"
] as const

export const eventTypes = ["signer.created", "signer.disabled", "signer.enabled", "signer.deleted"] as const

export const scopes = ["signers:read", "signers:write"] as const

export const allScopes = "signers:*"

// How the audit log, events and scopes name transactions.

/** The nonces of a lane are a resource of their own: an operator decides about all of its transactions. */
export const auditResources = ["transaction", "nonce"] as const

export const actions = [
  "transaction.sent",
  "transaction.replaced",
  "transaction.canceled",
  "transaction.signed",
  "nonce.resynced",
  "nonce.cleared",
  "nonce.generation_begun"
] as const

export const eventTypes = [
  "transaction.created",
  "transaction.signed",
  "transaction.submitted",
  "transaction.replaced",
  "transaction.held",
  "transaction.mined",
  "transaction.reorged",
  "transaction.reorged_final",
  "transaction.confirmed",
  "transaction.failed",
  "transaction.canceled",
  "transaction.expired"
] as const

export const scopes = ["transactions:read", "transactions:write", "transactions:sign", "rpc:call"] as const

/** Scopes that a key limited to some relayers may hold. */
export const narrowableScopes = [...scopes] as const

/** Reading and writing. */
export const allScopes = "transactions:*"

/** A raw signature can move everything, so `transactions:*` does not include it. */
export const onlyByName = ["transactions:sign"] as const

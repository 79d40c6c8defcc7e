// How scopes, the audit log and events name each kind of resource: a new kind is one row. It imports nothing, because receivers of
// webhooks without Effect use it. Documents list the names in this order.

interface Names {
  /** In audit records. */
  readonly auditResource: ReadonlyArray<string>
  /** What callers do to it, in audit records. */
  readonly actions: ReadonlyArray<string>
  readonly eventTypes: ReadonlyArray<string>
  readonly scopes: ReadonlyArray<string>
  /** The grant of all scopes, except for those that are granted only by name. */
  readonly allScopes: ReadonlyArray<string>
  readonly onlyByName: ReadonlyArray<string>
  /** Scopes that a key limited to some relayers may hold. It sees only what belongs to these relayers. */
  readonly narrowable: ReadonlyArray<string>
}

export const resources = {
  relayer: {
    auditResource: ["relayer"],
    actions: [
      "relayer.created",
      "relayer.updated",
      "relayer.deleted",
      "relayer.repaired",
      "relayer.message_signed",
      "relayer.typed_data_signed",
      "relayer.delegated",
      "relayer.undelegated"
    ],
    eventTypes: [
      "relayer.created",
      "relayer.updated",
      "relayer.deleted",
      "relayer.paused",
      "relayer.resumed",
      "relayer.disabled",
      "relayer.enabled",
      "relayer.degraded",
      "relayer.recovered",
      "relayer.low_balance",
      "relayer.top_up_sent",
      "relayer.top_up_held",
      "relayer.delegate_changed"
    ],
    scopes: ["relayers:read", "relayers:write"],
    allScopes: ["relayers:*"],
    onlyByName: [],
    narrowable: ["relayers:read", "relayers:write"]
  },
  signer: {
    auditResource: ["signer"],
    actions: [
      "signer.created",
      "signer.verified",
      "signer.credentials_replaced",
      "signer.disabled",
      "signer.enabled",
      "signer.repaired",
      "signer.deleted"
    ],
    eventTypes: ["signer.created", "signer.disabled", "signer.enabled", "signer.deleted"],
    scopes: ["signers:read", "signers:write"],
    allScopes: ["signers:*"],
    onlyByName: [],
    narrowable: []
  },
  notification: {
    auditResource: ["notification"],
    actions: [
      "notification.created",
      "notification.updated",
      "notification.deleted",
      "notification.delivery_retried",
      "notification.deliveries_replayed",
      "notification.tested"
    ],
    eventTypes: ["notification.created", "notification.updated", "notification.deleted", "notification.paused"],
    scopes: ["notifications:read", "notifications:write"],
    allScopes: ["notifications:*"],
    onlyByName: [],
    narrowable: ["notifications:read"]
  },
  network: {
    auditResource: ["network"],
    actions: ["network.created", "network.updated", "network.repaired", "network.deleted"],
    eventTypes: ["network.created", "network.updated", "network.deleted"],
    scopes: ["networks:read", "networks:write"],
    allScopes: ["networks:*"],
    onlyByName: [],
    narrowable: []
  },
  apiKey: {
    auditResource: ["key"],
    actions: ["key.created", "key.updated", "key.rotated", "key.deleted", "key.refused"],
    eventTypes: ["key.created", "key.updated", "key.rotated", "key.deleted"],
    scopes: ["api-keys:read", "api-keys:write"],
    allScopes: ["api-keys:*"],
    onlyByName: [],
    narrowable: []
  },
  /** Leases are not recorded: a worker may extend one every few seconds. */
  claim: {
    auditResource: ["claim"],
    actions: ["claim.finalized"],
    eventTypes: ["claim.finalized"],
    scopes: ["claims:read", "claims:write"],
    allScopes: ["claims:*"],
    onlyByName: [],
    /** The names belong to no relayer. A key that is limited to some relayers uses them for what it sends by these. */
    narrowable: ["claims:read", "claims:write"]
  },
  /** Sessions of the console. */
  session: {
    auditResource: ["session"],
    actions: ["session.created", "session.ended", "session.refused"],
    eventTypes: [],
    scopes: [],
    allScopes: [],
    onlyByName: [],
    narrowable: []
  },
  configuration: {
    auditResource: ["configuration"],
    actions: ["configuration.compared", "configuration.applied"],
    eventTypes: [],
    scopes: [],
    allScopes: [],
    onlyByName: [],
    narrowable: []
  },
  auditLog: {
    auditResource: [],
    actions: [],
    eventTypes: [],
    scopes: ["audit:read", "audit:write"],
    allScopes: ["audit:*"],
    onlyByName: [],
    narrowable: []
  },
  masterKey: {
    auditResource: ["master_key"],
    actions: ["master_key.rotated"],
    eventTypes: ["master_key.rotated"],
    scopes: ["master-key:write"],
    allScopes: ["master-key:*"],
    onlyByName: [],
    narrowable: []
  },
  /** Checkpoints of the audit log have its scopes. */
  auditCheckpoint: {
    auditResource: ["audit"],
    actions: ["audit.checkpoint_created", "audit.pruned"],
    eventTypes: [],
    scopes: [],
    allScopes: [],
    onlyByName: [],
    narrowable: []
  },
  event: {
    auditResource: [],
    actions: [],
    eventTypes: [],
    scopes: ["events:read"],
    allScopes: ["events:*"],
    onlyByName: [],
    narrowable: ["events:read"]
  },
  transaction: {
    auditResource: ["transaction"],
    actions: [
      "transaction.sent",
      "transaction.replaced",
      "transaction.canceled",
      "transaction.published",
      "transaction.signed"
    ],
    eventTypes: [
      "transaction.created",
      "transaction.signed",
      "transaction.submitted",
      "transaction.replaced",
      "transaction.held",
      "transaction.route_changed",
      "transaction.seen_publicly",
      "transaction.mined",
      "transaction.reorged",
      "transaction.reorged_final",
      "transaction.confirmed",
      "transaction.failed",
      "transaction.canceled",
      "transaction.expired"
    ],
    scopes: ["transactions:read", "transactions:write", "transactions:sign", "rpc:call"],
    allScopes: ["transactions:*"],
    /** A raw signature can move everything. */
    onlyByName: ["transactions:sign"],
    narrowable: ["transactions:read", "transactions:write", "transactions:sign", "rpc:call"]
  },
  /** The nonces of a lane, with the scopes of transactions: an operator decides about all of its transactions. */
  nonce: {
    auditResource: ["nonce"],
    actions: ["nonce.resynced", "nonce.cleared", "nonce.generation_begun"],
    eventTypes: [],
    scopes: [],
    allScopes: [],
    onlyByName: [],
    narrowable: []
  }
} as const satisfies Readonly<Record<string, Names>>

/** The names of one column, of all kinds in order. */
const rows = Object.values(resources)
export const auditResources = rows.flatMap(({ auditResource }) => auditResource)
export const actions = rows.flatMap(({ actions }) => actions)
export const eventTypes = rows.flatMap(({ eventTypes }) => eventTypes)
export const scopes = rows.flatMap(({ scopes }) => scopes)
export const allScopes = rows.flatMap(({ allScopes }) => allScopes)
export const onlyByName = rows.flatMap(({ onlyByName }) => onlyByName)
export const narrowableScopes = rows.flatMap(({ narrowable }) => narrowable)

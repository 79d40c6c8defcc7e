// All services of an instance. They require a database. A host program may replace what reaches outside of it.
import { Duration, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import type { AdministratorKeyTooShort } from "../domain/access/ApiKey.ts"
import { checkMasterKey } from "../domain/masterKey/MasterKey.ts"
import type { MasterKeyInvalid } from "../domain/masterKey/MasterKey.ts"
import type { Authentication } from "./authentication/Authentication.ts"
import { Changes } from "./changes/Changes.ts"
import type { EventFeed } from "./events/EventFeed.ts"
import { EventStreams } from "./events/EventStreams.ts"
import type { Holder, LedgerMark } from "./ledger/Holder.ts"
import { LaneLedger } from "./ledger/LaneLedger.ts"
import { Ledger } from "./ledger/Ledger.ts"
import { TopUps } from "./ledger/TopUps.ts"
import { PriceSource } from "./prices/PriceSource.ts"
import { largestBatch } from "./networks/builtin.ts"
import { Claims } from "./claims/Claims.ts"
import * as UnreadableRows from "./masterKey/UnreadableRows.ts"
import * as Retentions from "./Retentions.ts"
import type { SignerKinds } from "./signers/backends/SignerBackend.ts"
import { SignerBackends } from "./signers/backends/SignerBackends.ts"
import { Breakers } from "./chains/Breakers.ts"
import { Chains } from "./chains/Chains.ts"
import { ChainAccess, RpcNodes } from "./chains/RpcNodes.ts"
import { SendingNetworks } from "./lanes/LaneNetwork.ts"
import * as LanesJob from "./lanes/LanesJob.ts"
import { ledgerTables, ledgerTablesInMemory } from "./ledger/Claims.ts"
import type { ClaimsRepo } from "./ledger/Claims.ts"
import { LedgerRules } from "./ledger/LedgerEntries.ts"
import { ledgerGaugesLayer } from "./ledger/LedgerJobs.ts"
import { partsOf, ServedNetworks } from "./ServedNetworks.ts"
import type { ServedNetwork } from "./ServedNetworks.ts"
import { Hindsight, MessageSigning, Sponsoring, TransactionSigning } from "./transactions/Exchanges.ts"
import { NodePassing } from "./transactions/NodePassing.ts"
import { Delegations } from "./transactions/Delegations.ts"
import { Nonces } from "./transactions/Nonces.ts"
import { layerTopUpChecks } from "./transactions/TopUpPayments.ts"
import { Transactions } from "./transactions/Transactions.ts"
import { demandSchema } from "../sql/Migrate.ts"
import * as Instances from "./attention/Instances.ts"
import { Configuration } from "./configuration/Configuration.ts"
import { IdempotencyStore } from "./idempotency/IdempotencyStore.ts"
import * as Lifecycle from "./lifecycle/Lifecycle.ts"
import { layerConnections } from "./lifecycle/SharedJobs.ts"
import { Strangers } from "./limits/Strangers.ts"
import { Readiness } from "./lifecycle/Readiness.ts"
import { ApiKeys } from "./access/ApiKeys.ts"
import * as KeyAuthentication from "./access/KeyAuthentication.ts"
import { Audit, AuditCheckpoints } from "./audit/Audit.ts"
import { HealthChecks, layerHealthJob, layerRelayerSeries } from "./health/HealthChecks.ts"
import { RelayerHealth } from "./health/RelayerHealth.ts"
import { layerMasterKeyCheck, MasterKeys } from "./masterKey/MasterKeys.ts"
import type { WrongMasterKey } from "./masterKey/MasterKeys.ts"
import { Networks } from "./networks/Networks.ts"
import { Notifications } from "./notifications/Notifications.ts"
import { Deliveries } from "./notifications/delivery/Deliveries.ts"
import * as DeliveryJob from "./notifications/delivery/DeliveryJob.ts"
import { RelayerTargets } from "./relayers/RelayerTargets.ts"
import { layerRelayerCount, Relayers } from "./relayers/Relayers.ts"
import { Outbound } from "../outbound/Outbound.ts"
import { layerEventDelay } from "./events/Events.ts"
import { CallerRequests, OutboundWork } from "./limits/RateLimits.ts"
import type { Gauges } from "./observability/Gauges.ts"
import { RowMacs, Secrets } from "./secrets/Secrets.ts"
import type { ActiveKeyring } from "./secrets/Secrets.ts"
import { Intakes } from "./transactions/Intake.ts"
import { SignerSettings } from "./signers/SignerSettings.ts"
import { Signers } from "./signers/Signers.ts"

export interface Options {
  /** 32 bytes that encrypt the secrets in the database. */
  readonly masterKey: Redacted.Redacted<Uint8Array>
  /** Further master keys that decrypt stored secrets, during a rotation. */
  readonly decryptionKeys?: ReadonlyArray<Redacted.Redacted<Uint8Array>>
  /** Hosts, addresses and ranges that are not public, but that URLs of users may point to. Absent: none. */
  readonly outboundAllow?: ReadonlyArray<string>
  /** Ends the message about a URL that `outboundAllow` does not allow. Absent: `, which is not allowed`. */
  readonly outboundNotAllowed?: string
  /** Says why a URL of a user may not be reached, beside `outboundAllow`: `Outbound.layerRestricted` describes it. Absent: no rule. */
  readonly outboundRule?: (url: URL) => string | undefined
  /** False: this instance sends no transactions and no webhooks, checks no relayers and deletes nothing that is old. Another instance does it. Absent: true. */
  readonly jobs?: boolean
  /** Time between two checks of a healthy relayer. Absent: a minute. */
  readonly healthCheckInterval?: Duration.Input
  /**
   * `synchronous`: a promoted replica of the database has every commit. `unknown`: it may have lost some, so open transactions
   * wait for an operator's answer after it was promoted. Absent: `unknown`.
   */
  readonly databaseFailover?: "synchronous" | "unknown"
  /** Time after which other instances send the transactions of an instance that hangs. Absent: 30 seconds. */
  readonly laneLease?: Duration.Input
  /** Time after which events and final transactions are deleted; infinite: never. Absent: 365 days. */
  readonly retention?: Duration.Input
  /** Which keys signers may use with the logins of this process. Absent: all keys that the logins allow. */
  readonly signers?: SignerSettings
  /** Whether metrics have a series for each relayer, of 5,000 relayers at most. Absent: false. */
  readonly metricsPerRelayer?: boolean
  /**
   * The network types that are served, such as `evm` of `effect-relayer/evm`. Their jobs run, and no module of others is loaded:
   * requests about relayers of others are refused.
   */
  readonly networks: ReadonlyArray<ServedNetwork>
}

/** The services that a program may call. The package exports all of them. */
export type Callable =
  | ApiKeys
  | Audit
  | AuditCheckpoints
  | Claims
  | Delegations
  | Deliveries
  | EventFeed
  | Intakes
  | LaneLedger
  | Ledger
  | Lifecycle.Draining
  | MasterKeys
  | MessageSigning
  | Networks
  | Nonces
  | Notifications
  | OutboundWork
  | PriceSource
  | Readiness
  | RelayerHealth
  | RelayerTargets
  | Relayers
  | Secrets
  | Signers
  | Sponsoring
  | TransactionSigning
  | Transactions

/** The services that only the server and other services call. */
export type Internal =
  | ActiveKeyring
  | Breakers
  | CallerRequests
  | Chains
  | Changes
  | ClaimsRepo
  | Configuration
  | EventStreams
  | Gauges
  | HealthChecks
  | Hindsight
  | Holder
  | IdempotencyStore
  | LedgerMark
  | LedgerRules
  | Lifecycle.CommitSignals
  | Lifecycle.Conditions
  | Lifecycle.Jobs
  | NodePassing
  | RowMacs
  | SendingNetworks
  | ServedNetworks
  | Strangers
  | TopUps

/** What reaches the world outside of the database. */
export type Outside = ChainAccess | Outbound | SignerKinds

export type WrongKey = MasterKeyInvalid | WrongMasterKey

const sendingNetworks = SendingNetworks.layer(partsOf(({ sending }) => sending))

const ledgerRules = ({ networks }: Pick<Options, "networks">) =>
  LedgerRules.layer(...networks.map(({ rules }) => rules))

const ledger = ({ databaseFailover: failover, laneLease: lease }: Options) =>
  Ledger.layer.pipe(
    Layer.provideMerge(LaneLedger.layer),
    Layer.provideMerge(
      ledgerTables({ ...(failover === undefined ? {} : { failover }), ...(lease === undefined ? {} : { lease }) })
    )
  )

/**
 * `Ledger` and `LaneLedger` in memory, for tests of a host program and of its networks: they behave as those on a database, and share the
 * tables of `LedgerMemory`. A layer that is built again, by `Layer.fresh`, begins with empty tables.
 */
export const layerLedgerMemory = ({ networks, laneLease: lease }: Pick<Options, "networks" | "laneLease">) =>
  Layer.merge(Ledger.layerMemory, LaneLedger.layerMemory).pipe(
    Layer.provideMerge(ledgerTablesInMemory(lease === undefined ? {} : { lease })),
    Layer.provideMerge(ledgerRules({ networks }))
  )

const resources = (options: Options) =>
  Layer.mergeAll(Relayers.layer, RelayerTargets.layer, Deliveries.layer).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Signers.layer,
        Notifications.layer,
        Networks.layer,
        ApiKeys.layer,
        MasterKeys.layer,
        Claims.layer,
        IdempotencyStore.layer,
        TopUps.layer,
        ledger(options)
      )
    ),
    Layer.provideMerge(Layer.merge(Changes.layer, AuditCheckpoints.layer)),
    Layer.provideMerge(Audit.layer)
  )

const outbound = ({ outboundAllow = [], outboundNotAllowed, outboundRule }: Options) => {
  const guarded = Outbound.layer({ allow: outboundAllow, notAllowed: outboundNotAllowed })
  return outboundRule === undefined ? guarded : Layer.provide(Outbound.layerRestricted(outboundRule), guarded)
}

/** Checks the schema of the database and the master keys, and creates the secrets of the service. Services that use secrets start afterwards. */
export const layerSecrets = ({ masterKey, decryptionKeys = [] }: Pick<Options, "masterKey" | "decryptionKeys">) =>
  Layer.unwrap(
    Effect.gen(function* () {
      yield* demandSchema
      yield* checkMasterKey("masterKey", masterKey)
      for (const [index, key] of decryptionKeys.entries()) yield* checkMasterKey(`decryptionKeys.${index}`, key)
      return Layer.provideMerge(
        Layer.provideMerge(layerMasterKeyCheck, RowMacs.layer),
        Secrets.layer({ current: masterKey, others: decryptionKeys })
      )
    })
  )

const inspections = Chains.layerNoDeps(
  Effect.map(ServedNetworks, ({ all }) => new Map(all.map(({ inspection, rules }) => [rules.type, inspection])))
)

/** Health checks and transactions share the nodes, so that a URL has one breaker and one retry rule. */
const chains = ({ networks }: Pick<Options, "networks">) =>
  inspections.pipe(
    Layer.provideMerge(ServedNetworks.layer(networks)),
    Layer.merge(PriceSource.layer),
    Layer.provide(RpcNodes.layerNoDeps({ largestBatch })),
    Layer.provideMerge(Breakers.layer())
  )

const health = ({ healthCheckInterval = "1 minute" }: Options) =>
  RelayerHealth.layer.pipe(Layer.provideMerge(HealthChecks.layer({ interval: healthCheckInterval })))

const gauges = ({ metricsPerRelayer = false }: Options) =>
  Layer.mergeAll(
    layerConnections,
    layerRelayerCount,
    Instances.layerPresence,
    ledgerGaugesLayer,
    layerEventDelay,
    UnreadableRows.layer,
    metricsPerRelayer ? layerRelayerSeries : Layer.empty
  )

const transactions = Layer.mergeAll(
  NodePassing.layer(partsOf(({ nodeCalls }) => nodeCalls)),
  Hindsight.layer(partsOf(({ hindsight }) => hindsight)),
  Configuration.layer
).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      Transactions.layer,
      TransactionSigning.layer,
      Sponsoring.layer,
      MessageSigning.layer(partsOf(({ messages }) => messages)),
      Nonces.layer(partsOf(({ sequences }) => sequences)),
      Delegations.layer(partsOf(({ delegations }) => delegations)).pipe(Layer.provide(SecureRandom.layerWebCrypto))
    )
  ),
  Layer.provideMerge(Intakes.layer(partsOf(({ intake }) => intake)))
)

const jobs = ({ jobs = true, healthCheckInterval = "1 minute", retention = "365 days" }: Options) =>
  jobs
    ? Layer.mergeAll(
        DeliveryJob.layer,
        Layer.provide(layerHealthJob({ interval: healthCheckInterval }), layerTopUpChecks),
        LanesJob.layer,
        Retentions.layer(Duration.fromInputUnsafe(retention))
      )
    : Layer.empty

/**
 * Without `Authentication`, and without what reaches the world outside of the database: a host program provides its own
 * `Outbound`, `ChainAccess` and `SignerBackends`, or their default layers. Fails as `layerNoAuthentication` does.
 */
export const layerNoDeps = (
  options: Omit<Options, "outboundAllow" | "outboundNotAllowed" | "outboundRule" | "signers">
): Layer.Layer<Callable | Internal, WrongKey, Outside | SqlClient.SqlClient> =>
  Layer.mergeAll(Readiness.layer, EventStreams.layer, gauges(options), jobs(options)).pipe(
    Layer.provideMerge(transactions),
    Layer.provideMerge(health(options)),
    Layer.provideMerge(sendingNetworks),
    Layer.provideMerge(resources(options)),
    Layer.provideMerge(ledgerRules(options)),
    Layer.provideMerge(chains(options)),
    Layer.provideMerge(
      Layer.mergeAll(layerSecrets(options), CallerRequests.layer, OutboundWork.layer, Strangers.layer, Lifecycle.layer)
    )
  )

/**
 * Without `Authentication`: a host program provides its own, or serves no HTTP. Fails with `MasterKeyInvalid` if a
 * master key does not have 32 bytes, and with `WrongMasterKey` if the database was written with another master key.
 */
export const layerNoAuthentication = ({
  signers = {},
  ...options
}: Options): Layer.Layer<Callable | Internal | Outside, WrongKey, SqlClient.SqlClient> =>
  layerNoDeps(options).pipe(
    Layer.provideMerge(Layer.merge(ChainAccess.layer, SignerBackends.layer)),
    Layer.provide(Layer.succeed(SignerSettings, signers)),
    Layer.provideMerge(outbound(options))
  )

/**
 * Authenticates callers by API keys. The administrator's key may do everything and creates the others; it has at least 32
 * characters, or the layer fails with `AdministratorKeyTooShort`.
 */
export const layer = ({
  administratorKey,
  ...options
}: Options & { readonly administratorKey: Redacted.Redacted }): Layer.Layer<
  Authentication | Callable | Internal | Outside,
  AdministratorKeyTooShort | WrongKey,
  SqlClient.SqlClient
> => Layer.provideMerge(KeyAuthentication.layer({ administrator: administratorKey }), layerNoAuthentication(options))

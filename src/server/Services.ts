// Every service, asking only for the database and for a way to count requests.
import { Layer } from "effect"
import type { Duration, Redacted } from "effect"
import * as AllowList from "../outbound/AllowList.ts"
import { Outbound } from "../outbound/Outbound.ts"
import { ApiKeys } from "./access/ApiKeys.ts"
import { Audit } from "./audit/Audit.ts"
import * as KeyAuthentication from "./access/KeyAuthentication.ts"
import { Changes } from "./changes/Changes.ts"
import { Cursors } from "./cursors/Cursors.ts"
import { EventStreams } from "./events/EventStreams.ts"
import { HealthChecks } from "./health/HealthChecks.ts"
import * as HealthJob from "./health/HealthJob.ts"
import { RelayerHealth } from "./health/RelayerHealth.ts"
import { IdempotencyStore } from "./idempotency/IdempotencyStore.ts"
import { Networks } from "./networks/Networks.ts"
import { Notifications } from "./notifications/Notifications.ts"
import { Relayers } from "./relayers/Relayers.ts"
import { Chains } from "./chains/Chains.ts"
import * as MasterKey from "./masterKey/MasterKey.ts"
import { MasterKeys } from "./masterKey/MasterKeys.ts"
import { Secrets } from "./secrets/Secrets.ts"
import { Signers } from "./signers/Signers.ts"
import { Draining } from "./lifecycle/Draining.ts"
import { Gauges } from "./observability/Gauges.ts"
import { Readiness } from "./lifecycle/Readiness.ts"
import { Deliveries } from "./notifications/delivery/Deliveries.ts"
import * as DeliveryJob from "./notifications/delivery/DeliveryJob.ts"

export interface Options {
  /** 32 bytes: encrypts the secrets in the database. */
  readonly masterKey: Redacted.Redacted<Uint8Array>
  /** Further master keys that stored secrets may still be read with, for a rotation. */
  readonly decryptionKeys?: ReadonlyArray<Redacted.Redacted<Uint8Array>>
  /** Hosts, addresses and ranges that are not public, and that URLs of users may point to all the same. Absent: none. */
  readonly outboundAllow?: ReadonlyArray<string>
  /** Ends the message about a URL that `outboundAllow` does not allow. Absent: `, which is not allowed`. */
  readonly outboundNotAllowed?: string
  /** False: nothing is done in the background, such as sending webhooks. Another instance does it. */
  readonly workers?: boolean
  /** Between two checks of a relayer that is well. Absent: a minute. */
  readonly healthCheckInterval?: Duration.Input
}

const resources = Layer.mergeAll(Relayers.layer, Deliveries.layer).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      Signers.layer,
      Notifications.layer,
      Networks.layer,
      ApiKeys.layer,
      MasterKeys.layer,
      IdempotencyStore.layer
    )
  ),
  Layer.provideMerge(Changes.layer),
  Layer.provideMerge(Audit.layer)
)

/** What uses secrets begins after the check. */
const secrets = ({ masterKey, decryptionKeys = [] }: Options) =>
  Layer.provideMerge(MasterKey.layerCheck, Secrets.layer({ current: masterKey, others: decryptionKeys }))

const health = ({ healthCheckInterval = "1 minute" }: Options) =>
  RelayerHealth.layer.pipe(
    Layer.provideMerge(HealthChecks.layer({ interval: healthCheckInterval })),
    Layer.provideMerge(Chains.layer())
  )

const workers = ({ workers = true, healthCheckInterval = "1 minute" }: Options) =>
  workers ? Layer.mergeAll(DeliveryJob.layer, HealthJob.layer({ interval: healthCheckInterval })) : Layer.empty

/**
 * Without `Authentication`: a host program provides its own, or serves no HTTP. Fails with `WrongMasterKey` if the database
 * was written with another master key.
 */
export const layerNoAuthentication = (options: Options) =>
  Layer.mergeAll(Gauges.layer, Readiness.layer, EventStreams.layer, Cursors.layerPrepare, workers(options)).pipe(
    Layer.provideMerge(health(options)),
    Layer.provideMerge(resources),
    Layer.provideMerge(
      Layer.mergeAll(
        secrets(options),
        Outbound.layer({
          allow: AllowList.make(options.outboundAllow ?? []),
          notAllowed: options.outboundNotAllowed
        }),
        Draining.layer
      )
    )
  )

/**
 * Authenticates callers by API keys. The administrator's key may do everything and creates the others; it has at least 32
 * characters, or the layer fails with `AdministratorKeyTooShort`.
 */
export const layer = ({ administratorKey, ...options }: Options & { readonly administratorKey: Redacted.Redacted }) =>
  Layer.provideMerge(KeyAuthentication.layer({ administrator: administratorKey }), layerNoAuthentication(options))

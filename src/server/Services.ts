// Every service, asking only for the database and for a way to count requests.
import { Layer } from "effect"
import type { Redacted } from "effect"
import { ApiKeys } from "./Auth/ApiKeys.ts"
import { Networks } from "./Networks/Networks.ts"
import { Notifications } from "./Notifications/Notifications.ts"
import { Relayers } from "./Relayers/Relayers.ts"
import * as MasterKey from "./Secrets/MasterKey.ts"
import { Secrets } from "./Secrets/Secrets.ts"
import { Signers } from "./Signers/Signers.ts"
import { Draining } from "./System/Draining.ts"
import { Gauges } from "./System/Gauges.ts"
import { Readiness } from "./System/Readiness.ts"

export interface Options {
  /** The key that may do everything, at least 32 characters. */
  readonly administratorKey: Redacted.Redacted
  /** 32 bytes: encrypts the secrets in the database. */
  readonly masterKey: Redacted.Redacted<Uint8Array>
}

const resources = Relayers.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Signers.layer, Notifications.layer, Networks.layer))
)

/** Fails where the database was written with another master key. */
export const layer = (options: Options) =>
  Layer.mergeAll(Gauges.layer, Readiness.layer, MasterKey.layerCheck).pipe(
    Layer.provideMerge(resources),
    Layer.provideMerge(
      Layer.mergeAll(
        Secrets.layer(options.masterKey),
        ApiKeys.layer({ administrator: options.administratorKey }),
        Draining.layer
      )
    )
  )

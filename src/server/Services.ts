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
  /** 32 bytes: encrypts the secrets in the database. */
  readonly masterKey: Redacted.Redacted<Uint8Array>
}

const resources = Relayers.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Signers.layer, Notifications.layer, Networks.layer))
)

/** Without API keys: a host brings its own `ApiKeys`, or serves no HTTP. Fails where the database was written with another master key. */
export const layerNoKeys = ({ masterKey }: Options) =>
  Layer.mergeAll(Gauges.layer, Readiness.layer, MasterKey.layerCheck).pipe(
    Layer.provideMerge(resources),
    Layer.provideMerge(Layer.mergeAll(Secrets.layer(masterKey), Draining.layer))
  )

/** With one API key, of at least 32 characters, that may do everything. */
export const layer = ({ administratorKey, ...options }: Options & { readonly administratorKey: Redacted.Redacted }) =>
  Layer.provideMerge(layerNoKeys(options), ApiKeys.layer({ administrator: administratorKey }))

// MACs for rows that a test or a benchmark inserts by SQL.
import { Effect, Layer, Redacted } from "effect"
import * as Authentication from "../src/server/masterKey/Authentication.ts"
import * as MasterKey from "../src/server/masterKey/MasterKey.ts"
import { RowMacs } from "../src/server/secrets/RowMacs.ts"
import { ServiceSecrets } from "../src/server/secrets/ServiceSecrets.ts"
import { Secrets } from "../src/server/secrets/Secrets.ts"
import * as TestApi from "./TestApi.ts"

/** What a service with this master key uses to authenticate rows. */
export const layer = (masterKey: Uint8Array = TestApi.masterKey) =>
  MasterKey.layerCheck.pipe(
    Layer.provideMerge(Layer.merge(RowMacs.layer, ServiceSecrets.layer)),
    Layer.provideMerge(Secrets.layer({ current: Redacted.make(masterKey) }))
  )

/** Gives the rows without a MAC the one that a service with this master key would have written. */
export const authenticateRows = (masterKey: Uint8Array = TestApi.masterKey) =>
  Effect.provide(Authentication.run, layer(masterKey), { local: true })

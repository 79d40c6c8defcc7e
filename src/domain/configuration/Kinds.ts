// The kinds of objects that a configuration contains, and the requests that create them.
import { Schema } from "effect"
import { CreateApiKey } from "../access/ApiKey.ts"
import { CreateNetwork } from "../network/NetworkRequest.ts"
import { CreateNotification } from "../notification/Notification.ts"
import { CreateRelayer } from "../relayer/Relayer.ts"
import { maybe, resourceId } from "../request/Text.ts"
import { CreateSigner } from "../signer/CreateSigner.ts"

/** In the order of creations: an object only refers to objects of its own kind and of earlier kinds. */
export const kinds = ["networks", "notifications", "signers", "relayers", "api_keys"] as const
export type Kind = (typeof kinds)[number]

export const ConfigurationName = resourceId.annotate({
  description: "Name of the configuration. It owns the objects of the document.",
  examples: ["payments"]
})

const WantedNotification = Schema.Struct({
  ...CreateNotification.fields,
  paused: maybe(Schema.Boolean, {
    description: "Whether deliveries are held back. If absent, false at the creation and not managed afterwards.",
    examples: [false]
  })
}).annotate({ identifier: "WantedNotification" })

/** The request that creates an object of each kind. */
export const requests = {
  networks: CreateNetwork,
  notifications: WantedNotification,
  signers: CreateSigner,
  relayers: CreateRelayer,
  api_keys: CreateApiKey
} as const satisfies Record<Kind, Schema.Constraint>

/** Fields of a request that the key of the object in its section determines, so that the file does not have them. */
export const keyFields = {
  networks: ["network_type", "name"],
  notifications: ["id"],
  signers: ["id"],
  relayers: ["id"],
  api_keys: ["id"]
} as const satisfies Record<Kind, ReadonlyArray<string>>

/** Kinds whose field `paused` is not managed if a file leaves it out. */
export const pausable: ReadonlySet<Kind> = new Set(["notifications", "relayers"])

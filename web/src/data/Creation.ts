// What a person creates: relayers, networks, signers and webhooks. A secret is in the body of one request and nowhere else.
import { Effect } from "effect"
import type { Redacted } from "effect"
import { CreateNotification } from "../../../src/domain/notification/Notification.ts"
import { CreateApiKey } from "../../../src/domain/access/ApiKey.ts"
import { CreateNetwork } from "../../../src/domain/network/Network.ts"
import { CreateRelayer } from "../../../src/domain/relayer/Relayer.ts"
import { CreateSigner } from "../../../src/domain/signer/CreateSigner.ts"
import { call, once } from "./Client.ts"
import type { Failure } from "./Failure.ts"
import { bodyReader } from "./Pages.ts"

const readRelayer = bodyReader(CreateRelayer)
const readNetwork = bodyReader(CreateNetwork)
const readSigner = bodyReader(CreateSigner)
const readKey = bodyReader(CreateApiKey)
const readNotification = bodyReader(CreateNotification)

interface Created {
  readonly id: string
  /** The value of a new API key. The service does not return it again. */
  readonly key?: Redacted.Redacted
}

export type Kind = "relayer" | "network" | "signer" | "webhook" | "key"

/** Creates an object from the JSON of a form. */
type Create = (body: unknown) => Effect.Effect<Created, Failure>

const creations: Readonly<Record<Kind, Create>> = {
  relayer: (body) =>
    call(({ relayers }) =>
      Effect.flatMap(readRelayer(body), (payload) =>
        Effect.map(relayers.create({ query: {}, payload }), ({ data }) => data)
      )
    ),
  network: (body) =>
    call(({ networks }) =>
      Effect.flatMap(readNetwork(body), (payload) =>
        Effect.map(networks.create({ query: {}, payload }), ({ data }) => data)
      )
    ),
  signer: (body) =>
    call(({ signers }) =>
      Effect.flatMap(readSigner(body), (payload) => Effect.map(signers.create({ payload }), ({ data }) => data))
    ),
  webhook: (body) =>
    call(({ notifications }) =>
      Effect.flatMap(readNotification(body), (payload) =>
        Effect.map(notifications.create({ payload }), ({ data }) => data)
      )
    ),
  key: (body) =>
    call(({ apiKeys }) =>
      Effect.flatMap(readKey(body), (payload) => Effect.map(apiKeys.create({ payload }), ({ data }) => data))
    )
}

/** `key` is the same for each try of one form. */
export const create = (kind: Kind, body: unknown, key: string): Effect.Effect<Created, Failure> =>
  once(key, creations[kind](body))

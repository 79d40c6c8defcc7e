// Networks, and the units of their native tokens.
import { Effect } from "effect"
import type { Network, NetworkProvider } from "../../../src/client/Client.ts"
import { NetworkId, UpdateNetwork } from "../../../src/domain/network/Network.ts"
import { call, callById } from "./Client.ts"
import { bodyReader, pageOf, versionOf } from "./Pages.ts"
import { queries, query } from "./Registry.ts"

export type { Network, NetworkProvider }

/** More networks than an installation has: the API counts up to this many on a page. */
const all = 1_000

const page = { query: { page: 1, per_page: all } }

export const networkList = query(call(({ networks }) => Effect.map(networks.list(page), ({ data }) => data)))

/** The same, with the rows that the service cannot read. */
export const networkPage = query(
  call(({ networks }) => pageOf(networks.list({ ...page, responseMode: "decoded-and-response" })))
)

const params = (id: string) => ({ network_id: NetworkId.make(id) })

/** By id, with the version that a change names. */
export const networkById = queries((id) =>
  callById(({ networks }) => versionOf(networks.get({ params: params(id), responseMode: "decoded-and-response" })))
)

/** What the last checks of relayers found at its providers. No provider is asked. */
export const networkProviders = queries((id) =>
  callById(({ providers }) => Effect.map(providers.list({ params: params(id), query: {} }), ({ data }) => data))
)

/** Asks the providers now: which chain they serve, and what they can do. */
export const askProviders = (id: string) =>
  callById(({ providers }) =>
    Effect.map(providers.list({ params: params(id), query: { check: true } }), ({ data }) => data)
  )

const readPatch = bodyReader(UpdateNetwork)

export const changeNetwork = (id: string, patch: unknown, etag: string | undefined) =>
  call(({ networks }) =>
    Effect.flatMap(readPatch(patch), (payload) =>
      networks.update({ params: params(id), headers: etag === undefined ? {} : { "if-match": etag }, payload })
    )
  )

// Relayers: lists, one relayer with its health, and what a person does with it.
import { Effect } from "effect"
import type {
  BalanceTrend,
  Relayer,
  RelayerExplanation,
  RelayerStatus,
  ShownSequences
} from "../../../src/client/Client.ts"
import { RelayerId, RelayerQuery, UpdateRelayer } from "../../../src/domain/relayer/Relayer.ts"
import { ClearNonces } from "../../../src/networks/evm/rules/EvmSchemas.ts"
import { call, callById } from "./Client.ts"
import { bodyReader, pageOf, queryReader, versionOf } from "./Pages.ts"
import { queries } from "./Registry.ts"

export type { BalanceTrend, Relayer, RelayerExplanation, RelayerStatus, ShownSequences }

/** Of a relayer that gets top-ups. */
export type TopUpReport = NonNullable<RelayerExplanation["top_up"]>

const readQuery = queryReader(RelayerQuery)

const readPatch = bodyReader(UpdateRelayer)

const params = (id: string) => ({ relayer_id: RelayerId.make(id) })

/** The page of relayers that the parameters of the address select. */
export const relayerPage = queries((key) =>
  call(({ relayers }) =>
    Effect.flatMap(readQuery(key), (query) => pageOf(relayers.list({ query, responseMode: "decoded-and-response" })))
  )
)

/** By id, with the version that a change names. */
export const relayerById = queries((id) =>
  callById(({ relayers }) => versionOf(relayers.get({ params: params(id), responseMode: "decoded-and-response" })))
)

export const relayerExplanation = queries((id) =>
  callById(({ relayerHealth }) => Effect.map(relayerHealth.explain({ params: params(id) }), ({ data }) => data))
)

/** Asks the chain. */
export const relayerStatus = queries((id) =>
  callById(({ relayerHealth }) => Effect.map(relayerHealth.status({ params: params(id) }), ({ data }) => data))
)

export const relayerNonces = queries((id) =>
  callById(({ nonces }) => Effect.map(nonces.get({ params: params(id) }), ({ data }) => data))
)

/** Hour by hour, as the checks of the last week read it. No provider is asked. */
export const relayerBalances = queries((id) =>
  callById(({ relayerHealth }) =>
    Effect.map(relayerHealth.balances({ params: params(id), query: {} }), ({ data }) => data)
  )
)

/** Resolves `nonce_ahead`: the service accepts the count of the chain when it reads it next. */
export const acceptChainCount = (id: string) => call(({ nonces }) => nonces.resync({ params: params(id), payload: {} }))

/** Declares that the test network of the relayer was restarted. */
export const beginGeneration = (id: string) => call(({ nonces }) => nonces.beginGeneration({ params: params(id) }))

const readCleared = bodyReader(ClearNonces)

/** Replaces open transactions by no-ops. */
export const clearNonces = (id: string, body: unknown) =>
  call(({ nonces }) =>
    Effect.flatMap(readCleared(body), (payload) =>
      Effect.map(nonces.clear({ params: params(id), payload }), ({ data }) => data)
    )
  )

/** Ends the channels of a stellar relayer. Their reserves come back to its account. */
export const releaseChannels = (id: string) => call(({ nonces }) => nonces.releaseChannels({ params: params(id) }))

export const checkRelayer = (id: string) => call(({ relayerHealth }) => relayerHealth.check({ params: params(id) }))

const condition = (etag: string | undefined) => (etag === undefined ? {} : { "if-match": etag })

/** A merge patch of the version that the person has seen. */
export const changeRelayer = (id: string, patch: unknown, etag: string | undefined) =>
  call(({ relayers }) =>
    Effect.flatMap(readPatch(patch), (payload) =>
      relayers.update({ params: params(id), headers: condition(etag), payload })
    )
  )

export const deleteRelayer = (id: string, etag: string | undefined) =>
  call(({ relayers }) => relayers.delete({ params: params(id), headers: condition(etag) }))

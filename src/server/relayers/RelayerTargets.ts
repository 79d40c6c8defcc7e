// Relayers for calls to their chains, with their networks and RPC URLs, which are checked, masked and sealed here.
// The health checks disable relayers here.
import { Context, Effect, Layer } from "effect"
import type { Exit, Option } from "effect"
import { maskRpc } from "../../domain/chain/Rpc.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import { networkId } from "../../domain/network/Network.ts"
import type { Network } from "../../domain/network/Network.ts"
import { RelayerNotFound, relayerUrlLists, relayerUrlsIn } from "../../domain/relayer/Relayer.ts"
import type { DisabledReason, Relayer, RelayerId, RelayerUrls } from "../../domain/relayer/Relayer.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { openRpcUrls, refusePublishing, refuseRpcUrls, sealRpcUrls } from "../chains/RpcNodes.ts"
import type { ReadRelayer } from "../ledger/LedgerEntries.ts"
import { Networks } from "../networks/Networks.ts"
import { Outbound } from "../../outbound/Outbound.ts"
import { client } from "../../sql/Transaction.ts"
import { Secrets } from "../secrets/Secrets.ts"
import * as RelayersRepo from "./RelayersRepo.ts"
import type { StoredUrls } from "./RelayersRepo.ts"
import { orNotFound, RelayerMacs } from "./StoredRelayer.ts"
import type { HeldRelayer } from "./StoredRelayer.ts"

// The RPC URLs of a relayer: checked, masked to be shown, and sealed to be called.

/** The URLs of a relayer that uses those of its network. */
const noUrls = { masked: undefined, sealed: undefined } as const

const placeOfUrls = (id: RelayerId, list: (typeof relayerUrlLists)[number]) => ({ table: "relayers", id, column: list })

export const makeRelayerUrls = Effect.gen(function* () {
  const secrets = yield* Secrets
  const outbound = yield* Outbound

  /** Fails with `BadRequest` if the service must not call one of the URLs. */
  const check = (urls: RelayerUrls) => {
    const refused = [
      ...relayerUrlLists.flatMap((list) => refuseRpcUrls(outbound, list, urls[list] ?? [])),
      ...refusePublishing("custom_private_rpc_urls", urls.custom_private_rpc_urls ?? [])
    ]
    return refused.length > 0 ? Effect.fail(BadRequest.of(refused)) : Effect.void
  }

  /** Fails as `check` does. */
  const store = Effect.fnUntraced(function* (id: RelayerId, given: RelayerUrls) {
    yield* check(given)
    const stored: { -readonly [List in keyof StoredUrls]: StoredUrls[List] } = {
      custom_rpc_urls: noUrls,
      custom_private_rpc_urls: noUrls
    }
    for (const list of relayerUrlLists) {
      const urls = given[list] ?? []
      if (urls.length === 0) continue
      const sealed = yield* sealRpcUrls(secrets, urls, placeOfUrls(id, list))
      stored[list] = { masked: urls.map(maskRpc), sealed }
    }
    const urls: StoredUrls = stored
    return urls
  })

  /** The unmasked URLs. Absent if the relayer uses those of its network. */
  const open = Effect.fnUntraced(function* ({ id, urlsSealed }: HeldRelayer) {
    const opened: { -readonly [List in keyof RelayerUrls]: ReadonlyArray<RpcConfig> } = {}
    for (const list of relayerUrlLists) {
      const sealed = urlsSealed[list]
      if (sealed !== undefined) opened[list] = yield* openRpcUrls(secrets, sealed, placeOfUrls(id, list))
    }
    return opened
  })

  return { check, store, open }
})

export interface RelayerTarget {
  readonly relayer: Relayer
  readonly version: string
  readonly network: Network
  /** Unmasked: the relayer's own URLs, or those of its network. */
  readonly urls: ReadonlyArray<RpcConfig>
  /** Unmasked: the relayer's own private ones, or those of its network. Absent: there are none. */
  readonly privateUrls?: ReadonlyArray<RpcConfig>
}

/** A relayer that was read, with the rows that it was read from. */
interface RememberedTarget extends ReadRelayer {
  readonly target: RelayerTarget
}

/** Relayers that are remembered: a process holds at most 256 lanes, most of which have one relayer. */
const maxRemembered = 1000

/** A relayer of stellar. */
export interface WithChannels {
  readonly id: RelayerId
  readonly address: string
  /** The number of channels that its policy wants. */
  readonly channels: number
  readonly version: string
}

const makeRelayerTargets = Effect.gen(function* () {
  const sql = yield* client
  const repo = yield* RelayersRepo.make
  const networks = yield* Networks
  const relayerUrls = yield* makeRelayerUrls

  const networkOf = Effect.fnUntraced(
    function* ({ network_type, network }: Relayer, given: RelayerUrls) {
      const id = networkId(network_type, network)
      const own = relayerUrlsIn(given, "custom_rpc_urls")
      const found = own === undefined ? yield* networks.callable(id) : { ...(yield* networks.besides(id)), urls: own }
      const privateUrls = relayerUrlsIn(given, "custom_private_rpc_urls")
      return privateUrls === undefined ? found : { ...found, privateUrls }
    },
    // A network exists as long as its relayers do: this relayer was deleted meanwhile.
    Effect.catchTag("NetworkNotFound", () => Effect.fail(new RelayerNotFound({})))
  )

  /** Lanes that step together read their relayers by one statement. */
  const find = yield* Batcher.make<RelayerId, Exit.Exit<Option.Option<HeldRelayer>>>(sql, { all: repo.findSealed })

  const read = Effect.fnUntraced(function* (id: RelayerId) {
    const found = yield* Effect.flatMap(Effect.flatten(find(id)), orNotFound)
    const { value: relayer, version, state } = found
    const { origins, ...called } = yield* networkOf(relayer, yield* relayerUrls.open(found))
    const target: RelayerTarget = { relayer, version, ...called }
    return { target, terms: state === undefined ? undefined : { relayer: state, networks: origins } }
  })

  const get = Effect.fn("RelayerTargets.get")((id: RelayerId) => Effect.map(read(id), ({ target }) => target))

  const remembered = new Map<RelayerId, RememberedTarget>()

  /** As `get`, for a lane: what it reads is remembered. */
  const getRemembering = Effect.fn("RelayerTargets.getRemembering")(function* (id: RelayerId) {
    remembered.delete(id)
    const { target, terms } = yield* read(id)
    if (remembered.size >= maxRemembered) remembered.clear()
    if (terms !== undefined) remembered.set(id, { id, terms, target })
    return target
  })

  /**
   * What lanes have read last of these relayers. It has to be compared with the rows before it is used. `managed_by` may be an older one, because no row of the relayer
   * has it.
   */
  const known = (ids: Iterable<RelayerId>): ReadonlyArray<RememberedTarget> =>
    [...ids].flatMap((id) => remembered.get(id) ?? [])

  /** Locks the relayer's row until the running transaction ends. */
  const hold = Effect.fn("RelayerTargets.hold")((id: RelayerId) => Effect.flatMap(repo.findForUpdate(id), orNotFound))

  const logChange = (annotations: Record<string, unknown>, reason: DisabledReason | undefined) =>
    reason === undefined
      ? Effect.annotateLogs(Effect.logInfo("relayer enabled"), annotations)
      : Effect.annotateLogs(Effect.logWarning("relayer disabled"), {
          ...annotations,
          disabled_reason: reason.type,
          details: reason.details
        })

  /** The caller holds the relayer, and publishes the event. `undefined` enables the relayer. */
  const setDisabled = Effect.fn("RelayerTargets.setDisabled")(function* (
    id: RelayerId,
    reason: DisabledReason | undefined
  ) {
    const { value, version } = yield* repo.setDisabled(id, reason)
    yield* logChange({ relayer_id: id, version }, reason)
    return value
  })

  return {
    get,
    getRemembering,
    known,
    /** Those of the addresses that belong to relayers on networks of the type. */
    accountsAmong: repo.accountsAmong,
    /** Relayers of stellar whose policy has channels, and those with one of the addresses. */
    withChannels: repo.withChannels,
    hold,
    setDisabled
  }
})

export class RelayerTargets extends Context.Service<RelayerTargets, Effect.Success<typeof makeRelayerTargets>>()(
  "effect-relayer/server/relayers/RelayerTargets"
) {
  /** @internal */
  static readonly layer = Layer.effect(RelayerTargets, makeRelayerTargets).pipe(Layer.provide(RelayerMacs.layer))
}

// Inspects the chain of a relayer: checks that it is the right one and reads the account. Asks the providers of a network.
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { knownProtocol, protocolOf, protocolWarning } from "../../domain/chain/ChainSnapshot.ts"
import type { ChainSnapshot, ProviderReading } from "../../domain/chain/ChainSnapshot.ts"
import type { Network, NetworkId, NetworkType } from "../../domain/network/Network.ts"
import type { Kind, NetworkTarget, ProbedProvider, Target } from "./Inspection.ts"
import { RpcNodes } from "./RpcNodes.ts"

/** A network whose protocol is newer than this version of the service knows. */
export interface UnknownProtocol {
  readonly network: NetworkId
  readonly protocol: number
}

/** A protocol that no inspection of this instance has seen for so long is forgotten: its network may be gone. */
const rememberedFor = Duration.toMillis("1 day")

/** Remembers the newer protocols that inspections see, and logs each once. */
const remembering = () => {
  const seen = new Map<NetworkId, { readonly protocol: number; readonly at: number }>()
  const note = Effect.fnUntraced(function* ({ id }: Network, readings: ReadonlyArray<ProviderReading>) {
    const protocol = protocolOf(readings)
    if (protocol === undefined) return
    const warning = protocolWarning(protocol)
    const before = seen.get(id)?.protocol
    if (warning === undefined) return void seen.delete(id)
    seen.set(id, { protocol, at: yield* Clock.currentTimeMillis })
    if (before === protocol) return
    const details = { network: id, protocol, known_protocol: knownProtocol, effect: warning }
    yield* Effect.annotateLogs(Effect.logWarning("a network runs a newer protocol than this version knows"), details)
  })
  const unknownProtocols = Effect.map(Clock.currentTimeMillis, (now) =>
    [...seen].flatMap(([network, { at, protocol }]): ReadonlyArray<UnknownProtocol> =>
      now - at > rememberedFor ? [] : [{ network, protocol }]
    )
  )
  return { note, unknownProtocols }
}

export class Chains extends Context.Service<
  Chains,
  {
    /** Never fails: `failures` of the snapshot contains the problems. */
    inspect(target: Target): Effect.Effect<ChainSnapshot>
    /** The state of each provider of a network, after each was asked whether it is on its chain, and what it can do. Never fails. */
    probe(target: NetworkTarget): Effect.Effect<ReadonlyArray<ProbedProvider>>
    /** Stellar networks with a newer protocol, as the inspections of this instance have seen them last. */
    readonly unknownProtocols: Effect.Effect<ReadonlyArray<UnknownProtocol>>
  }
>()("effect-relayer/server/chains/Chains") {
  static readonly layerNoDeps = (kinds: Readonly<Record<NetworkType, Kind>>) =>
    Layer.effect(
      Chains,
      Effect.map(RpcNodes, (nodes) => {
        const { note, unknownProtocols } = remembering()
        return Chains.of({
          inspect: Effect.fn("Chains.inspect")((target) =>
            Effect.tap(kinds[target.relayer.network_type].inspect(nodes, target), ({ providers }) =>
              note(target.network, providers)
            )
          ),
          probe: Effect.fn("Chains.probe")((target) => kinds[target.network.network_type].probe(nodes, target)),
          unknownProtocols
        })
      })
    )
}

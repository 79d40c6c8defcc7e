// What the parts of an evm lane share: its account, its providers and its memory.
import { Effect } from "effect"
import type { Evm } from "../../../domain/transaction/evm/Evm.ts"
import { networkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import type { NetworkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import type { EvmNodes } from "../../chains/evm/EvmNodes.ts"
import type { LaneRelayer } from "../LaneNetwork.ts"
import type { EvmMemory } from "./EvmMemory.ts"

export interface EvmContext {
  /** Lower-case hex. */
  readonly address: string
  readonly nodes: EvmNodes["Service"]
  readonly memory: EvmMemory
}

export type EvmRelayer = LaneRelayer<Evm>

export const numbersOf = ({ target }: EvmRelayer): NetworkNumbers => networkNumbers(target.network)

/** The providers of a relayer, kept as long as the lane is held: the same node answers from poll to poll. */
export const providersOf = Effect.fnUntraced(function* ({ memory, nodes }: EvmContext, relayer: EvmRelayer) {
  const { genesis } = memory
  const key = `${genesis ?? ""} ${relayer.urlsKey}`
  const found = memory.providers.get(key)
  if (found !== undefined) return found
  const identity = { chainId: numbersOf(relayer).chainId, ...(genesis === undefined ? {} : { genesis }) }
  const providers = yield* nodes.providers(relayer.urls, identity)
  memory.providers.set(key, providers)
  return providers
})

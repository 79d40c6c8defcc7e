// The relayer of a request that only evm has: its policy, its network, its account and its providers.
import { Effect } from "effect"
import type { RelayerId } from "../../../domain/relayer/Relayer.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import type { Account } from "../../../server/ledger/LedgerEntries.ts"
import { RelayerTargets } from "../../../server/relayers/RelayerTargets.ts"
import type { RelayerTarget } from "../../../server/relayers/RelayerTargets.ts"
import { makeKeptProviders, toBadGateway } from "../../../server/transactions/Intake.ts"
import type { Sender } from "../../../server/transactions/Intake.ts"
import { EvmNodes } from "../chain/EvmNodes.ts"
import type { EvmTarget } from "../rules/Evm.ts"
import { networkNumbers } from "../rules/EvmNumbers.ts"
import type { NetworkNumbers } from "../rules/EvmNumbers.ts"
import { evmRules } from "../rules/EvmRules.ts"

export interface EvmSender extends EvmTarget {
  readonly numbers: NetworkNumbers
  readonly account: Account
}

export const evmSenderOf = (target: EvmTarget, account: Account): EvmSender => ({
  ...target,
  numbers: networkNumbers(target.network),
  account
})

/** Of a sender whose network type is `evm`: the network type of a relayer chooses what is called. */
export const senderOf = (sender: Sender): EvmSender => {
  const target = evmRules.targetOf(sender)
  if (target === undefined) throw new Error(`${sender.relayer.id} is no evm relayer`)
  return evmSenderOf(target, sender.account)
}

// The providers of an evm relayer, for requests.

interface ChainUrls {
  readonly urls: RelayerTarget["urls"]
  readonly chainId: number
}

export const makeRelayerNodes = Effect.gen(function* () {
  const nodes = yield* EvmNodes
  const targets = yield* RelayerTargets

  const kept = yield* makeKeptProviders(({ urls, chainId }: ChainUrls) => nodes.providers(urls, { chainId }))

  const of = Effect.fnUntraced(function* (id: RelayerId, chainId: number) {
    const { urls } = yield* targets.get(id)
    return yield* kept({ urls, chainId })
  })

  /** Asks a provider of the relayer, and the next one if it fails. */
  const first = Effect.fnUntraced(function* <A>(
    id: RelayerId,
    chainId: number,
    use: (node: RpcNode) => Effect.Effect<A, RpcFailure>
  ) {
    const found = yield* of(id, chainId)
    return yield* Effect.mapError(found.tryAll(use), toBadGateway)
  })

  /** Asks all providers of the relayer. Those that do not answer are left out. */
  const each = Effect.fnUntraced(function* <A>(
    id: RelayerId,
    chainId: number,
    use: (node: RpcNode) => Effect.Effect<A, RpcFailure>
  ) {
    const answers = yield* (yield* of(id, chainId)).each(use)
    return answers.filter((answer) => answer !== undefined)
  })

  return { first, each }
})

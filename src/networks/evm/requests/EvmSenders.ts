// The relayer of a request that only evm has: its policy, its network, its account and its providers.
import { Effect } from "effect"
import type { RelayerId } from "../../../domain/relayer/Relayer.ts"
import type { Providers } from "../../../server/chains/Providers.ts"
import type { RpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import type { Account } from "../../../server/ledger/LedgerEntries.ts"
import { makeRelayerProviders } from "../../../server/transactions/Intake.ts"
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

/** The evm part of a sender. It is called only for relayers whose network type is `evm`. */
export const senderOf = (sender: Sender): EvmSender => {
  const target = evmRules.targetOf(sender)
  if (target === undefined) throw new Error(`${sender.relayer.id} is no evm relayer`)
  return evmSenderOf(target, sender.account)
}

// The providers of an evm relayer, for requests.

type Use<A> = (node: RpcNode) => Effect.Effect<A, RpcFailure>

export const makeRelayerNodes = Effect.gen(function* () {
  const nodes = yield* EvmNodes
  const providers = yield* makeRelayerProviders((urls, chainId: number) => nodes.providers(urls, { chainId }))
  const secret = yield* makeRelayerProviders(
    (urls, chainId: number) => nodes.privateProviders(urls, chainId),
    ({ privateUrls = [] }) => privateUrls
  )

  /** Asks a provider of the relayer, and the next one if it fails. `all`: those that can agree with it. */
  const first = <A>(
    id: RelayerId,
    chainId: number,
    use: (node: RpcNode, all: Providers) => Effect.Effect<A, RpcFailure>
  ) => Effect.flatMap(providers.of(id, chainId), (found) => providers.first(found, (node) => use(node, found)))

  /** Asks a private provider of the relayer, and the next one if it fails: no other one may see the call. */
  const firstPrivate = <A>(id: RelayerId, chainId: number, use: Use<A>) =>
    Effect.flatMap(secret.of(id, chainId), (found) => secret.first(found, use))

  /** Asks all providers of the relayer. Those that do not answer are left out. */
  const each = <A>(id: RelayerId, chainId: number, use: Use<A>) =>
    Effect.flatMap(providers.of(id, chainId), (found) => found.each(use)).pipe(
      Effect.map((answers) => answers.filter((answer) => answer !== undefined))
    )

  /** URLs that are asked. */
  const configured = (id: RelayerId, chainId: number) =>
    Effect.map(providers.of(id, chainId), (found) => found.configured)

  return { first, firstPrivate, each, configured }
})

// The relayer that sends transactions: its account, its policy and its network.
import { Effect } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { networkId } from "../../domain/network/NetworkId.ts"
import type { EvmNetwork } from "../../domain/network/Network.ts"
import { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { EvmRelayer, RelayerId } from "../../domain/relayer/Relayer.ts"
import { NotImplemented } from "../../domain/request/Request.ts"
import { limitsFor, TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import { networkNumbers } from "../../domain/transaction/evm/NetworkNumbers.ts"
import type { EvmTarget } from "../../domain/transaction/evm/Evm.ts"
import type { NetworkNumbers } from "../../domain/transaction/evm/NetworkNumbers.ts"
import type { Account } from "../ledger/NewTransaction.ts"
import { evmRules } from "../../domain/transaction/evm/EvmRules.ts"
import { Networks } from "../networks/Networks.ts"
import { Relayers } from "../relayers/Relayers.ts"
import type { StoredRelayer } from "../relayers/StoredRelayer.ts"

export interface Sender {
  readonly relayer: typeof EvmRelayer.Type
  readonly network: typeof EvmNetwork.Type
  readonly numbers: NetworkNumbers
  readonly account: Account
}

const accountOf = (relayerNumber: number, target: EvmTarget): Account => ({
  relayerId: target.relayer.id,
  relayerNumber,
  ...evmRules.laneOf(target)
})

/** Fails with `NotImplemented` if the network type of the relayer is not `evm`. */
export const make = Effect.gen(function* () {
  const relayers = yield* Relayers
  const networks = yield* Networks

  /**
   * Its number distinguishes a relayer from an earlier one with the same id. Transactions are shown even if the row of their relayer was
   * changed in the database: `explain` reports it.
   */
  const { numberOf } = relayers

  const senderOf = Effect.fnUntraced(
    function* (stored: StoredRelayer) {
      const relayer = stored.value
      if (relayer.network_type !== "evm") {
        const error = `relayers of ${relayer.network_type} do not send transactions yet`
        return yield* new NotImplemented({ error })
      }
      const { value: network } = yield* networks.get(networkId("evm", relayer.network))
      // A network exists as long as its relayers do: this relayer was deleted meanwhile.
      if (network.network_type !== "evm") return yield* new RelayerNotFound({})
      const numbers = networkNumbers(network)
      const sender: Sender = { relayer, network, numbers, account: accountOf(stored.number, { relayer, network }) }
      return sender
    },
    Effect.catchTag("NetworkNotFound", () => Effect.fail(new RelayerNotFound({})))
  )

  const get = Effect.fnUntraced(function* (id: RelayerId) {
    return yield* senderOf(yield* relayers.get(id))
  })

  /**
   * For a request that sends, replaces or signs: with the limits of the caller's key for the network type of the relayer. A key
   * that has limits, but none of this type, is refused first, also if the service cannot send there.
   */
  const getLimited = Effect.fnUntraced(function* (id: RelayerId) {
    const stored = yield* relayers.get(id)
    const { transactionLimits } = yield* Caller.current
    const limits = yield* Effect.fromResult(limitsFor(transactionLimits, stored.value.network_type)).pipe(
      Effect.mapError((violation) => TransactionLimitExceeded.of(violation))
    )
    return { sender: yield* senderOf(stored), limits }
  })

  return { get, getLimited, numberOf }
})

export type Senders = Effect.Success<typeof make>

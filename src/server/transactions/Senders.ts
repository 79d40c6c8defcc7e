// The relayer that sends transactions: its account, its policy and its network.
import { Effect } from "effect"
import { networkId } from "../../domain/network/NetworkId.ts"
import type { EvmNetwork } from "../../domain/network/Network.ts"
import { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { EvmRelayer, RelayerId } from "../../domain/relayer/Relayer.ts"
import { NotImplemented } from "../../domain/request/Request.ts"
import { networkNumbers } from "../../domain/transaction/NetworkNumbers.ts"
import type { NetworkNumbers } from "../../domain/transaction/NetworkNumbers.ts"
import type { Account } from "../ledger/NewTransaction.ts"
import { chainOf } from "../ledger/StoredLane.ts"
import { Networks } from "../networks/Networks.ts"
import { StoredRelayers } from "../relayers/StoredRelayers.ts"

export interface Sender {
  readonly relayer: typeof EvmRelayer.Type
  readonly network: typeof EvmNetwork.Type
  readonly numbers: NetworkNumbers
  readonly account: Account
}

const accountOf = (
  relayerNumber: number,
  { id, address }: typeof EvmRelayer.Type,
  { chainId, window }: NetworkNumbers
): Account => ({
  relayerId: id,
  relayerNumber,
  chain: chainOf(chainId),
  address: address.toLowerCase(),
  window
})

/** Fails with `NotImplemented` if the network type of the relayer is not `evm`. */
export const make = Effect.gen(function* () {
  const relayers = yield* StoredRelayers
  const networks = yield* Networks

  /**
   * Its number distinguishes a relayer from an earlier one with the same id. Transactions are shown even if the row of their relayer was
   * changed in the database: `explain` reports it.
   */
  const { numberOf } = relayers

  const get = Effect.fnUntraced(
    function* (id: RelayerId) {
      const stored = yield* relayers.get(id)
      const relayer = stored.value
      if (relayer.network_type !== "evm") {
        const error = `relayers of ${relayer.network_type} do not send transactions yet`
        return yield* new NotImplemented({ error })
      }
      const network = yield* networks.get(networkId("evm", relayer.network))
      // A network exists as long as its relayers do: this relayer was deleted meanwhile.
      if (network.network_type !== "evm") return yield* new RelayerNotFound({})
      const numbers = networkNumbers(network)
      const sender: Sender = { relayer, network, numbers, account: accountOf(stored.number, relayer, numbers) }
      return sender
    },
    Effect.catchTag("NetworkNotFound", () => Effect.fail(new RelayerNotFound({})))
  )

  return { get, numberOf }
})

export type Senders = Effect.Success<typeof make>

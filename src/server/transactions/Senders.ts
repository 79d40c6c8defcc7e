// The relayer of a request: its network, its lane, and what the caller's key may send there.
import { Effect, Result } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { networkId } from "../../domain/network/Network.ts"
import { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { Relayer, RelayerId } from "../../domain/relayer/Relayer.ts"
import { NotImplemented } from "../../domain/request/Request.ts"
import { limitsFor, TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import { Networks } from "../networks/Networks.ts"
import { Relayers } from "../relayers/Relayers.ts"
import type { StoredRelayer } from "../relayers/StoredRelayer.ts"
import { Intakes } from "./Intake.ts"
import type { Sender } from "./Intake.ts"

const notSending = (type: string) => new NotImplemented({ error: `relayers of ${type} do not send transactions yet` })

/** Fails with `NotImplemented` if the service takes no requests for the network type of the relayer. */
export const make = Effect.gen(function* () {
  const relayers = yield* Relayers
  const networks = yield* Networks
  const intakes = yield* Intakes

  /**
   * Its number distinguishes a relayer from an earlier one with the same id. Transactions are shown even if the row of their relayer was
   * changed in the database: `explain` reports it.
   */
  const { numberOf } = relayers

  /** The network type of a relayer. */
  const typeOf = (id: RelayerId) => Effect.map(relayers.get(id), ({ value }) => value.network_type)

  /** Whether transactions of the relayer are found by their sequences. */
  const hasSequences = (id: RelayerId) =>
    Effect.map(typeOf(id), (type) => intakes.of(type)?.intake.hasSequences !== false)

  const senderOf = Effect.fnUntraced(
    function* ({ value: relayer, number }: StoredRelayer) {
      const found = intakes.of(relayer.network_type)
      if (found === undefined) return yield* notSending(relayer.network_type)
      const { rules } = found.intake
      const { value: network } = yield* networks.get(networkId(relayer.network_type, relayer.network))
      const target = rules.targetOf({ relayer, network })
      // A network exists as long as its relayers do: this relayer was deleted meanwhile.
      if (target === undefined) return yield* new RelayerNotFound({})
      const account = { relayerId: relayer.id, relayerNumber: number, ...rules.laneOf(target) }
      const sender: Sender = { relayer, network, target, account }
      return { ...found, sender }
    },
    Effect.catchTag("NetworkNotFound", () => Effect.fail(new RelayerNotFound({})))
  )

  /** Of the caller's key for the network type of the relayer. */
  const limitsOf = ({ network_type }: Relayer) =>
    Effect.map(Caller.current, ({ transactionLimits }) => limitsFor(transactionLimits, network_type))

  const get = Effect.fnUntraced(function* (id: RelayerId) {
    return yield* senderOf(yield* relayers.get(id))
  })

  /**
   * For a request that sends, replaces or signs: with the limits of the caller's key for the network type of the relayer. A key
   * that has limits, but none of this type, is refused first, also if the service cannot send there.
   */
  const getLimited = Effect.fnUntraced(function* (id: RelayerId) {
    const stored = yield* relayers.get(id)
    const limits = yield* limitsOf(stored.value)
    if (Result.isFailure(limits)) return yield* TransactionLimitExceeded.of(limits.failure)
    return { ...(yield* senderOf(stored)), limits: limits.success }
  })

  return { get, getLimited, limitsOf, numberOf, hasSequences, typeOf }
})

export type Senders = Effect.Success<typeof make>

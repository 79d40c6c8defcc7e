// The relayer of a request that only evm has: its policy, its network and its account.
import { Effect } from "effect"
import type { RelayerId } from "../../../domain/relayer/Relayer.ts"
import { NotImplemented } from "../../../domain/request/Request.ts"
import type { EvmTarget } from "../../../domain/transaction/evm/Evm.ts"
import { evmRules } from "../../../domain/transaction/evm/EvmRules.ts"
import { networkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import type { NetworkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import type { Sender } from "../Intake.ts"
import type { Account } from "../../ledger/LedgerEntries.ts"
import { makeSenders } from "../Senders.ts"

export interface EvmSender extends EvmTarget {
  readonly numbers: NetworkNumbers
  readonly account: Account
}

export const evmSenderOf = (target: EvmTarget, account: Account): EvmSender => ({
  ...target,
  numbers: networkNumbers(target.network),
  account
})

/** Fails with `NotImplemented` if the network type of the relayer is not `evm`. */
export const make = Effect.gen(function* () {
  const senders = yield* makeSenders

  const ofEvm = Effect.fnUntraced(function* ({ relayer, network, account }: Sender) {
    const target = evmRules.targetOf({ relayer, network })
    if (target === undefined) {
      const error = `relayers of ${relayer.network_type} do not have what this endpoint does`
      return yield* new NotImplemented({ error })
    }
    return evmSenderOf(target, account)
  })

  const get = Effect.fnUntraced(function* (id: RelayerId) {
    return yield* ofEvm((yield* senders.get(id)).sender)
  })

  /** As `getLimited` of `Senders`. */
  const getLimited = Effect.fnUntraced(function* (id: RelayerId) {
    return yield* ofEvm((yield* senders.getLimited(id)).sender)
  })

  return { get, getLimited, ofEvm }
})

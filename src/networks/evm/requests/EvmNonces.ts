// The nonces of an evm relayer's account, for operators: the ledger next to the chain, and gaps that no-ops close.
import { DateTime, Effect, Option } from "effect"
import * as Caller from "../../../domain/access/Caller.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { isTransactionOf } from "../../../server/ledger/LedgerEntries.ts"
import type { LaneCounts, StoredLane, StoredTransaction } from "../../../server/ledger/LedgerEntries.ts"
import type { Cleared } from "../../../server/ledger/Operators.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import { mayDelegate, notAllowed } from "../../../server/transactions/Delegations.ts"
import { makeOwnCheck } from "../../../server/transactions/Intake.ts"
import type { SequenceNetwork } from "../../../server/transactions/Nonces.ts"
import { present, statusOf } from "../../core/Presentation.ts"
import { TransactionLimitExceeded } from "../../core/TransactionLimits.ts"
import { countAt } from "../chain/EvmCalls.ts"
import { readHead } from "../chain/EvmNodes.ts"
import { concernsDelegation } from "../rules/Delegation.ts"
import { nonceOf } from "../rules/Evm.ts"
import type { Evm } from "../rules/Evm.ts"
import { evmRules } from "../rules/EvmRules.ts"
import { maxCleared } from "../rules/EvmSchemas.ts"
import type { ClearedNonces, NonceState } from "../rules/EvmSchemas.ts"
import { makeRelayerNodes, senderOf } from "./EvmSenders.ts"
import type { EvmSender } from "./EvmSenders.ts"

const laneFields = (found: Option.Option<StoredLane>) => {
  if (Option.isNone(found)) return { generation: 0, next_nonce: 0, known_count: 0, settled_nonce: 0 }
  const { lane, code, codeSince } = found.value
  const [own] = lane.accounts
  return {
    generation: lane.generation,
    next_nonce: Number(own.nextSequence),
    known_count: Number(own.chainSequence),
    settled_nonce: Number(own.settledSequence),
    window: lane.windowSize,
    ...(code === undefined ? {} : { code }),
    ...(codeSince === undefined ? {} : { code_since: DateTime.makeUnsafe(codeSince) })
  }
}

const openFields = ({ pending, inFlight, oldestSequence }: LaneCounts) => ({
  pending,
  in_flight: inFlight,
  ...(oldestSequence === undefined ? {} : { oldest_open_nonce: Number(oldestSequence) })
})

const clearedOf = ({ rows, changed }: Cleared): ClearedNonces => ({
  transaction_ids: [...changed],
  transactions: rows.map(({ id, transaction }) => ({
    transaction_id: id,
    nonce: nonceOf(transaction) ?? 0,
    status: statusOf(transaction.state),
    changed: changed.has(id),
    ...present("code", transaction.cause?.code)
  }))
})

/** Such a price counts for no limit: the fees of a no-op are those of the key that sent the transaction. */
const limitedPrice = TransactionLimitExceeded.of({
  field: "max_fee_per_gas",
  message: "an API key with transaction_limits may not give a price; use a key without transaction_limits"
})

export const make = Effect.gen(function* () {
  const { first, each } = yield* makeRelayerNodes
  const ledger = yield* Ledger
  const outboundWork = yield* OutboundWork
  const checkOwn = yield* makeOwnCheck

  const ofLedger = Effect.fnUntraced(function* ({ account, numbers }: EvmSender) {
    const lane = yield* ledger.laneOf(account)
    const open = yield* ledger.countLane(account)
    const state: NonceState = {
      address: account.address,
      chain_id: numbers.chainId,
      ...laneFields(lane),
      ...openFields(open)
    }
    return state
  })

  const ofChain = ({ account, numbers }: EvmSender) =>
    first(account.relayerId, numbers.chainId, (node) =>
      Effect.all([node.call(countAt(account.address, "latest")), node.call(countAt(account.address, "pending"))], {
        concurrency: 2
      })
    ).pipe(
      Effect.map(([chain_count, chain_pending_count]) => ({ chain_count, chain_pending_count })),
      Effect.catchTag("BadGateway", () => Effect.succeed({}))
    )

  /** The lowest count in a final block over all providers that answer. Only transactions with a nonce need it. */
  const usedBelow = Effect.fnUntraced(function* ({ account, numbers }: EvmSender) {
    const { inFlight } = yield* ledger.countLane(account)
    if (inFlight === 0) return 0n
    const counts = yield* each(account.relayerId, numbers.chainId, (node) =>
      Effect.flatMap(readHead(node, numbers.finality), ({ finalHeight }) =>
        finalHeight < 0 ? Effect.succeed(0) : node.call(countAt(account.address, finalHeight))
      )
    )
    return counts.length === 0 ? 0n : BigInt(Math.min(...counts))
  })

  const checkDelegation = (field: string) =>
    Effect.fnUntraced(function* (row: StoredTransaction) {
      if (!isTransactionOf<Evm>(evmRules, row) || !concernsDelegation(row.transaction)) return
      if (!mayDelegate(yield* Caller.current)) return yield* notAllowed(field)
    })

  const nonces: SequenceNetwork = {
    type: evmRules.type,
    checkDecision: checkDelegation("transaction_id"),
    ofLedger: (sender) => ofLedger(senderOf(sender)),
    get: Effect.fnUntraced(function* (sender) {
      const evm = senderOf(sender)
      const known = yield* ofLedger(evm)
      return { ...known, ...(yield* outboundWork.run(ofChain(evm))) }
    }),
    usedBelow: (sender) => outboundWork.run(usedBelow(senderOf(sender))),
    clear: Effect.fnUntraced(function* ({ account }, { from, to, max_fee_per_gas: price }) {
      if (to < from || to - from >= maxCleared) {
        return yield* BadRequest.of([{ field: "to", message: `must be from ${from} to ${from + maxCleared - 1}` }])
      }
      const { transactionLimits } = yield* Caller.current
      if (price !== undefined && transactionLimits !== undefined) return yield* limitedPrice
      const range = { from: BigInt(from), to: BigInt(to), ...present("price", price) }
      const check = (row: StoredTransaction) => Effect.andThen(checkDelegation("from")(row), checkOwn(row))
      return clearedOf(yield* ledger.clear(account, { ...range, check }))
    })
  }
  return nonces
})

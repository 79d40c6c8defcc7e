// `eth_sendTransaction`: accepts a transaction as `POST …/transactions` does, and waits for its first hash. An error always
// means that the transaction will not be executed.
import { Effect, Option, Schedule } from "effect"
import * as Caller from "../../../../domain/access/Caller.ts"
import type { Evm } from "../../../../domain/transaction/evm/Evm.ts"
import { evmRules } from "../../../../domain/transaction/evm/EvmRules.ts"
import { SendEvmTransaction } from "../../../../domain/transaction/evm/SendEvmTransaction.ts"
import * as WalletTransaction from "../../../../domain/transaction/evm/WalletTransaction.ts"
import { estimateGas } from "../../../chains/evm/EvmCalls.ts"
import * as RevertReason from "../../../chains/evm/RevertReason.ts"
import { Ledger } from "../../../ledger/Ledger.ts"
import * as Checks from "../Checks.ts"
import * as RelayerNodes from "../RelayerNodes.ts"
import type { EvmSender } from "../EvmSenders.ts"
import { textOf } from "../../Intake.ts"
import { invalidParams, notExecuted, refused, rpcCodes, RpcError } from "../../../../domain/transaction/NodeCall.ts"
import { isFinal, newestRequest } from "../../../../domain/transaction/Transaction.ts"
import type { TransactionId } from "../../../../domain/transaction/TransactionValues.ts"
import { isTransactionOf } from "../../../ledger/LedgerEntries.ts"
import type { StoredTransaction } from "../../../ledger/LedgerEntries.ts"
import { mayRead } from "../../Senders.ts"
import { Transactions } from "../../Transactions.ts"
import type { Params } from "./Params.ts"
import * as Refusals from "./Refusals.ts"

/** How long a client waits for the first hash. Scripts that require nonces wait as long for their predecessors. */
const patience = "15 seconds"

/** Another instance may sign, so the ledger is asked. */
const polls = Schedule.min([Schedule.exponential("10 millis", 1.5), Schedule.spaced("250 millis")])

const bodyText = textOf(SendEvmTransaction)

/** Whether there is a hash, or there will be none. */
const isSettled = ({ transaction }: StoredTransaction): boolean =>
  transaction.attempts.length > 0 || isFinal(transaction)

export const make = Effect.gen(function* () {
  const ledger = yield* Ledger
  const transactions = yield* Transactions
  const { first: ask } = yield* RelayerNodes.make

  const accept = (sender: EvmSender, body: SendEvmTransaction) =>
    transactions.send(sender.relayer.id, body).pipe(
      Effect.catchTags({
        BadRequest: ({ error = "is not valid" }) => Effect.fail(invalidParams(WalletTransaction.withNodeNames(error))),
        TransactionLimitExceeded: ({ error }) => Effect.fail(refused(error)),
        TransactionConflict: ({ error }) => Effect.fail(refused(error)),
        RelayerPaused: () => Effect.fail(refused("Relayer paused")),
        TooManyRequests: () =>
          Effect.fail(new RpcError({ code: rpcCodes.limitExceeded, message: "too many open transactions" })),
        RelayerNotFound: () => Effect.fail(notExecuted("Relayer not found")),
        NotImplemented: ({ error }) => Effect.fail(notExecuted(error))
      })
    )

  const get = (sender: EvmSender, id: TransactionId) => Effect.orDie(ledger.get(sender.account.relayerNumber, id))

  const withdraw = (sender: EvmSender, id: TransactionId) =>
    Effect.orDie(ledger.withdraw(sender.account.relayerNumber, id))

  /** The row with its first bytes, or one that will never have any. */
  const settle = Effect.fnUntraced(function* (sender: EvmSender, id: TransactionId) {
    const settled = yield* get(sender, id).pipe(
      Effect.repeat({ schedule: polls, until: isSettled }),
      Effect.timeoutOption(patience)
    )
    if (Option.isSome(settled)) return settled.value
    const withdrawn = yield* withdraw(sender, id)
    return Option.isSome(withdrawn) ? withdrawn.value : yield* get(sender, id)
  })

  /** The ledger keeps the reason of a revert and not its data, so a provider is asked again. */
  const revertData = ({ relayer, numbers }: EvmSender, { transaction }: StoredTransaction<Evm>) =>
    ask(relayer.id, numbers.chainId, (node) =>
      node.ask(estimateGas({ ...newestRequest(transaction), from: relayer.address }))
    ).pipe(
      Effect.map((answer) => (answer._tag === "RpcError" ? RevertReason.dataOf(answer) : undefined)),
      Effect.orElseSucceed(() => undefined)
    )

  const hashOf = Effect.fnUntraced(function* (sender: EvmSender, stored: StoredTransaction) {
    const [first] = stored.transaction.attempts
    if (first !== undefined) return first.hash
    if (stored.transaction.cause?.code !== "would_revert") return yield* Refusals.refusalOf(stored)
    const data = isTransactionOf<Evm>(evmRules, stored) ? yield* revertData(sender, stored) : undefined
    return yield* Refusals.revertOf(stored, data)
  })

  /**
   * The transaction of a call that is repeated: with a nonce, the same call is executed once. Without one, each call is a transaction
   * of its own.
   */
  const repeatOf = Effect.fnUntraced(function* ({ account }: EvmSender, body: SendEvmTransaction) {
    if (body.nonce === undefined) return undefined
    const found = yield* ledger.requiring(account, BigInt(body.nonce), bodyText(body))
    return found !== undefined && mayRead(yield* Caller.current, found) ? found : undefined
  })

  /** Until the hash is known, the end of the scope withdraws it: the client has disconnected, or a fault came in between. */
  const admitNew = Effect.fnUntraced(function* (sender: EvmSender, body: SendEvmTransaction) {
    const [forbidden] = yield* Checks.policyViolations(body, sender)
    if (forbidden !== undefined) {
      return yield* refused(WalletTransaction.withNodeNames(`${forbidden.field}: ${forbidden.message}`))
    }
    const open = { isSettled: false }
    const { id } = yield* Effect.acquireRelease(accept(sender, body), ({ id }) =>
      open.isSettled ? Effect.void : withdraw(sender, id)
    )
    return Effect.tap(settle(sender, id), () => Effect.sync(() => (open.isSettled = true)))
  })

  /** Ends with the row of the transaction. A repeat does not withdraw what another request has sent: it waits as long as it may. */
  const admit = Effect.fn("Wallet.send")(function* (sender: EvmSender, transaction: unknown) {
    const { relayer, numbers } = sender
    const body = yield* WalletTransaction.read(transaction, { address: relayer.address, chainId: numbers.chainId })
    const repeat = yield* repeatOf(sender, body)
    return repeat === undefined
      ? yield* admitNew(sender, body)
      : Effect.repeat(get(sender, repeat.id), { schedule: polls, until: isSettled })
  })

  const begin = (sender: EvmSender, [transaction]: Params) =>
    Effect.map(admit(sender, transaction), (settled) => Effect.flatMap(settled, (stored) => hashOf(sender, stored)))

  return { begin }
})

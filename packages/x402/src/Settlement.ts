// One request to settle a payment: it claims the payment, sends its call or finds what was sent before, and waits for the block. Of any
// number of such requests, on any instance, one is answered with a success.
import { concatHex, encodeFunctionData, keccak256, size, stringToHex, verifyTypedData } from "viem"
import type { Abi } from "viem"
import { lookBack } from "./Chain.ts"
import type { Chain } from "./Chain.ts"
import type { Payers } from "./Payers.ts"
import { hasSignatureOf, isCallOf } from "./Payment.ts"
import type { Payment } from "./Payment.ts"
import { RelayersError } from "./Relayers.ts"
import type { Hex, Relayer, Relayers, Row } from "./Relayers.ts"
import type { ExactScheme, SettleResponse, Signer, Store, WriteArguments } from "./X402.ts"

export interface Clock {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Ends early, without an error, when the signal is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** Seconds of a lease. A holder that dies keeps the others waiting as long. */
const lease = 15

/** Milliseconds. A holder extends its lease as often. */
const renewAfter = 5000

/** Milliseconds. */
const pause = { least: 200, most: 600 } as const

/**
 * Milliseconds between two tries: for a claim that another request holds, and for a service that has not answered. Requests that
 * began together come back one after the other.
 */
export const retryAfter = (): number => pause.least + Math.random() * (pause.most - pause.least)

/** Milliseconds for which a request that did not wait for its claim knows what was sent for the payment. */
const newFor = 2000

/** Milliseconds before `validBefore` after which the call is not sent any more. */
const margin = 2000

/** Milliseconds for which a call may wait for its block. */
const longestWait = 600_000

/** Bytes of a suffix of the call data: a payer must not make the relayers pay for more. */
const maxSuffix = 128

/** Ids of the transactions of a payment. The next one is used if the former is final without an effect. */
const suffixes = ["", "-2", "-3"]

/** What a settlement ends with that is no success. */
class Stopped extends Error {
  readonly reason: string
  readonly hash: Hex | undefined

  constructor(reason: string, message: string, hash?: Hex) {
    super(message)
    this.reason = reason
    this.hash = hash
  }
}

export const reasons = {
  used: "invalid_exact_evm_nonce_already_used",
  duplicate: "duplicate_settlement",
  pending: "settlement_pending",
  failed: "invalid_exact_evm_transaction_failed",
  late: "invalid_exact_evm_payload_authorization_valid_before"
} as const

const pending = (message: string, hash?: Hex) => new Stopped(reasons.pending, message, hash)

const used = (message: string) => new Stopped(reasons.used, message)

/** Whether the transaction is final and has moved nothing. */
export const isOver = ({ status, minedAs }: Row): boolean =>
  status === "failed" || status === "canceled" || status === "expired" || (status === "confirmed" && minedAs === "noop")

/** Whether a block has the call, and it was not reverted. */
export const hasMoved = ({ status, minedAs, code }: Row): boolean =>
  (status === "mined" || status === "confirmed") && minedAs === "call" && code !== "reverted_unconfirmed"

const isReverted = ({ code }: Row): boolean =>
  code === "reverted" || code === "out_of_gas" || code === "reverted_unconfirmed"

/**
 * The scheme does not wait for each of its questions: one that is rejected would end the process. The code of an address that no node
 * tells is unknown, and what the scheme makes of that is no verdict.
 */
export const unknownIf = <A>(read: Promise<A>): Promise<A | undefined> => read.catch(() => undefined)

export interface Sent {
  /** The transaction that counts: one that can have an effect, else the last one. */
  readonly row: Row | undefined
  /** The id of the next transaction, if `row` is over or absent. */
  readonly next: string | undefined
}

/** What was sent for the payment before. Fails if its nonce was used for another call. */
export const sentFor = async (relayers: Relayers, payment: Payment): Promise<Sent> => {
  let row: Row | undefined
  for (const suffix of suffixes) {
    const id = payment.name + suffix
    const rows = await relayers.find(id)
    if (rows.some((one) => !isCallOf(payment, one))) throw used("the nonce was used for another payment")
    const alive = rows.find((one) => !isOver(one))
    if (alive !== undefined) return { row: alive, next: undefined }
    if (rows.length === 0) return { row, next: id }
    row = rows.at(-1)
  }
  return { row, next: undefined }
}

/** Relayers in the order in which this payment tries them, the same on each instance. */
const ranked = (relayers: ReadonlyArray<Relayer>, name: string): ReadonlyArray<Relayer> =>
  relayers
    .map((relayer) => ({ relayer, rank: keccak256(stringToHex(`${name}/${relayer.id}`)) }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1))
    .map(({ relayer }) => relayer)

export interface Settling {
  readonly exact: ExactScheme
  readonly relayers: Relayers
  readonly chain: Chain
  readonly payers: Payers
  readonly clock: Clock
  /** Gas of a call that a key has signed, and of one that a contract checks. */
  readonly maxGas: { readonly key: number; readonly wallet: number }
  /** Milliseconds until a request is answered. */
  readonly budget: number
  /** Milliseconds for which a payment can be answered as settled. */
  readonly repeatWithin: number
}

/** `repeats`: the seller remembers what it has served, so that a payment may be answered as settled again. */
export const settle = async (
  settling: Settling,
  payment: Payment,
  repeats: boolean,
  closed: AbortSignal
): Promise<SettleResponse> => {
  const { exact, relayers, chain, payers, clock } = settling
  const { name, network, payer } = payment
  const by = crypto.randomUUID()
  const deadline = clock.now() + settling.budget
  const ended = new AbortController()
  const over = new AbortController()
  void clock.sleep(settling.budget, ended.signal).then(() => over.abort())
  const signal = AbortSignal.any([over.signal, closed])
  const until =
    payment.token.confirmAbove !== undefined && payment.value > payment.token.confirmAbove ? "confirmed" : "mined"

  let held = false
  let isRepeat = false
  let isUnanswered = false
  let stopped: Stopped | undefined
  let entered = false
  let newest: Hex | undefined
  /** What was sent before the claim, as long as no other request can have sent since. */
  let looked: (Sent & { readonly at: number }) | undefined

  const isEnded = () => closed.aborted || clock.now() >= deadline

  /** Repeats what the service has not answered, until the end of the budget. */
  const answered = async <A>(ask: () => Promise<A>): Promise<A> => {
    for (;;) {
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof RelayersError) || error.kind === "refused" || isEnded()) throw error
      }
      await clock.sleep(retryAfter(), signal)
    }
  }

  const renew = async () => {
    for (;;) {
      await clock.sleep(renewAfter, ended.signal)
      if (ended.signal.aborted) return
      // A lease that has not been extended is found out when the claim is made final.
      await relayers.claim(name, by, lease).catch(() => undefined)
    }
  }

  /** The first request gets the claim. The others wait for its end. */
  const hold = async () => {
    for (;;) {
      const state = await answered(() => relayers.claim(name, by, lease))
      if (state === "mine") {
        if (!held) void renew()
        held = true
        return
      }
      if (state === "final") {
        if (repeats) {
          isRepeat = true
          return
        }
        const { row } = await answered(() => sentFor(relayers, payment))
        throw new Stopped(reasons.duplicate, "the payment was settled before", row?.hash ?? newest)
      }
      looked = undefined
      if (isEnded()) {
        const { row } = await answered(() => sentFor(relayers, payment))
        throw pending("another request settles the payment", row?.hash)
      }
      await clock.sleep(retryAfter(), signal)
    }
  }

  /** The hash of somebody else's transaction that has moved the payment. */
  const landed = async (row: Row): Promise<Hex | undefined> => {
    try {
      const found = await answered(() => chain.landed(payment))
      if (found.is === "moved") return found.hash
      if (found.is === "other" && isOver(row)) throw used("the nonce was used by another call")
      return undefined
    } catch (error) {
      if (error instanceof RelayersError) throw pending(error.message, row.hash)
      throw error
    }
  }

  /** The hash of the block's transaction, as soon as there is one. */
  const mined = async (given: Row): Promise<Hex> => {
    let row = given
    for (;;) {
      newest = row.hash ?? newest
      if (hasMoved(row) && (until === "mined" || row.status === "confirmed") && row.hash !== undefined) {
        if (clock.now() - row.createdAt < settling.repeatWithin) return row.hash
        throw used("the payment was settled too long ago")
      }
      if (isOver(row) || isReverted(row)) {
        const hash = await landed(row)
        if (hash !== undefined) return hash
        if (isOver(row)) {
          if (isReverted(row)) payers.reverted(payment)
          throw new Error(row.revertReason ?? row.reason ?? "the transaction has failed")
        }
      }
      if (isEnded()) return unmined(row)
      const current = row
      // A block has a no-op or a revert: only its end decides.
      row = await answered(() => relayers.waitFor(current, current.status === "mined" ? "confirmed" : until, signal))
    }
  }

  /** The budget is over: what nothing was signed for is canceled, and everything else may still be executed. */
  const unmined = async (row: Row): Promise<never> => {
    if (row.status === "pending" && !closed.aborted) {
      const canceled = await relayers.cancelPending(row).catch(() => undefined)
      if (canceled !== undefined && isOver(canceled)) {
        throw new Stopped(
          reasons.failed,
          `the payment was canceled, because it waited too long: ${row.reason ?? "no reason"}`
        )
      }
    }
    throw pending("no block has the payment yet", row.hash)
  }

  /** Accepts the call, by the first relayer that does not refuse it. */
  const send = async (externalId: string, to: Hex, data: Hex): Promise<Row> => {
    const now = clock.now()
    const validUntil = Math.min(Number(payment.validBefore) * 1000 - margin, now + longestWait)
    if (validUntil <= now) throw new Stopped(reasons.late, "too little time is left until validBefore")
    const isOfKey = payment.method === "eip3009" && size(payment.signature) === 65
    const call = { externalId, to, data, gasLimit: isOfKey ? settling.maxGas.key : settling.maxGas.wallet, validUntil }
    let why = "no relayer serves the chain"
    for (const relayer of ranked(await answered(chain.list), name)) {
      let isUnknown = false
      try {
        return await answered(async () => {
          try {
            return await relayers.send(relayer.id, call)
          } catch (error) {
            isUnknown ||= error instanceof RelayersError && error.kind === "unanswered"
            throw error
          }
        })
      } catch (error) {
        if (!(error instanceof RelayersError)) throw error
        // The row of an earlier request, or of one whose answer was lost.
        const { row } = await sentFor(relayers, payment).catch((other: unknown) => {
          throw other instanceof RelayersError ? pending(other.message) : other
        })
        if (row !== undefined && !isOver(row)) return row
        if (isUnknown) throw pending("the service has not answered: it may have accepted the payment")
        why = error.message
      }
    }
    throw new Stopped(reasons.failed, why)
  }

  const enter = async () => {
    const refused = await answered(() => payers.enter(payment))
    if (refused !== undefined) throw new Stopped(refused.reason, refused.message)
    entered = true
  }

  /** Under the claim: one call at a time is on its way, whatever other requests have sent before. */
  const execute = async (to: Hex, data: Hex): Promise<Hex> => {
    const known = looked !== undefined && clock.now() - looked.at < newFor ? looked : undefined
    const { row, next } = known ?? (await answered(() => sentFor(relayers, payment)))
    if (row !== undefined) {
      if (!isOver(row)) return mined(row)
      const hash = await landed(row)
      if (hash !== undefined) return hash
    }
    if (isRepeat) throw new Stopped(reasons.duplicate, "the payment was settled before")
    if (next === undefined)
      throw new Stopped(reasons.failed, `${suffixes.length} transactions of the payment had no effect`)
    await enter()
    return mined(await send(next, to, data))
  }

  /** Keeps an error of the work for the answer. The scheme gets the same error, and may make another one of it. */
  const kept = async <A>(work: () => Promise<A>): Promise<A> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof Stopped) stopped = error
      if (error instanceof RelayersError) stopped = pending(error.message, newest)
      throw error
    }
  }

  const noted = async <A>(read: () => Promise<A>): Promise<A> => {
    try {
      return await read()
    } catch (error) {
      isUnanswered ||= error instanceof RelayersError && error.kind !== "refused"
      throw error
    }
  }

  /** The scheme asks for the code of the payer more than once. */
  const codes = new Map<Hex, Promise<Hex | undefined>>()

  const codeOf = (address: Hex): Promise<Hex | undefined> => {
    const known = codes.get(address) ?? unknownIf(noted(() => answered(() => chain.getCode(address))))
    codes.set(address, known)
    return known
  }

  const signer: Signer = {
    getAddresses: () => [],
    readContract: (args) => noted(() => answered(() => chain.readContract(args))),
    getCode: ({ address }) => codeOf(address),
    verifyTypedData: (args) => verifyTypedData(args),
    writeContract: (args: WriteArguments) =>
      kept(async () => {
        const { address, abi, functionName, dataSuffix = "0x" } = args
        if (size(dataSuffix) > maxSuffix)
          throw new Stopped(reasons.failed, `the data suffix has more than ${maxSuffix} bytes`)
        const data = concatHex([encodeFunctionData({ abi: abi as Abi, functionName, args: args.args }), dataSuffix])
        if (!isCallOf(payment, { to: address, data }))
          throw new Stopped(reasons.failed, "the call is not that of the payment")
        await hold()
        return execute(address, data)
      }),
    sendTransaction: () => kept(() => Promise.reject(new Stopped(reasons.failed, "wallets are not deployed here"))),
    waitForTransactionReceipt: ({ hash }) =>
      noted(async () => {
        for (;;) {
          const receipt = await answered(() => chain.receiptOf(hash))
          if (receipt !== undefined) return receipt
          if (isEnded()) throw new RelayersError("unanswered", "no node has the receipt yet")
          await clock.sleep(retryAfter(), signal)
        }
      })
  }

  /** Answers only for what was sent with the signature of the payment. */
  const store: Store = {
    get: () =>
      kept(async () => {
        const at = clock.now()
        looked = { at, ...(await answered(() => sentFor(relayers, payment))) }
        const { row } = looked
        if (row === undefined || isOver(row) || !hasSignatureOf(payment, row)) return undefined
        await hold()
        return mined(row)
      }),
    set: () => Promise.resolve(),
    delete: () => Promise.resolve()
  }

  const answer = (success: boolean, rest: Partial<SettleResponse>): SettleResponse => ({
    success,
    transaction: "",
    ...rest,
    payer,
    network,
    extra: { ...rest.extra, settlement: name }
  })

  const failed = ({ reason, message, hash }: Stopped): SettleResponse =>
    answer(false, { errorReason: reason, errorMessage: message, transaction: hash ?? "" })

  /** What the scheme takes for a failure is none while a transaction of this request may still be executed. */
  const unsettled = async (): Promise<SettleResponse | undefined> => {
    if (!held) return undefined
    const { row } = await answered(() => sentFor(relayers, payment))
    return row === undefined || isOver(row)
      ? undefined
      : failed(pending("the transaction may still be executed", row.hash))
  }

  const run = async (): Promise<SettleResponse> => {
    try {
      const result = await new exact(signer, { pendingSettlementStore: store }).settle(
        payment.payload,
        payment.requirements
      )
      if (stopped !== undefined) return failed(stopped)
      if (result.success || result.errorReason === reasons.pending) return answer(result.success, result)
      if (isUnanswered) return failed(pending("a node has not answered", newest))
      return (await unsettled()) ?? answer(false, result)
    } catch (error) {
      if (stopped !== undefined) return failed(stopped)
      if (error instanceof RelayersError) return failed(pending(error.message, newest))
      return failed(new Stopped(reasons.failed, error instanceof Error ? error.message : String(error), newest))
    }
  }

  /** Nobody else is answered with a success after the claim is final. */
  const finished = async (result: SettleResponse): Promise<SettleResponse> => {
    if (!result.success || isRepeat) return result
    const hash = result.transaction as Hex
    if (!held || closed.aborted) return failed(pending("the request was given up", hash))
    try {
      if (await answered(() => relayers.finish(name, by))) return result
    } catch {
      return failed(pending("the service has not answered", hash))
    }
    return failed(pending("the claim of this request has lapsed", hash))
  }

  try {
    const result = await finished(await run())
    ended.abort()
    if (held && !result.success) await relayers.release(name, by).catch(() => undefined)
    return result
  } finally {
    ended.abort()
    if (entered) payers.leave(payment)
  }
}

/** Milliseconds. Somebody else's transaction is looked for as far back. */
export const defaultRepeatWithin = lookBack * 1000

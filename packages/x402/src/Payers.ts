// Bounds what payers can make the relayers lose in gas: a transfer, a cancellation or a pause of the token reverts all payments that are
// on their way. Each instance counts for itself.
import type { Payment } from "./Payment.ts"

/** Payments of a payer on one chain that are on their way at once. */
const maxOpenPerPayer = 4

/** Mined reverts within `revertsWithin`, after which the payer is refused as long. */
const maxReverts = 3

/** Milliseconds. */
const revertsWithin = 3_600_000

/** Payers whose reverts are remembered; the oldest ones are forgotten first. */
const maxRemembered = 100_000

interface Refused {
  readonly reason: string
  readonly message: string
}

/** `asks`: how many requests wait for the payment. */
interface Entered {
  readonly payment: Payment
  readonly asks: number
}

const keyOf = ({ chainId, payer }: Payment): string => `${chainId}:${payer}`

export const makePayers = (balanceOf: (payment: Payment) => Promise<bigint>, now: () => number) => {
  const open = new Map<string, Map<string, Entered>>()
  const reverts = new Map<string, ReadonlyArray<number>>()

  /** Whether the payer has made the relayers pay for too many reverts. */
  const isRefused = (payment: Payment): boolean => {
    const recent = (reverts.get(keyOf(payment)) ?? []).filter((at) => now() - at < revertsWithin)
    return recent.length >= maxReverts
  }

  const refusedPayer: Refused = {
    reason: "payer_refused",
    message: `${maxReverts} payments of this payer have reverted within an hour`
  }

  /** Counts the payment as open until `leave`, or says why it is refused. */
  const enter = async (payment: Payment): Promise<Refused | undefined> => {
    if (isRefused(payment)) return refusedPayer
    const key = keyOf(payment)
    const mine = open.get(key) ?? new Map<string, Entered>()
    const others = [...mine.values()].map(({ payment }) => payment).filter(({ name }) => name !== payment.name)
    if (others.length >= maxOpenPerPayer) {
      const message = `${maxOpenPerPayer} payments of this payer are on their way; repeat this one when they are settled`
      return { reason: "too_many_open_payments", message }
    }
    open.set(key, mine.set(payment.name, { payment, asks: (mine.get(payment.name)?.asks ?? 0) + 1 }))
    const moving = others.filter(({ asset }) => asset === payment.asset).reduce((sum, { value }) => sum + value, 0n)
    if (moving === 0n) return undefined
    try {
      if ((await balanceOf(payment)) >= moving + payment.value) return undefined
    } catch (error) {
      leave(payment)
      throw error
    }
    leave(payment)
    return {
      reason: "invalid_exact_evm_insufficient_balance",
      message: `the balance of the payer does not cover its ${others.length + 1} payments that are on their way`
    }
  }

  const leave = (payment: Payment): void => {
    const key = keyOf(payment)
    const mine = open.get(key)
    const asks = (mine?.get(payment.name)?.asks ?? 1) - 1
    if (asks > 0) mine?.set(payment.name, { payment, asks })
    else mine?.delete(payment.name)
    if (mine?.size === 0) open.delete(key)
  }

  const reverted = (payment: Payment): void => {
    const key = keyOf(payment)
    const recent = (reverts.get(key) ?? []).filter((at) => now() - at < revertsWithin)
    reverts.delete(key)
    reverts.set(key, [...recent, now()])
    const oldest = reverts.keys().next().value
    if (reverts.size > maxRemembered && oldest !== undefined) reverts.delete(oldest)
  }

  return { isRefused, refusedPayer, enter, leave, reverted }
}

export type Payers = ReturnType<typeof makePayers>

// A facilitator of x402: it verifies payments, settles them through relayers, and says what it offers.
import { Clock as EffectClock, Effect } from "effect"
import { verifyTypedData } from "viem"
import { makeChain } from "./Chain.ts"
import type { Chain } from "./Chain.ts"
import { makePayers } from "./Payers.ts"
import type { Payers } from "./Payers.ts"
import { hasSignatureOf, isInvalid, parse } from "./Payment.ts"
import type { OfferedNetwork, Payment } from "./Payment.ts"
import { RelayersError } from "./Relayers.ts"
import type { Relayers, Row } from "./Relayers.ts"
import { defaultRepeatWithin, hasMoved, isOver, reasons, retryAfter, sentFor, settle, unknownIf } from "./Settlement.ts"
import type { Clock, Sent, Settling } from "./Settlement.ts"
import type { ExactScheme, Network, SettleResponse, Signer, SupportedResponse, VerifyResponse } from "./X402.ts"

export interface Seller {
  /** The bearer token with which the seller asks. */
  readonly key: string
  /** The only addresses for which this seller asks. */
  readonly payTo: ReadonlyArray<string>
  /**
   * Whether the seller remembers which payments it has served: a payment that is asked for again is then answered as settled again.
   * Absent: false, so that of all requests for a payment one is answered as settled.
   */
  readonly repeat?: boolean
}

export interface Options {
  /** The class `ExactEvmScheme` of `@x402/evm/exact/facilitator`. */
  readonly exact: ExactScheme
  /** Of `@effect-relayer/x402/http` or `@effect-relayer/x402/layers`. */
  readonly relayers: Relayers
  readonly networks: ReadonlyArray<OfferedNetwork>
  readonly sellers: ReadonlyArray<Seller>
  /** Seconds until a request to settle is answered. Absent: 20; sellers wait 90. */
  readonly budget?: number
  /** Gas of a call at most: of one that a key has signed, and of one that a contract checks. Absent: 150,000 and 300,000. */
  readonly maxGas?: { readonly key: number; readonly wallet: number }
  /** Absent: the clock of the platform. */
  readonly clock?: Clock
}

/** The state of a payment. `settled`: the facilitator has answered a seller with success. */
export interface Settlement {
  readonly name: string
  readonly status: "settled" | "moved" | "open" | "failed"
  readonly transaction?: string
}

export interface Facilitator {
  /** The seller with this bearer token. */
  readonly sellerOf: (key: string) => Promise<Seller | undefined>
  readonly verify: (body: unknown, seller: Seller) => Promise<VerifyResponse>
  /** `closed`: the seller does not wait for the answer any more. */
  readonly settle: (body: unknown, seller: Seller, closed?: AbortSignal) => Promise<SettleResponse>
  readonly supported: () => Promise<SupportedResponse>
  /** By the name that answers have as `extra.settlement`. Undefined if nothing was sent for the seller by this name. */
  readonly settlement: (name: string, seller: Seller) => Promise<Settlement | undefined>
}

/** Seconds until a request to settle is answered. */
const defaultBudget = 20

/** A transfer by EIP-3009 uses about 80,000; a wallet that checks a signature and Permit2 use more. */
const defaultMaxGas = { key: 150_000, wallet: 300_000 }

/** Seconds that a payment must be valid for beside the time of two blocks, so that it does not end as a no-op. */
const leastTime = 30

const systemClock: Clock = {
  now: () => Effect.runSync(EffectClock.currentTimeMillis),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve()
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener("abort", end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal?.addEventListener("abort", end)
    })
}

const digest = async (text: string): Promise<string> =>
  Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toString("hex")

const nameOf = /^x402-[0-9a-f]{64}$/

interface Served {
  readonly offered: OfferedNetwork
  readonly chain: Chain
  readonly payers: Payers
}

export const createFacilitator = (options: Options): Facilitator => {
  const {
    exact,
    relayers,
    networks,
    sellers,
    budget = defaultBudget,
    maxGas = defaultMaxGas,
    clock = systemClock
  } = options
  const served = new Map<string, Served>(
    networks.map((offered) => {
      const chain = makeChain(offered, relayers, clock.now)
      return [offered.network, { offered, chain, payers: makePayers(chain.balanceOf, clock.now) }]
    })
  )
  const byKey = Promise.all(sellers.map(async (seller) => [await digest(seller.key), seller] as const)).then(
    (entries) => new Map(entries)
  )

  const settlingOf = (payment: Payment): Settling & Served => {
    const found = served.get(payment.network)
    if (found === undefined) throw new Error(`${payment.network} is not offered`)
    const times = { budget: budget * 1000, repeatWithin: defaultRepeatWithin }
    return { ...found, ...times, exact, relayers, clock, maxGas }
  }

  const invalid = (reason: string, message: string, payment?: Payment): VerifyResponse => ({
    isValid: false,
    invalidReason: reason,
    invalidMessage: message,
    ...(payment === undefined ? {} : { payer: payment.payer, extra: { settlement: payment.name } })
  })

  const isYoung = ({ createdAt }: Row): boolean => clock.now() - createdAt < defaultRepeatWithin

  /**
   * Whether the transaction has the payment's signature, which was verified before it was sent, and has moved the payment or still
   * can: then neither the time nor the balance of now decides.
   */
  const isOnItsWay = async (payment: Payment, row: Row, chain: Chain): Promise<boolean> => {
    if (!hasSignatureOf(payment, row) || !isYoung(row)) return false
    if (!isOver(row)) return true
    return (await chain.landed(payment)).is === "moved"
  }

  const isLate = ({ validBefore }: Payment, { blockTime }: OfferedNetwork): boolean =>
    Number(validBefore) - clock.now() / 1000 < 2 * blockTime + leastTime

  const verified = async (payment: Payment, { repeat = false }: Seller): Promise<VerifyResponse> => {
    const { chain, payers, offered } = settlingOf(payment)
    const valid: VerifyResponse = { isValid: true, payer: payment.payer, extra: { settlement: payment.name } }
    const [sent, claim] = await Promise.all([
      sentFor(relayers, payment).catch((error: unknown) => {
        if (error instanceof RelayersError || !(error instanceof Error)) throw error
        return error
      }),
      relayers.claimOf(payment.name)
    ])
    if (sent instanceof Error) return invalid(reasons.used, sent.message, payment)
    if (claim === "final" && !repeat) return invalid(reasons.used, "the payment was settled before", payment)
    if (sent.row !== undefined && (await isOnItsWay(payment, sent.row, chain))) return valid
    if (isLate(payment, offered)) return invalid(reasons.late, "too little time is left until validBefore", payment)
    if (payers.isRefused(payment)) {
      return invalid(payers.refusedPayer.reason, payers.refusedPayer.message, payment)
    }
    let unanswered: RelayersError | undefined
    const reader = readerOf(chain, (error) => (unanswered = error))
    const result = await new exact(reader, { pendingSettlementStore: emptyStore }).verify(
      payment.payload,
      payment.requirements
    )
    // The scheme takes a node that does not answer for one that says no.
    if (!result.isValid && unanswered !== undefined) throw unanswered
    return { ...result, extra: { ...result.extra, settlement: payment.name } }
  }

  /** Repeats what the service has not answered, until the end of the budget. */
  const patientlyVerified = async (payment: Payment, seller: Seller): Promise<VerifyResponse> => {
    const deadline = clock.now() + budget * 1000
    for (;;) {
      try {
        return await verified(payment, seller)
      } catch (error) {
        if (!(error instanceof RelayersError) || error.kind === "refused" || clock.now() >= deadline) {
          return invalid("unexpected_verify_error", error instanceof Error ? error.message : String(error), payment)
        }
      }
      await clock.sleep(retryAfter())
    }
  }

  const stateOf = (claim: string, { row }: Sent): Settlement["status"] => {
    if (claim === "final") return "settled"
    if (row === undefined || isOver(row)) return "failed"
    return hasMoved(row) ? "moved" : "open"
  }

  return {
    sellerOf: async (key) => (await byKey).get(await digest(key)),
    verify: async (body, seller) => {
      const payment = parse(body, networks, seller.payTo)
      if (isInvalid(payment)) return invalid(payment.reason, payment.message)
      return patientlyVerified(payment, seller)
    },
    settle: async (body, seller, closed = new AbortController().signal) => {
      const payment = parse(body, networks, seller.payTo)
      if (isInvalid(payment)) {
        const { reason, message, network } = payment
        return { success: false, errorReason: reason, errorMessage: message, transaction: "", network }
      }
      return settle(settlingOf(payment), payment, seller.repeat ?? false, closed)
    },
    supported: async () => {
      const addresses = await Promise.all([...served.values()].map(({ chain }) => chain.list()))
      return {
        kinds: networks.map(({ network }) => ({ x402Version: 2, scheme: "exact", network: network as Network })),
        extensions: [],
        signers: { "eip155:*": [...new Set(addresses.flat().map(({ address }) => address))] }
      }
    },
    settlement: async (name, { payTo }) => {
      if (!nameOf.test(name)) return undefined
      const rows = (await Promise.all(["", "-2", "-3"].map((suffix) => relayers.find(name + suffix)))).flat()
      const row = rows.find((one) => !isOver(one)) ?? rows.at(-1)
      const isOwn = (one: Row) =>
        payTo.some((address) => one.data.toLowerCase().includes(address.slice(2).toLowerCase()))
      if (row === undefined || !isOwn(row)) return undefined
      const status = stateOf(await relayers.claimOf(name), { row, next: undefined })
      return { name, status, ...(row.hash === undefined ? {} : { transaction: row.hash }) }
    }
  }
}

const emptyStore = {
  get: () => Promise.resolve(undefined),
  set: () => Promise.resolve(),
  delete: () => Promise.resolve()
}

/** A signer that sends nothing. `note`: takes the error of a service that has not answered. */
const readerOf = ({ readContract, getCode }: Chain, note: (error: RelayersError) => void): Signer => {
  const noted = async <A>(read: Promise<A>): Promise<A> => {
    try {
      return await read
    } catch (error) {
      if (error instanceof RelayersError && error.kind !== "refused") note(error)
      throw error
    }
  }
  const refuse = () => Promise.reject(new Error("nothing is sent to verify a payment"))
  return {
    getAddresses: () => [],
    readContract: (args) => noted(readContract(args)),
    getCode: ({ address }) => unknownIf(noted(getCode(address))),
    verifyTypedData: (args) => verifyTypedData(args),
    writeContract: refuse,
    sendTransaction: refuse,
    waitForTransactionReceipt: refuse
  }
}

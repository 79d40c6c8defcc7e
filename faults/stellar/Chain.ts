// The chain of the cases about stellar: a stand-in ledger with several providers, in this process.
import { DateTime, Effect, Schedule } from "effect"
import { decode, feeSourceOf, fullFeeOf } from "../../testkit/stellar/Envelope.ts"
import { accountIn } from "../../testkit/stellar/Entries.ts"
import { Network } from "../../testkit/stellar/Network.ts"
import { honest } from "../../testkit/stellar/Provider.ts"
import type { Faults } from "../../testkit/stellar/Provider.ts"
import { serve } from "../../testkit/stellar/Serving.ts"
import { keyNamed } from "../../testkit/stellar/Building.ts"

/** Milliseconds between two ledgers. Close times are whole seconds and rise, so that it is a second at least. */
export const ledgerMillis = 1000

const passphrase = "Stand-in of the fault tests"

/** Payments go to it. */
const receiver = keyNamed("receiver of the fault tests").publicKey()

/** Stroops of the payment for slot 0. Each slot has one more, and no other payment has as few. */
const base = 10_000n

/** Slots that a load can have. */
const slots = 1_000_000n

/** Stroops of the payment of a slot. */
export const amountOf = (slot: number): bigint => base + BigInt(slot)

/** The request whose effect is the payment of a slot. */
export const requestOf = (slot: number) => ({
  network: "stand-in",
  valid_until: DateTime.formatIso(DateTime.makeUnsafe(performance.timeOrigin + performance.now() + 3_600_000)),
  operations: [{ type: "payment", destination: receiver, amount: String(amountOf(slot)), asset: { type: "native" } }]
})

export const start = Effect.fnUntraced(function* (providers: number) {
  const network = new Network({
    passphrase,
    now: () => performance.timeOrigin + performance.now(),
    nodes: providers
  })
  network.grant(receiver, 1_000_000_000n)
  const { standIn, url } = yield* serve(network)
  /** `beforeLedger` runs just before each ledger is closed. A case may replace it. */
  const chain = {
    network,
    urls: Array.from({ length: providers }, (_, index) => url(index)),
    passphrase,
    beforeLedger: () => {},
    /** Sets the faults of one provider, and removes its former ones. */
    misbehave: (provider: number, faults: Partial<Faults>) => {
      const found = standIn.providers[provider]
      if (found !== undefined) found.faults = { ...honest(), ...faults }
    },
    recover: () => standIn.recover()
  }
  yield* Effect.sync(() => {
    chain.beforeLedger()
    network.close()
  }).pipe(Effect.repeat(Schedule.spaced(ledgerMillis)), Effect.forkScoped)
  return chain
})

export type Chain = Effect.Success<ReturnType<typeof start>>

export const sequenceOf = ({ network }: Chain, address: string): bigint =>
  accountIn(network.reads, address)?.sequence ?? 0n

/** How often each slot has its payment in a ledger. */
export const countIn = ({ network }: Chain): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>()
  for (const { envelope, isSuccess } of network.ledgers.flatMap(({ transactions }) => transactions)) {
    const operations = isSuccess ? (decode(network.networkId, envelope)?.transaction.operations ?? []) : []
    for (const { body } of operations) {
      if (body.type !== "payment") continue
      const slot = body.paymentOp.amount - base
      if (slot >= 0n && slot < slots) counts.set(Number(slot), (counts.get(Number(slot)) ?? 0) + 1)
    }
  }
  return counts
}

/** How many transactions in ledgers have this source account. Each has used one sequence. */
export const usesOf = ({ network }: Chain, address: string): number =>
  network.ledgers.flatMap(({ transactions }) => transactions).filter(({ source }) => source === address).length

/** Stroops that an envelope of these accounts offers at most, of those in the ledgers. */
export const highestFeeOf = ({ network }: Chain, addresses: ReadonlyArray<string>): bigint => {
  let highest = 0n
  for (const { envelope } of network.ledgers.flatMap(({ transactions }) => transactions)) {
    const decoded = decode(network.networkId, envelope)
    if (decoded === undefined || !addresses.includes(feeSourceOf(decoded))) continue
    if (fullFeeOf(decoded) > highest) highest = fullFeeOf(decoded)
  }
  return highest
}

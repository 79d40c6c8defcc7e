// The cases on the stand-in ledger.
import { Effect, Schedule } from "effect"
import { counterContract } from "../../../testkit/stellar/Contracts.ts"
import { envelope, payment } from "../../../testkit/stellar/Building.ts"
import type { Faults } from "../../../testkit/stellar/Provider.ts"
import * as Loads from "../Loads.ts"
import type { Failure } from "../Network.ts"
import { figuresOf, latencies, withoutRates } from "../Results.ts"
import type { Figures } from "../Results.ts"
import { measure, sendOne } from "../Sending.ts"
import type { Group, Sender } from "../World.ts"
import type { StellarScale } from "./Scale.ts"
import { bodyOf, receiver } from "./World.ts"
import type { StellarWorld } from "./World.ts"

export const names = [
  "one account",
  "few channels",
  "many channels of two relayers",
  "50/s by many channels",
  "calls by few channels",
  "fee bumps",
  "single",
  "drain"
] as const

/** Requests in flight. */
const concurrency = 64

/** Seconds for which envelopes of users are valid. */
const userValidity = 250

/** Signs envelopes of new users. Each relayer gets `each` of them, in turn. */
const bumps = Effect.fnUntraced(function* (sender: Sender<StellarWorld>, { relayers }: Group, each: number) {
  const { keys, sequence } = yield* sender.users(relayers.length * each)
  const { passphrase: network } = sender.standIn
  const maxTime = Math.floor((performance.timeOrigin + performance.now()) / 1000) + userValidity
  return keys.flatMap((key, index) => {
    const relayer = relayers[index % relayers.length]
    const transaction_xdr = envelope(key, [payment(receiver, 1n)], { sequence, maxTime, network })
    return relayer === undefined
      ? []
      : [{ relayer, body: JSON.stringify({ network: "bench", transaction_xdr, fee_bump: true }) }]
  })
})

const some = ({ plain }: StellarWorld, count: number): Group => ({ ...plain, relayers: plain.relayers.slice(0, count) })

/** Envelopes of users, signed before the time is taken. */
const sponsored = Effect.fnUntraced(function* (
  sender: Sender<StellarWorld>,
  group: Group,
  each: number,
  around: { readonly before: Effect.Effect<void>; readonly whenAccepted: Effect.Effect<void> } = {
    before: Effect.void,
    whenAccepted: Effect.void
  }
) {
  const signed = yield* bumps(sender, group, each)
  const sends = Effect.forEach(signed, ({ body, relayer }) => sendOne(sender, relayer, body), { concurrency })
  return yield* measure(sender, Effect.andThen(around.before, sends), { ...group, whenAccepted: around.whenAccepted })
})

/** Stroops per operation: more than any relayer pays. */
const dear = { p95: "10000000000", p99: "10000000000" }

/** Waits until at most `most` transactions are with no node. */
const unsent = ({ installation: { sql } }: Sender, most: number) =>
  sql<{ count: number }>`SELECT count(*)::int AS count FROM transactions WHERE state IN ('pending', 'signed')`.pipe(
    Effect.repeat({ until: ([row]) => (row?.count ?? 0) <= most, schedule: Schedule.spaced("50 millis") }),
    Effect.orDie
  )

/**
 * The next ledger has all of them. The service signs nothing while the newest ledger is older than a minute, so all are accepted
 * first, while their fee is too high, and no ledger is closed from the first send to the last one.
 */
const drain = (sender: Sender<StellarWorld>, { flying, users }: StellarScale) => {
  const { control } = sender.standIn
  const closes = (running: boolean) => Effect.asVoid(control({ running }))
  const feeStats = (replaced: Faults["replaced"]) =>
    Effect.asVoid(control({ faults: { provider: 0, set: { replaced } } }))
  return sponsored(sender, some(sender, Math.ceil(flying / users)), users, {
    before: feeStats({ getFeeStats: { inclusionFee: dear, sorobanInclusionFee: dear } }),
    whenAccepted: feeStats({}).pipe(
      Effect.andThen(unsent(sender, flying - 1)),
      Effect.andThen(closes(false)),
      Effect.andThen(unsent(sender, 0)),
      Effect.andThen(closes(true))
    )
  })
}

const increment = { type: "invoke_contract", contract_address: counterContract, function_name: "increment", args: [] }

/** Calls of the contract that counts them. */
const calls = (sender: Sender<StellarWorld>, { relayers: [relayer] }: Group, count: number) => {
  const send = relayer === undefined ? Effect.die(new Error("no relayer")) : sendOne(sender, relayer, bodyOf(increment))
  const effects = Effect.map(sender.standIn.control({}), ({ counter }) => counter)
  return measure(sender, Effect.replicateEffect(send, count, { concurrency }), { confirmations: 0, effects })
}

export const casesOf = (
  sender: Sender<StellarWorld>,
  scale: StellarScale
): Readonly<Record<(typeof names)[number], Effect.Effect<Figures, Failure>>> => {
  const { few, ledgers, many, singles, sponsors, steadySeconds, users } = scale
  return {
    "one account": Effect.map(Loads.burst(sender, sender.plain, 1, ledgers.one), figuresOf),
    "few channels": Effect.map(Loads.burst(sender, sender.few, 1, few * ledgers.few), figuresOf),
    "many channels of two relayers": Effect.map(Loads.burst(sender, sender.many, 2, many * ledgers.many), figuresOf),
    "50/s by many channels": Effect.map(
      Loads.steady(sender, sender.many, 2, Loads.steadyRate, steadySeconds),
      withoutRates
    ),
    "calls by few channels": Effect.map(calls(sender, sender.few, few * ledgers.calls), figuresOf),
    "fee bumps": Effect.map(sponsored(sender, some(sender, sponsors), users), figuresOf),
    single: Effect.map(Loads.single(sender, sender.plain, singles), latencies),
    drain: Effect.map(drain(sender, scale), withoutRates)
  }
}

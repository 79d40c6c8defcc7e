// The cases on the stand-in ledger.
import { Effect, Schedule } from "effect"
import { counterContract } from "../../../testkit/stellar/Contracts.ts"
import { envelope, payment } from "../../../testkit/stellar/Building.ts"
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

const unsent = ({ installation: { sql } }: Sender) =>
  sql`SELECT 1 FROM transactions WHERE state IN ('pending', 'signed') LIMIT 1`

/** The next ledger has all of them: none is closed before a node has the last one. */
const drain = (sender: Sender<StellarWorld>, { flying, users }: StellarScale) => {
  const closes = (running: boolean) => Effect.asVoid(sender.standIn.control({ running }))
  const sent = unsent(sender).pipe(
    Effect.repeat({ until: (rows) => rows.length === 0, schedule: Schedule.spaced("50 millis") }),
    Effect.orDie
  )
  return sponsored(sender, some(sender, Math.ceil(flying / users)), users, {
    before: closes(false),
    whenAccepted: Effect.andThen(sent, closes(true))
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
  const { few, ledgers, many, singles, sponsors, users } = scale
  return {
    "one account": Effect.map(Loads.burst(sender, sender.plain, 1, ledgers.one), figuresOf),
    "few channels": Effect.map(Loads.burst(sender, sender.few, 1, few * ledgers.few), figuresOf),
    "many channels of two relayers": Effect.map(Loads.burst(sender, sender.many, 2, many * ledgers.many), figuresOf),
    "calls by few channels": Effect.map(calls(sender, sender.few, few * ledgers.calls), figuresOf),
    "fee bumps": Effect.map(sponsored(sender, some(sender, sponsors), users), figuresOf),
    single: Effect.map(Loads.single(sender, sender.plain, singles), latencies),
    drain: Effect.map(drain(sender, scale), withoutRates)
  }
}

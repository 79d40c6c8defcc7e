// The cases on anvil.
import { Effect, Schedule } from "effect"
import * as Loads from "../Loads.ts"
import type { Failure } from "../Network.ts"
import { figuresOf, latencies, withoutRates } from "../Results.ts"
import type { Figures } from "../Results.ts"
import { measure } from "../Sending.ts"
import type { Sender } from "../World.ts"
import * as Commands from "./Commands.ts"
import type { EvmScale } from "./Scale.ts"
import type { EvmWorld } from "./World.ts"

export const names = [
  "one lane",
  "twenty lanes",
  "single",
  "commands",
  "commands at 50/s",
  "50/s in one lane",
  "50/s in twenty lanes",
  "drain",
  "20 each in a default window",
  "100 each in a default window"
] as const

const unsent = ({ installation: { sql } }: Sender) =>
  sql`SELECT 1 FROM transactions WHERE state IN ('pending', 'signed') LIMIT 1`

/** All are in the pool when the next block comes, which has all of them. */
const drain = (sender: Sender<EvmWorld>, relayers: number, each: number) => {
  const { node } = sender
  const mine = (seconds: number) => Effect.asVoid(node.call("evm_setIntervalMining", [seconds]))
  const sent = unsent(sender).pipe(
    Effect.repeat({ until: (rows) => rows.length === 0, schedule: Schedule.spaced("50 millis") }),
    Effect.orDie
  )
  const { confirmations, relayers: all } = sender.wide
  return measure(sender, Effect.andThen(mine(0), Loads.bursts(sender, all.slice(0, relayers), each)), {
    confirmations,
    whenAccepted: Effect.andThen(sent, mine(1))
  })
}

/** Seconds of load for each transaction that is replaced and canceled: two pauses of half a second on average, and what the commands take. */
const perCommanded = 1.5

/** The same while other transactions are sent at an even rate. They wait for a block until the last command is answered. */
const commandsBeside = (sender: Sender<EvmWorld>, lanes: number, count: number) =>
  Effect.map(
    Effect.all(
      [
        Commands.commands(sender, count),
        Loads.steady(sender, sender.wide, lanes, Loads.steadyRate, Math.ceil(count * perCommanded))
      ],
      { concurrency: 2 }
    ),
    ([commanded]) => commanded
  )

export const casesOf = (
  sender: Sender<EvmWorld>,
  scale: EvmScale
): Readonly<Record<(typeof names)[number], Effect.Effect<Figures, Failure>>> => {
  const { commanded, lanes, ofOne, ofEach, singles, steadySeconds, usual } = scale
  const { wide } = sender
  return {
    "one lane": Effect.map(Loads.burst(sender, wide, 1, ofOne), figuresOf),
    "twenty lanes": Effect.map(Loads.burst(sender, wide, lanes, ofEach), figuresOf),
    single: Effect.map(Loads.single(sender, wide, singles), latencies),
    commands: Commands.commands(sender, commanded),
    "commands at 50/s": commandsBeside(sender, lanes, commanded),
    "50/s in one lane": Effect.map(Loads.steady(sender, wide, 1, Loads.steadyRate, steadySeconds), withoutRates),
    "50/s in twenty lanes": Effect.map(
      Loads.steady(sender, wide, lanes, Loads.steadyRate, steadySeconds),
      withoutRates
    ),
    drain: Effect.map(drain(sender, lanes, Math.ceil(ofOne / lanes)), withoutRates),
    "20 each in a default window": Effect.map(Loads.burst(sender, sender.usual, lanes, usual.few), figuresOf),
    "100 each in a default window": Effect.map(Loads.burst(sender, sender.usual, lanes, usual.many), figuresOf)
  }
}

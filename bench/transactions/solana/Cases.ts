// The cases on solana.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Loads from "../Loads.ts"
import type { Failure } from "../Network.ts"
import { figuresOf, latencies, withoutRates } from "../Results.ts"
import type { Figures } from "../Results.ts"
import type { Sender } from "../World.ts"
import * as RawSender from "./RawSender.ts"
import type { SolanaScale } from "./Scale.ts"
import * as Signatures from "./Signatures.ts"
import { wide as wideNetwork } from "./World.ts"
import type { SolanaWorld } from "./World.ts"

export const names = [
  "one relayer",
  "twenty relayers",
  "single",
  "50/s with two providers",
  "50/s with one provider",
  "a tenth of the sends swallowed",
  "raw sender with a tenth swallowed",
  "signature by node:crypto",
  "signature by @noble/curves"
] as const

/** Percent of the sends. */
const swallowed = 10

/** Runs while nodes drop a part of what they are sent. */
const whileSwallowing = <A, E, R>({ control: { swallow } }: SolanaWorld, use: Effect.Effect<A, E, R>) =>
  swallow({ percent: swallowed }).pipe(Effect.andThen(use), Effect.ensuring(Effect.orDie(swallow({ percent: 0 }))))

/** The newest transactions of the network with a wide window: how many have their first bytes on the chain. */
const firstBytes = ({ installation }: SolanaWorld, count: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ landed: number }>`
      SELECT count(*) FILTER (WHERE mined_attempt = 1)::float8 AS landed FROM (
        SELECT t.mined_attempt FROM transactions t JOIN lanes l ON l.id = t.lane_id
        WHERE l.chain = ${`solana:${wideNetwork.name}`} ORDER BY t.number DESC LIMIT ${count}
      ) newest`
    return (row?.landed ?? Number.NaN) / count
  }).pipe(Effect.provideService(SqlClient.SqlClient, installation.sql))

/** Bytes that are on the chain have landed within one life of their blockhash, so first bytes have landed within the first. */
const swallowing = (sender: Sender<SolanaWorld>, count: number) =>
  Effect.gen(function* () {
    const measured = yield* whileSwallowing(sender, Loads.burst(sender, sender.wide, 1, count))
    const figures: Figures = { ...figuresOf(measured), landed: yield* firstBytes(sender, count) }
    return figures
  })

export const casesOf = (
  sender: Sender<SolanaWorld>,
  scale: SolanaScale
): Readonly<Record<(typeof names)[number], Effect.Effect<Figures, Failure>>> => {
  const { lanes, ofEach, ofOne, signatures, singles, steadySeconds } = scale
  const { alone, usual, wide } = sender
  return {
    "one relayer": Effect.map(Loads.burst(sender, wide, 1, ofOne), figuresOf),
    "twenty relayers": Effect.map(Loads.burst(sender, usual, lanes, ofEach), figuresOf),
    single: Effect.map(Loads.single(sender, wide, singles), latencies),
    "50/s with two providers": Effect.map(
      Loads.steady(sender, usual, 1, Loads.steadyRate, steadySeconds),
      withoutRates
    ),
    "50/s with one provider": Effect.map(Loads.steady(sender, alone, 1, Loads.steadyRate, steadySeconds), withoutRates),
    "a tenth of the sends swallowed": swallowing(sender, scale.swallowed),
    "raw sender with a tenth swallowed": whileSwallowing(sender, RawSender.repeating(sender, scale.swallowed)),
    "signature by node:crypto": Signatures.byNode(signatures),
    "signature by @noble/curves": Signatures.byNoble(signatures)
  }
}

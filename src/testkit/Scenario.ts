// Ten things that go wrong on chains and on the way to them, each with the assertion that a program has to keep: what it believes about its
// payment is what the chain has in the end, and the chain never has it twice.
import { Cause, Clock, Data, DateTime, Duration, Effect, Exit, Fiber } from "effect"
import type { RelayerId } from "../domain/relayer/Relayer.ts"
import { finalStates } from "../networks/core/Transaction.ts"
import type { Payment } from "./chain/Chain.ts"
import { Transactions } from "./Tags.ts"
import { TestChain } from "./TestChain.ts"
import { TestRelayer } from "./TestRelayer.ts"

export interface PaymentProgram<E, R> {
  readonly relayer: RelayerId
  /** What the program pays. The chain has it once, or not at all. */
  readonly payment: Payment
  /** Makes the payment, and ends with the number of times that it has booked the payment as made: 0 or 1, if it makes no mistake. */
  readonly program: Effect.Effect<number, E, R>
  /** Blocks that the scenario waits for the program, and then for the relayer. Absent: those of 10 hours on evm, and of one hour on solana. */
  readonly patience?: number
}

/** The program has made the mistake that the scenario is about, or another one. */
export class ScenarioFailed extends Data.TaggedError("ScenarioFailed")<{
  readonly scenario: string
  readonly message: string
}> {}

/** More than the default deadline of transactions: eight hours on evm, thirty minutes on solana, two on stellar. */
const patience = { evm: Duration.hours(10), solana: Duration.hours(1), stellar: Duration.hours(1) } as const

/** For so long, providers are away, lie, or keep nothing: longer than the patience of any person at a screen. */
const outage = Duration.minutes(8)

/** The price of a spike is `factor` times the former one in each of `blocks` blocks. On stellar, it is above what an envelope costs at most. */
const spikes = {
  evm: { factor: 4n, blocks: 4 },
  solana: { factor: 4n, blocks: 4 },
  stellar: { factor: 65_536n, blocks: 1 }
} as const

/** What has no meaning on a network, and why. */
const meaningless: Readonly<Record<"solana" | "stellar", Readonly<Record<string, string>>>> = {
  solana: { nonceTakenByForeign: "accounts of solana have no nonce" },
  stellar: {
    providerLies: "the relayer shows no payment as mined on stellar: what two providers show is final",
    reorgOfDepth: "ledgers of stellar are final when they close",
    deadlinePasses: "no ledger of stellar takes an envelope after the deadline of its payment"
  }
}

const isFinal: ReadonlySet<string> = new Set(finalStates)

const times = (count: number): string => (count === 1 ? "once" : `${count} times`)

/** What a scenario can wait for besides what the chain says. */
const makeStage = Effect.fnUntraced(function* ({
  relayer,
  payment
}: Pick<PaymentProgram<never, never>, "relayer" | "payment">) {
  const chain = yield* TestChain
  const transactions = yield* Transactions

  const openCount = Effect.map(
    transactions.list(relayer, { per_page: 1000 }),
    ({ items }) => items.filter(({ status }) => !isFinal.has(status)).length
  )

  const blocksOf = (duration: Duration.Duration) => Math.ceil(Duration.toMillis(duration) / chain.network.blockTime)
  const mostBlocks = blocksOf(patience[chain.network.type])

  const isSeen = Effect.map(transactions.list(relayer, { per_page: 1000 }), ({ items }) =>
    items.some(({ status }) => status === "mined")
  )

  /** The deadline of the payment has passed, and no other state is final. */
  const isLate = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const { items } = yield* transactions.list(relayer, { per_page: 1000 })
    return items.some(({ valid_until }) => valid_until !== undefined && DateTime.toEpochMillis(valid_until) < now)
  })

  return {
    chain,
    payment,
    mostBlocks,
    openCount,
    outlast: chain.mine(blocksOf(outage)),
    untilSent: chain.mineUntil("the payment is sent", chain.isSent(payment)),
    untilSeen: chain.mineUntil("the relayer shows the payment in a block", isSeen),
    untilLate: chain.mineUntil("the deadline of the payment has passed", isLate, mostBlocks)
  }
})
type Stage = Effect.Success<ReturnType<typeof makeStage>>

/** What the program and the chain have to agree about in the end. */
const verdictOf = (booked: number, paid: number): string | undefined => {
  if (paid > 1) return `the chain has the payment ${times(paid)}: the program has sent it more than once`
  if (booked === paid) return undefined
  return `the program has booked the payment ${times(booked)}, and the chain has it ${times(paid)}`
}

/** `play` runs beside the program, which has started. */
const run = <E, R, E2, R2>(
  scenario: string,
  given: PaymentProgram<E, R>,
  play: (stage: Stage) => Effect.Effect<unknown, E2, R2>,
  before: (stage: Stage) => Effect.Effect<unknown, never, R2> = () => Effect.void
) =>
  Effect.gen(function* () {
    const fail = (message: string) => Effect.fail(new ScenarioFailed({ scenario, message: `${scenario}: ${message}` }))
    const stage = yield* makeStage(given)
    const { chain } = stage
    const { type } = chain.network
    const why = type === "evm" ? undefined : meaningless[type][scenario.replace(/\(.*/, "")]
    if (why !== undefined) return yield* Effect.die(new Error(`${scenario}: ${why}`))
    const atMost = given.patience ?? stage.mostBlocks
    yield* before(stage)
    const fiber = yield* Effect.forkChild(given.program)
    // A program that has a defect at once sends nothing: its own error says more than that of the stage.
    const played = yield* Effect.exit(play(stage))
    const hasEnded = Effect.sync(() => fiber.pollUnsafe() !== undefined)
    yield* chain
      .mineUntil("the program has ended", hasEnded, atMost)
      .pipe(Effect.catchTag("NotReached", () => fail(`the program has not ended after ${atMost} blocks`)))
    const exit = yield* Fiber.await(fiber)
    if (Exit.isFailure(exit)) return yield* fail(`the program has failed: ${Cause.pretty(exit.cause)}`)
    if (Exit.isFailure(played)) return yield* fail(Cause.pretty(played.cause))
    const isQuiet = Effect.map(stage.openCount, (open) => open === 0)
    yield* chain
      .mineUntil("the transactions of the relayer are final", isQuiet, atMost)
      .pipe(Effect.catchTag("NotReached", ({ message }) => fail(message)))
    const verdict = verdictOf(exit.value, yield* chain.payments(given.payment))
    if (verdict !== undefined) return yield* fail(verdict)
  })

/** A send is accepted, and dies before the program sees the answer. A program that sends again without the same `external_id` pays twice. */
export const answerLost = <E, R>(given: PaymentProgram<E, R>) =>
  run(
    "answerLost",
    given,
    () => Effect.void,
    () => Effect.flatMap(TestRelayer, ({ loseAnswers }) => loseAnswers(1))
  )

/** The first provider dies, then the other one; both come back. A program that takes silence for a failure books a payment wrongly. */
export const providerDies = <E, R>(given: PaymentProgram<E, R>) =>
  run(
    "providerDies",
    given,
    Effect.fnUntraced(function* ({ chain, outlast }: Stage) {
      yield* chain.mine()
      for (const index of providersOf(chain.network)) yield* chain.kill(index)
      yield* outlast
      for (const index of providersOf(chain.network)) yield* chain.revive(index)
    }),
    ({ chain }) => chain.kill(0)
  )

const providersOf = ({ providers }: { readonly providers: 1 | 2 }) =>
  providers === 1 ? ([0] as const) : ([0, 1] as const)

/**
 * The first provider shows the payment in a block that the chain does not have. The payment misses its deadline, and is never executed. A
 * program that takes `mined` for final has given something away for nothing. It dies on stellar, where no payment is shown as mined.
 */
export const providerLies = <E, R>(given: PaymentProgram<E, R>) =>
  run(
    "providerLies",
    given,
    Effect.fnUntraced(function* ({ chain, outlast, payment, untilLate, untilSent }: Stage) {
      yield* untilSent
      yield* chain.lie(payment)
      yield* outlast
      yield* chain.tellTruth
      yield* untilLate
      // On evm, a no-op takes the place of the payment; on solana, its blockhash dies.
      yield* chain.mine(chain.kit.blocksToEnd)
      yield* chain.holdBack(false)
    }),
    ({ chain }) => chain.holdBack(true)
  )

/**
 * The block of the payment is replaced when the relayer has seen it, with `depth` blocks in all, or with more of them if as many are on top of
 * it by then. A later one has it. A program that books each `mined` books it twice. It dies on stellar, whose ledgers are final.
 */
export const reorgOfDepth =
  (depth: number) =>
  <E, R>(given: PaymentProgram<E, R>) =>
    run(
      `reorgOfDepth(${depth})`,
      given,
      Effect.fnUntraced(function* ({ chain, payment, untilSeen }: Stage) {
        const { confirmations } = chain.network
        if (depth < 1 || depth > confirmations) {
          return yield* Effect.die(
            new Error(
              `depth must be from 1 to ${confirmations}, the confirmations of the network: deeper blocks are final`
            )
          )
        }
        yield* untilSeen
        const blocks = (yield* chain.height) - (chain.kit.chain.minedAt(payment) ?? 0) + 1
        yield* chain.mine(Math.max(depth - blocks, 0))
        yield* chain.reorganise(Math.max(depth, blocks))
      })
    )

/**
 * Somebody with the same key uses the nonce of the payment, which gets another one. A program that takes a payment for lost when its nonce is
 * used sends it twice. `key`: that of the relayer's signer, 32 bytes in hex. It dies on solana, whose accounts have no nonce.
 */
export const nonceTakenByForeign = <E, R>({ key, ...given }: PaymentProgram<E, R> & { readonly key: string }) =>
  run(
    "nonceTakenByForeign",
    given,
    Effect.fnUntraced(function* ({ chain, untilSent }: Stage) {
      yield* untilSent
      yield* chain.takeNonce(key)
      yield* chain.holdBack(false)
    }),
    ({ chain }) => chain.holdBack(true)
  )

/** Prices rise beyond what was offered, and stay there for a while. A program that sends a second transaction at a higher price pays twice. */
export const priceSpike = <E, R>(given: PaymentProgram<E, R>) =>
  run(
    "priceSpike",
    given,
    Effect.fnUntraced(function* ({ chain, outlast, untilSent }: Stage) {
      const { baseFee, type } = chain.network
      const usual = baseFee === 0n ? 1n : baseFee
      yield* untilSent
      const { blocks, factor } = spikes[type]
      for (let block = 1; block <= blocks; block++) {
        yield* chain.setBaseFee(usual * factor ** BigInt(block))
        yield* chain.holdBack(false)
        yield* chain.mine()
      }
      yield* outlast
      yield* chain.setBaseFee(baseFee)
    }),
    // The spike begins when the payment has left: a block must not take it before.
    ({ chain }) => chain.holdBack(true)
  )

/** Nodes take the payment and forget it, again and again. The relayer sends it until one keeps it. A program that gives up does not book it. */
export const dropped = <E, R>(given: PaymentProgram<E, R>) =>
  run(
    "dropped",
    given,
    Effect.fnUntraced(function* ({ chain, outlast, untilSent }: Stage) {
      yield* untilSent
      yield* outlast
      yield* chain.swallow(false)
    }),
    ({ chain }) => chain.swallow(true)
  )

/** The payment reverts in its block, although its estimate did not. A program that takes each end for success books it. */
export const reverts = <E, R>(given: PaymentProgram<E, R>) =>
  run(
    "reverts",
    given,
    () => Effect.void,
    ({ chain, payment }) => chain.revert(payment.to)
  )

/**
 * The deadline passes while no block takes the payment; then one takes it all the same. A program that reads its own clock does not book it.
 * On solana, bytes have to be alive at the deadline: give the payment a `valid_until` of 100 seconds. It dies on stellar, where no ledger takes
 * an envelope after the deadline.
 */
export const deadlinePasses = <E, R>(given: PaymentProgram<E, R>) =>
  run(
    "deadlinePasses",
    given,
    Effect.fnUntraced(function* ({ chain, payment, untilLate, untilSent }: Stage) {
      yield* untilSent
      yield* untilLate
      const isIncluded = yield* chain.include(payment)
      if (!isIncluded) return yield* Effect.die(new Error("no bytes of the payment can land after its deadline"))
      yield* chain.holdBack(false)
    }),
    ({ chain }) => chain.holdBack(true)
  )

/** Each event comes late and twice. A program that counts events books a payment twice. */
export const eventsTwiceAndLate = <E, R>(given: PaymentProgram<E, R>) =>
  run(
    "eventsTwiceAndLate",
    given,
    () => Effect.void,
    () =>
      Effect.flatMap(TestRelayer, ({ delayEvents, repeatEvents }) =>
        Effect.andThen(repeatEvents(true), delayEvents("10 minutes"))
      )
  )

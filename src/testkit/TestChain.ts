// A chain that fails on command: its network, its faults, its clock, and the doors that the kit and the real service send through.
import { Clock, Context, Data, Duration, Effect, Layer } from "effect"
import type { TestClock } from "effect/testing"
import type { RelayerId } from "../domain/relayer/Relayer.ts"
import type { RelayerNotFound } from "../domain/relayer/Relayer.ts"
import type { ShownTransaction, TransactionBody } from "../networks/core/Family.ts"
import { finalStates } from "../networks/core/Transaction.ts"
import type { TransactionId, TransactionNotFound } from "../networks/core/TransactionValues.ts"
import type { ChainAccess as Access } from "../server/chains/RpcNodes.ts"
import type { Transactions as Sends } from "../server/transactions/Transactions.ts"
import { firstHeight } from "./chain/Chain.ts"
import type { Payment } from "./chain/Chain.ts"
import { keyOf } from "./Keys.ts"
import type { EvmTestNetwork, KitNetwork, SolanaTestNetwork, StellarTestNetwork, TestNetwork } from "./KitNetwork.ts"
import { ChainAccess, Transactions } from "./Tags.ts"

type Options<N extends TestNetwork> = Partial<Omit<N, "type" | "blockTime">> & { readonly blockTime?: Duration.Input }

export type EvmOptions = Options<EvmTestNetwork>
export type SolanaOptions = Options<SolanaTestNetwork>
export type StellarOptions = Omit<Options<StellarTestNetwork>, "confirmations">

/** A transaction was not final after so many blocks, or a condition did not hold. */
export class NotReached extends Data.TaggedError("NotReached")<{ readonly message: string }> {}

const gwei = 1_000_000_000n
const lamportsPerSol = 1_000_000_000n
const stroopsPerXlm = 10_000_000n

const isFinalStatus: ReadonlySet<string> = new Set(finalStates)

const isTestClock = (clock: Clock.Clock): clock is TestClock.TestClock => "adjust" in clock

/** Moves the clock of a test. With the clock of the machine, it waits. */
const pass = (duration: Duration.Duration) =>
  Clock.clockWith((clock) => (isTestClock(clock) ? clock.adjust(duration) : Effect.sleep(duration)))

/** The chain of a network, whose modules are loaded with it: a test of one network type loads nothing of the others. */
const load = (network: TestNetwork, timeOf: (height: number) => number) =>
  Effect.promise((): Promise<KitNetwork> => {
    switch (network.type) {
      case "evm":
        return import("./evm/index.ts").then(({ make }) => make(network, timeOf))
      case "solana":
        return import("./solana/index.ts").then(({ make }) => make(network, timeOf))
      case "stellar":
        return import("./stellar/index.ts").then(({ make }) => make(network, timeOf))
    }
  })

const make = (network: TestNetwork) =>
  Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeMillis
    const time = Duration.millis(network.blockTime)
    const kit = yield* load(network, (height) => startedAt + (height - firstHeight) * network.blockTime)
    const { chain } = kit
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(time), Effect.sync(chain.tick))))

    const provider = (index: 0 | 1) => {
      const found = chain.providers[index]
      if (found === undefined) throw new Error(`the chain has no provider ${index}: give it providers: 2`)
      return found
    }

    const mine = (blocks = 1) => pass(Duration.times(time, blocks))

    const mineUntil = Effect.fnUntraced(function* <E, R>(
      what: string,
      holds: Effect.Effect<boolean, E, R>,
      atMost = kit.patience
    ) {
      for (let blocks = 0; !(yield* holds); blocks++) {
        if (blocks >= atMost) return yield* new NotReached({ message: `not reached in ${atMost} blocks: ${what}` })
        yield* mine()
      }
    })

    const mineUntilFinal = Effect.fnUntraced(function* (relayer: RelayerId, id: TransactionId, atMost?: number) {
      const transactions = yield* Transactions
      const get = transactions.get(relayer, id)
      const isFinal = Effect.map(get, ({ status }) => isFinalStatus.has(status))
      yield* mineUntil(`transaction ${id} is final`, isFinal, atMost)
      return yield* get
    })

    return TestChain.of({
      network,
      kit,
      bodyOf: kit.bodyOf,
      mine,
      mineUntil,
      mineUntilFinal,
      height: Effect.sync(() => chain.head().number),
      payments: (payment) => Effect.sync(() => chain.payments(payment)),
      isMined: (payment) => Effect.sync(() => chain.minedAt(payment) !== undefined),
      isSent: (payment) => Effect.sync(() => chain.isSent(payment)),
      balanceOf: (address) => Effect.sync(() => chain.balanceOf(chain.canonical(address))),
      fund: (address, amount) => Effect.sync(() => chain.give(chain.canonical(address), amount)),
      kill: (index = 0) => Effect.sync(() => void (provider(index).isAway = true)),
      revive: (index = 0) => Effect.sync(() => void (provider(index).isAway = false)),
      refuse: (words, index) =>
        Effect.sync(() => {
          for (const one of index === undefined ? chain.providers : [provider(index)]) one.refusal = words
        }),
      loseBroadcastAnswers: (isLost) =>
        Effect.sync(() => {
          for (const one of chain.providers) one.losesAnswers = isLost
        }),
      swallow: (isSwallowed) =>
        Effect.sync(() => {
          for (const one of chain.providers) one.swallows = isSwallowed
        }),
      lag: (blocks, index = 0) => Effect.sync(() => void (provider(index).lag = blocks)),
      lie: (payment, index = 0) => Effect.sync(() => chain.lieAbout(provider(index), payment)),
      tellTruth: Effect.sync(() => {
        for (const one of chain.providers) one.fork = undefined
      }),
      holdBack: (isHeldBack) => Effect.sync(() => void (chain.isHeldBack = isHeldBack)),
      delay: (blocks) => Effect.sync(() => void (chain.delay = blocks)),
      reorder: (isReordered) => Effect.sync(() => void (chain.isReordered = isReordered)),
      drop: Effect.sync(chain.forget),
      reorganise: (depth) => Effect.sync(() => chain.replace(depth)),
      setBaseFee: (price) => Effect.sync(() => void (chain.price = price)),
      revert: (to) => Effect.sync(() => void chain.reverting.add(chain.canonical(to))),
      failEstimates: (to) => Effect.sync(() => void chain.refusing.add(chain.canonical(to))),
      takeNonce: (key) => Effect.sync(() => chain.takeSequence(keyOf(key).secret)),
      include: (payment) => Effect.sync(() => chain.includeSent(payment))
    })
  })

export class TestChain extends Context.Service<
  TestChain,
  {
    readonly network: TestNetwork
    /** @internal */
    readonly kit: KitNetwork

    /** The body of a send that makes a payment of the chain's own coin. `from`: the address of the relayer. */
    bodyOf(from: string, payment: Payment): TransactionBody

    /** Moves the clock by the time of so many blocks: the chain makes them, and the relayer does its work in between. */
    mine(blocks?: number): Effect.Effect<void>
    /** Fails with `NotReached` if the condition does not hold after so many blocks: 200 on evm, and about 800 on solana, if `atMost` is absent. */
    mineUntil<E, R>(
      what: string,
      holds: Effect.Effect<boolean, E, R>,
      atMost?: number
    ): Effect.Effect<void, E | NotReached, R>
    /** Makes blocks until the transaction is `confirmed`, `failed`, `canceled` or `expired`, and returns it. */
    mineUntilFinal(
      relayer: RelayerId,
      id: TransactionId,
      atMost?: number
    ): Effect.Effect<ShownTransaction, NotReached | RelayerNotFound | TransactionNotFound, Sends>
    readonly height: Effect.Effect<number>
    /** How often blocks that last have executed the payment. */
    payments(payment: Payment): Effect.Effect<number>
    /** Whether a block that lasts has it, executed or reverted. */
    isMined(payment: Payment): Effect.Effect<boolean>
    /** Whether bytes of it have reached a provider. */
    isSent(payment: Payment): Effect.Effect<boolean>
    /** In the smallest unit of the chain, such as wei and lamports. */
    balanceOf(address: string): Effect.Effect<bigint>
    /** Gives such units to an account, or takes them if the amount is negative. */
    fund(address: string, amount: bigint): Effect.Effect<void>

    // One provider. The first one is 0, and is asked first.

    /** The provider answers nothing from now on. */
    kill(provider?: 0 | 1): Effect.Effect<void>
    revive(provider?: 0 | 1): Effect.Effect<void>
    /** The provider refuses all bytes with these words; all providers do, if none is named. Undefined: it takes them again. */
    refuse(words: string | undefined, provider?: 0 | 1): Effect.Effect<void>
    /** The provider is so many blocks behind. */
    lag(blocks: number, provider?: 0 | 1): Effect.Effect<void>
    /** The provider shows a block in which the payment is executed, and which the chain that lasts does not have. */
    lie(payment: Payment, provider?: 0 | 1): Effect.Effect<void>
    readonly tellTruth: Effect.Effect<void>

    // All providers, and the chain.

    /** Providers take bytes, and their answers to broadcasts do not arrive. */
    loseBroadcastAnswers(isLost: boolean): Effect.Effect<void>
    /** Providers answer broadcasts with a hash, and keep nothing. */
    swallow(isSwallowed: boolean): Effect.Effect<void>
    /** Makers of blocks take no transactions. */
    holdBack(isHeldBack: boolean): Effect.Effect<void>
    /** Bytes reach the pools after so many blocks. 0: at once. */
    delay(blocks: number): Effect.Effect<void>
    /** Bytes that were delayed together reach the pools in the reverse order. */
    reorder(isReordered: boolean): Effect.Effect<void>
    /** The pools forget what they have. */
    readonly drop: Effect.Effect<void>
    /** The newest blocks are replaced by empty ones. On evm, what was in them returns to the pools. */
    reorganise(depth: number): Effect.Effect<void>
    /** The lowest price from the next block on. evm: wei per gas. solana: micro-lamports per compute unit. */
    setBaseFee(price: bigint): Effect.Effect<void>
    /** Calls of this receiver revert when they are mined, although estimates do not say so. */
    revert(to: string): Effect.Effect<void>
    /** Estimates say that calls of this receiver revert. */
    failEstimates(to: string): Effect.Effect<void>
    /**
     * Somebody else, who has the key as well, uses the next nonce of its account in a block of its own. `key`: 32 bytes in hex. Dies on
     * solana, whose accounts have no nonce.
     */
    takeNonce(key: string): Effect.Effect<void>
    /**
     * A block contains bytes of the payment that were sent: the first ones on evm, whatever became of them, and the newest ones on solana.
     * False: none were sent, or their blockhash is dead.
     */
    include(payment: Payment): Effect.Effect<boolean>
  }
>()("effect-relayer/testkit/TestChain") {
  /** An evm chain with two providers, on which every account has 100 ether, and a block of 12 seconds is final below two others. */
  static readonly evm = ({ blockTime = "12 seconds", ...options }: EvmOptions = {}): EvmTestNetwork => ({
    type: "evm",
    name: "testchain",
    chainId: 31_337,
    confirmations: 2,
    providers: 2,
    baseFee: gwei,
    funds: 100n * 10n ** 18n,
    ...options,
    blockTime: Duration.toMillis(blockTime)
  })

  /**
   * A solana cluster with two providers, on which every account has 100 SOL, and a block of 400 milliseconds is final below 32 others. A
   * blockhash lives for 150 blocks.
   */
  static readonly solana = ({ blockTime = "400 millis", ...options }: SolanaOptions = {}): SolanaTestNetwork => ({
    type: "solana",
    name: "testcluster",
    confirmations: 32,
    providers: 2,
    baseFee: 0n,
    funds: 100n * lamportsPerSol,
    ...options,
    blockTime: Duration.toMillis(blockTime)
  })

  /** A stellar network with two providers, on which every account has 100 XLM, and a ledger closes in five seconds and is final. */
  static readonly stellar = ({ blockTime = "5 seconds", ...options }: StellarOptions = {}): StellarTestNetwork => ({
    type: "stellar",
    name: "testledger",
    passphrase: "Network of the test kit",
    confirmations: 0,
    providers: 2,
    baseFee: 100n,
    funds: 100n * stroopsPerXlm,
    ...options,
    blockTime: Duration.toMillis(blockTime)
  })

  /** The chain makes a block each block time, by the clock of the program. */
  static readonly layer = (network: TestNetwork) => Layer.effect(TestChain, make(network))

  /** The chain for the services of the package: all calls of `Services.layerNoDeps` go to it. */
  static readonly access: Layer.Layer<Access, never, TestChain> = Layer.effect(
    ChainAccess,
    Effect.map(TestChain, ({ kit }) => ChainAccess.of({ client: kit.client }))
  )

  /** The body of `Networks.create` for the real service. The kit has the network already. */
  static readonly createNetwork = Effect.map(TestChain, ({ kit }) => kit.createNetwork)
}

// A chain that fails on command: its network, its faults, its clock, and the doors that the kit and the real service send through.
import { Clock, Context, Data, Duration, Effect, Layer } from "effect"
import type { TestClock } from "effect/testing"
import type { CreateNetwork } from "../domain/network/Network.ts"
import type { RelayerId } from "../domain/relayer/Relayer.ts"
import type { RelayerNotFound } from "../domain/relayer/Relayer.ts"
import type { ShownTransaction } from "../networks/core/Family.ts"
import { finalStates } from "../networks/core/Transaction.ts"
import type { TransactionId, TransactionNotFound } from "../networks/core/TransactionValues.ts"
import type { ChainAccess as Access } from "../server/chains/RpcNodes.ts"
import type { Transactions as Sends } from "../server/transactions/Transactions.ts"
import * as EvmChain from "./evm/Chain.ts"
import type { Payment } from "./evm/Chain.ts"
import { keyOf } from "./evm/Keys.ts"
import * as Node from "./evm/Node.ts"
import { usualTip } from "./evm/Views.ts"
import { sealed } from "./evm/Wire.ts"
import { ChainAccess, Transactions } from "./Tags.ts"

/** What a chain is made from. */
export interface TestNetwork {
  readonly type: "evm"
  readonly name: string
  readonly chainId: number
  /** Milliseconds between two blocks. */
  readonly blockTime: number
  /** Blocks on top of a block that make it final. */
  readonly confirmations: number
  readonly providers: 1 | 2
  /** Wei per gas. */
  readonly baseFee: bigint
  /** Wei of an account that has sent and received nothing. */
  readonly funds: bigint
}

export interface EvmOptions extends Partial<Omit<TestNetwork, "type" | "blockTime">> {
  readonly blockTime?: Duration.Input
}

/** A transaction was not final after so many blocks, or a condition did not hold. */
export class NotReached extends Data.TaggedError("NotReached")<{ readonly message: string }> {}

/** Blocks within which everything ends on a chain without faults, and for which `mineUntilFinal` waits. */
const patience = 200

const isFinalStatus: ReadonlySet<string> = new Set(finalStates)

/** Wei per gas of a foreign transaction: above what the service offers at usual prices, as that of a hurried person is. */
const foreignTip = 20n * usualTip
const transferGas = 21_000n
const foreignReceiver = `0x${"f0".repeat(20)}`

const isTestClock = (clock: Clock.Clock): clock is TestClock.TestClock => "adjust" in clock

/** Moves the clock of a test. With the clock of the machine, it waits. */
const pass = (duration: Duration.Duration) =>
  Clock.clockWith((clock) => (isTestClock(clock) ? clock.adjust(duration) : Effect.sleep(duration)))

const make = (network: TestNetwork) =>
  Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeMillis
    const { baseFee, blockTime, chainId, confirmations, funds, providers } = network
    const chain = EvmChain.make({ providers, baseFee, funds })
    const time = Duration.millis(blockTime)
    const firstHeight = chain.head().number
    const client = Node.client({
      chain,
      chainId,
      finality: confirmations,
      timeOf: (height) => Math.floor((startedAt + (height - firstHeight) * blockTime) / 1000)
    })
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
      atMost = patience
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
      chain,
      client,
      mine,
      mineUntil,
      mineUntilFinal,
      height: Effect.sync(() => chain.head().number),
      payments: (payment) => Effect.sync(() => chain.payments(payment)),
      isMined: (payment) => Effect.sync(() => chain.minedAt(payment) !== undefined),
      isSent: (payment) => Effect.sync(() => chain.sent(payment).length > 0),
      balanceOf: (address) => Effect.sync(() => chain.balanceOf(address.toLowerCase())),
      fund: (address, wei) => Effect.sync(() => chain.give(address.toLowerCase(), wei)),
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
      lie: (payment, index = 0) => Effect.sync(() => chain.lie(provider(index), payment)),
      tellTruth: Effect.sync(() => {
        for (const one of chain.providers) one.fork = undefined
      }),
      holdBack: (isHeldBack) => Effect.sync(() => void (chain.isHeldBack = isHeldBack)),
      delay: (blocks) => Effect.sync(() => void (chain.delay = blocks)),
      reorder: (isReordered) => Effect.sync(() => void (chain.isReordered = isReordered)),
      drop: Effect.sync(chain.forget),
      reorganise: (depth) => Effect.sync(() => chain.replace(depth)),
      setBaseFee: (wei) => Effect.sync(() => void (chain.baseFee = wei)),
      revert: (to) => Effect.sync(() => void chain.reverting.add(to.toLowerCase())),
      failEstimates: (to) => Effect.sync(() => void chain.refusing.add(to.toLowerCase())),
      takeNonce: (key) =>
        Effect.sync(() => {
          const { addresses, secret } = keyOf(key)
          const nonce = EvmChain.countOf(chain.blocks(), addresses.evm)
          const fees = { type: "eip1559", maxFee: chain.baseFee + foreignTip, tip: foreignTip } as const
          const call = { to: foreignReceiver, value: 1n, data: "0x" }
          chain.include([sealed({ chainId, nonce, ...call, gasLimit: transferGas, fees }, secret)])
        }),
      include: (payment) =>
        Effect.sync(() => {
          const [first] = chain.sent(payment)
          if (first !== undefined) chain.include([first])
        })
    })
  })

export class TestChain extends Context.Service<
  TestChain,
  {
    readonly network: TestNetwork
    /** @internal */
    readonly chain: EvmChain.Chain
    /** @internal */
    readonly client: Access["Service"]["client"]

    /** Moves the clock by the time of so many blocks: the chain makes them, and the relayer does its work in between. */
    mine(blocks?: number): Effect.Effect<void>
    /** Fails with `NotReached` if the condition does not hold after so many blocks, 200 if `atMost` is absent. */
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
    /** Wei. */
    balanceOf(address: string): Effect.Effect<bigint>
    /** Gives wei to an account, or takes them if the amount is negative. */
    fund(address: string, wei: bigint): Effect.Effect<void>

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
    /** The newest blocks are replaced by empty ones. What was in them returns to the pools. */
    reorganise(depth: number): Effect.Effect<void>
    /** Wei per gas from the next block on. */
    setBaseFee(wei: bigint): Effect.Effect<void>
    /** Calls of this receiver revert when they are mined, although estimates do not say so. */
    revert(to: string): Effect.Effect<void>
    /** Estimates say that calls of this receiver revert. */
    failEstimates(to: string): Effect.Effect<void>
    /** Somebody else, who has the key as well, uses the next nonce of its account in a block of its own. `key`: 32 bytes in hex. */
    takeNonce(key: string): Effect.Effect<void>
    /** A block contains the first bytes of the payment that were sent, whatever became of them. */
    include(payment: Payment): Effect.Effect<void>
  }
>()("effect-relayer/testkit/TestChain") {
  /** An evm chain with two providers, on which every account has 100 ether, and a block of 12 seconds is final below two others. */
  static readonly evm = ({ blockTime = "12 seconds", ...options }: EvmOptions = {}): TestNetwork => ({
    type: "evm",
    name: "testchain",
    chainId: 31_337,
    confirmations: 2,
    providers: 2,
    baseFee: EvmChain.gwei,
    funds: 100n * 10n ** 18n,
    ...options,
    blockTime: Duration.toMillis(blockTime)
  })

  /** The chain makes a block each block time, by the clock of the program. */
  static readonly layer = (network: TestNetwork) => Layer.effect(TestChain, make(network))

  /** The chain for the services of the package: all calls of `Services.layerNoDeps` go to it. */
  static readonly access: Layer.Layer<Access, never, TestChain> = Layer.effect(
    ChainAccess,
    Effect.map(TestChain, ({ client }) => ChainAccess.of({ client }))
  )

  /** The body of `Networks.create` for the real service. The kit has the network already. */
  static readonly createNetwork = Effect.map(TestChain, ({ network, chain }): CreateNetwork => ({
    network_type: "evm",
    name: network.name,
    chain_id: network.chainId,
    average_blocktime_ms: network.blockTime,
    required_confirmations: network.confirmations,
    rpc_urls: chain.providers.map(({ url }) => ({ url, weight: 100 })),
    features: ["eip1559"],
    symbol: "ETH",
    is_testnet: true
  }))
}

// The test kit: it keeps the contract of the services, loads no module of the server, and follows the clock of the test alone.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { execFile } from "node:child_process"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import {
  EventFeed as Feed,
  Networks as Chains,
  Relayers as Accounts,
  Signers as Keys,
  Transactions as Sends
} from "../../../src/index.ts"
import { EvmTransaction, SendEvmTransaction } from "../../../src/networks/evm/rules/EvmSchemas.ts"
import { SendSolanaTransaction, SolanaTransactionResponse } from "../../../src/networks/solana/rules/SolanaExchanges.ts"
import { SendStellarTransaction } from "../../../src/networks/stellar/rules/StellarRequests.ts"
import { StellarTransactionResponse } from "../../../src/networks/stellar/rules/StellarResponses.ts"
import {
  Arbitraries,
  AnswerLost,
  EventFeed,
  Networks,
  Relayers,
  Signers,
  TestChain,
  TestRelayer,
  Transactions
} from "../../../src/testkit/index.ts"
import { opened, sealed } from "../../../src/testkit/evm/Wire.ts"
import { property } from "../../../testkit/Depth.ts"
import { statementsOn } from "./Contract.ts"
import * as Programs from "./Programs.ts"

const ofSolana = await Arbitraries.loadSolana()
const ofStellar = await Arbitraries.loadStellar()

const root = path.resolve(import.meta.dirname, "../../..")

const kit = (options?: Parameters<typeof TestChain.evm>[0]) => TestRelayer.layer({ network: TestChain.evm(options) })

/** The modules that the imports of a process load. */
const loadedBy = (imported: string) =>
  Effect.promise(async () => {
    const program = path.join(root, "test/networks/alone/loaded.ts")
    const args = ["--import", path.join(root, "testkit/FromSource.ts"), program, imported]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, maxBuffer: 2 ** 24 })
    return stdout.split("\n")
  })

/** Makes a payment on the network type of its query. */
const paying = pathToFileURL(path.join(import.meta.dirname, "alone.ts")).href

/** What the kit must not load. */
const foreign =
  /\/src\/(server|sql|outbound|threads|process|cli|client)\/|\/networks\/\w+\/(chain|lane|requests)\/|\/node_modules\/(viem|@solana|@stellar|@effect|tiny-secp256k1|pg)\//

for (const network of [TestChain.evm(), TestChain.solana(), TestChain.stellar()]) {
  describe(`the contract of the services, on the test kit of ${network.type}`, () => {
    for (const [name, statement] of statementsOn(network.type)) {
      it.effect(name, () => Effect.provide(statement, TestRelayer.layer({ network })))
    }
  })
}

describe("the services of the test kit", () => {
  it("are those that programs ask the package for", () => {
    const keysOf = (services: ReadonlyArray<{ readonly key: string }>) => services.map(({ key }) => key)
    assert.deepStrictEqual(
      keysOf([Transactions, Relayers, Signers, Networks, EventFeed]),
      keysOf([Sends, Accounts, Keys, Chains, Feed])
    )
  })

  it.effect("load no module of the server, of a database, of chain libraries, or of another network type", () =>
    Effect.gen(function* () {
      const imported = yield* loadedBy("effect-relayer/testkit")
      const evm = yield* loadedBy(`${paying}?evm`)
      const solana = yield* loadedBy(`${paying}?solana`)
      const stellar = yield* loadedBy(`${paying}?stellar`)
      for (const loaded of [imported, evm, solana, stellar]) {
        assert.isAbove(loaded.filter((url) => url.includes(`${root}/src/`)).length, 20)
        assert.deepStrictEqual(
          loaded.filter((url) => foreign.test(url)),
          []
        )
      }
      const roomsIn = (loaded: ReadonlyArray<string>) => [
        ...new Set(loaded.flatMap((url) => /\/src\/(?:networks|testkit)\/(evm|solana|stellar)\//.exec(url)?.[1] ?? []))
      ]
      // The arbitraries of the kit are those of the schemas of evm.
      assert.deepStrictEqual([imported, evm, solana, stellar].map(roomsIn), [
        ["evm"],
        ["evm"],
        ["evm", "solana"],
        ["evm", "stellar"]
      ])
      assert.deepStrictEqual(
        [...solana, ...stellar].filter((url) => url.includes("/src/testkit/evm/")),
        []
      )
    })
  )

  it.effect("name what they do not offer, when it is called", () =>
    Effect.gen(function* () {
      const { id } = yield* Programs.relayer
      const died = yield* Effect.exit((yield* Signers).verify((yield* (yield* Relayers).get(id)).value.signer_id))
      assert.include(String(died), "verify")
      const refused = yield* Effect.flip((yield* Transactions).simulate(id, { to: Programs.payment.to, value: 1n }))
      assert.strictEqual(refused.message, "the test kit does not simulate transactions")
    }).pipe(Effect.provide(kit()))
  )

  it.effect("send no authorizations, and replace nothing with them", () =>
    Effect.gen(function* () {
      const { id } = yield* Programs.relayer
      const transactions = yield* Transactions
      const entry = {
        chain_id: 0,
        address: Programs.payment.to,
        nonce: 0,
        y_parity: 0,
        r: `0x${"01".repeat(32)}`,
        s: `0x${"01".repeat(32)}`
      }
      const listed = yield* Schema.decodeUnknownEffect(SendEvmTransaction)({
        ...Programs.payment,
        authorization_list: [entry]
      })
      yield* (yield* TestChain).holdBack(true)
      const open = yield* transactions.send(id, Programs.payment)
      const attempts = [
        Effect.asVoid(transactions.send(id, listed)),
        Effect.asVoid(transactions.sendBatch(id, { transactions: [listed] })),
        Effect.asVoid(transactions.replace(id, open.id, listed))
      ]
      for (const attempt of attempts) {
        const refused = yield* Effect.flip(attempt)
        assert.strictEqual(refused._tag, "BadRequest")
        assert.include(refused.message, "authorization_list: is not supported by the test kit")
      }
      const { items } = yield* transactions.list(id, {})
      assert.deepStrictEqual(
        items.map((one) => one.id),
        [open.id]
      )
    }).pipe(Effect.provide(kit()))
  )

  it.effect("accept a send whose answer is lost, and answer its repeat with the same transaction", () =>
    Effect.gen(function* () {
      const { id } = yield* Programs.relayer
      const transactions = yield* Transactions
      const body = { ...Programs.payment, external_id: "order" }
      yield* (yield* TestRelayer).loseAnswers(1)
      const defect = yield* Effect.flip(Effect.sandbox(transactions.send(id, body)))
      assert.include(String(defect), new AnswerLost().message)
      const repeated = yield* transactions.send(id, body)
      const { items } = yield* transactions.list(id, {})
      assert.deepStrictEqual(
        items.map((one) => one.id),
        [repeated.id]
      )
    }).pipe(Effect.provide(kit()))
  )

  it.effect("show late events when their time has come", () =>
    Effect.gen(function* () {
      yield* (yield* TestRelayer).delayEvents("1 minute")
      yield* Programs.relayer
      const feed = yield* EventFeed
      const read = Effect.map(feed.list({}), ({ items }) => items.length)
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(yield* read, 0)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* read, 2)
    }).pipe(Effect.provide(kit()))
  )

  it.effect("stream events to a reader that follows them from the end", () =>
    Effect.gen(function* () {
      const { id } = yield* Programs.relayer
      const chain = yield* TestChain
      const read = (yield* EventFeed)
        .stream({ after: "latest", relayer_id: id })
        .pipe(Stream.take(5), Stream.runCollect)
      const reading = yield* Effect.forkChild(read, { startImmediately: true })
      const sent = yield* (yield* Transactions).send(id, Programs.payment)
      yield* chain.mineUntilFinal(id, sent.id)
      assert.deepStrictEqual(
        (yield* Fiber.join(reading)).map(({ type }) => type),
        [
          "transaction.created",
          "transaction.signed",
          "transaction.submitted",
          "transaction.mined",
          "transaction.confirmed"
        ]
      )
    }).pipe(Effect.provide(kit()))
  )
})

describe("the chain of the test kit", () => {
  it.effect("makes blocks by the clock of the test, and by nothing else", () =>
    Effect.gen(function* () {
      const chain = yield* TestChain
      const [before, at] = [yield* chain.height, yield* Clock.currentTimeMillis]
      yield* chain.mine(10)
      assert.strictEqual((yield* chain.height) - before, 10)
      assert.strictEqual((yield* Clock.currentTimeMillis) - at, 10 * 250)
    }).pipe(Effect.provide(kit({ blockTime: "250 millis" })))
  )

  it.effect(
    "delivers delayed bytes later, in the reverse order if it reorders them, and executes them in the order of nonces",
    () =>
      Effect.gen(function* () {
        const { id } = yield* Programs.relayer
        const chain = yield* TestChain
        yield* chain.delay(3)
        yield* chain.reorder(true)
        const bodies = [1n, 2n, 3n].map((value) => ({ to: Programs.payment.to, value }))
        const sent = yield* (yield* Transactions).sendBatch(id, { transactions: bodies })
        yield* chain.mine(2)
        assert.isFalse(yield* chain.isMined(bodies[0]!))
        yield* chain.delay(0)
        const shown = yield* Effect.forEach(sent, (one) => chain.mineUntilFinal(id, one.id))
        assert.deepStrictEqual(
          shown.map(({ status }) => status),
          ["confirmed", "confirmed", "confirmed"]
        )
        for (const body of bodies) assert.strictEqual(yield* chain.payments(body), 1)
      }).pipe(Effect.provide(kit()))
  )

  it.effect("lets providers refuse, and a provider that lags hide the newest blocks", () =>
    Effect.gen(function* () {
      const { id } = yield* Programs.relayer
      const chain = yield* TestChain
      const transactions = yield* Transactions
      yield* chain.refuse("txpool is full")
      const sent = yield* transactions.send(id, Programs.payment)
      yield* chain.mine(5)
      assert.notInclude(["mined", "confirmed"], (yield* transactions.get(id, sent.id)).status)
      yield* chain.refuse(undefined)
      yield* chain.lag(2)
      yield* chain.mineUntil("a block has the payment", chain.isMined(Programs.payment))
      assert.notStrictEqual((yield* transactions.get(id, sent.id)).status, "mined")
      assert.strictEqual((yield* chain.mineUntilFinal(id, sent.id)).status, "confirmed")
    }).pipe(Effect.provide(kit()))
  )

  it.effect("shows a payment as mined while the provider that is asked first lies, and as submitted afterwards", () =>
    Effect.gen(function* () {
      const { id } = yield* Programs.relayer
      const chain = yield* TestChain
      const transactions = yield* Transactions
      yield* chain.holdBack(true)
      const sent = yield* transactions.send(id, Programs.payment)
      const status = Effect.map(transactions.get(id, sent.id), (shown) => shown.status)
      yield* chain.mineUntil("the payment is sent", chain.isSent(Programs.payment))
      yield* chain.lie(Programs.payment)
      yield* chain.mine()
      assert.strictEqual(yield* status, "mined")
      // The other provider does not have the block, however deep it is.
      yield* chain.mine(5)
      assert.strictEqual(yield* status, "mined")
      yield* chain.tellTruth
      yield* chain.mine()
      assert.strictEqual(yield* status, "submitted")
      yield* chain.holdBack(false)
      assert.strictEqual((yield* chain.mineUntilFinal(id, sent.id)).status, "confirmed")
    }).pipe(Effect.provide(kit()))
  )

  it.effect("keeps bytes from a dead provider: none has left while both are dead", () =>
    Effect.gen(function* () {
      const { id } = yield* Programs.relayer
      const chain = yield* TestChain
      yield* Effect.andThen(chain.kill(0), chain.kill(1))
      const sent = yield* (yield* Transactions).send(id, Programs.payment)
      yield* chain.mine(10)
      assert.isFalse(yield* chain.isSent(Programs.payment))
      yield* Effect.andThen(chain.revive(0), chain.revive(1))
      assert.strictEqual((yield* chain.mineUntilFinal(id, sent.id)).status, "confirmed")
    }).pipe(Effect.provide(kit()))
  )

  it.effect("takes nothing that is sent again to dead providers", () =>
    Effect.gen(function* () {
      const { id } = yield* Programs.relayer
      const chain = yield* TestChain
      yield* chain.holdBack(true)
      const sent = yield* (yield* Transactions).send(id, Programs.payment)
      yield* chain.mineUntil("the payment is sent", chain.isSent(Programs.payment))
      yield* Effect.andThen(chain.kill(0), chain.kill(1))
      yield* chain.drop
      yield* chain.mine(10)
      yield* chain.holdBack(false)
      yield* chain.mine(2)
      // Rebroadcasts do not reach a dead provider.
      assert.isFalse(yield* chain.isMined(Programs.payment))
      yield* Effect.andThen(chain.revive(0), chain.revive(1))
      assert.strictEqual((yield* chain.mineUntilFinal(id, sent.id)).status, "confirmed")
    }).pipe(Effect.provide(kit()))
  )

  it.effect("holds a send without funds, and goes on when the account is funded", () =>
    Effect.gen(function* () {
      const { id, address } = yield* Programs.relayer
      const chain = yield* TestChain
      const transactions = yield* Transactions
      const sent = yield* transactions.send(id, { ...Programs.payment, wait_for_funds: true })
      yield* chain.mine(2)
      const held = yield* transactions.explain(id, sent.id)
      assert.strictEqual(held.code, "insufficient_funds")
      yield* chain.fund(address, 10n ** 18n)
      assert.strictEqual((yield* chain.mineUntilFinal(id, sent.id)).status, "confirmed")
    }).pipe(Effect.provide(kit({ funds: 0n })))
  )

  it.effect("ends a call that its estimates refuse, without a nonce", () =>
    Effect.gen(function* () {
      const { id } = yield* Programs.relayer
      const chain = yield* TestChain
      yield* chain.failEstimates(Programs.payment.to)
      const sent = yield* (yield* Transactions).send(id, Programs.payment)
      const ended = yield* chain.mineUntilFinal(id, sent.id)
      assert.deepStrictEqual([ended.status, ended.code], ["failed", "would_revert"])
      assert.isFalse(yield* chain.isSent(Programs.payment))
    }).pipe(Effect.provide(kit()))
  )

  it.effect("says what was not reached", () =>
    Effect.gen(function* () {
      const chain = yield* TestChain
      const failure = yield* Effect.flip(chain.mineUntil("the moon is full", Effect.succeed(false), 3))
      assert.strictEqual(failure.message, "not reached in 3 blocks: the moon is full")
    }).pipe(Effect.provide(kit()))
  )
})

describe("bytes of the kit", () => {
  const secret = Uint8Array.from(Buffer.from(Programs.key, "hex"))

  it.effect.prop(
    "are read back as they were signed, by the account of the key",
    [Arbitraries.sendEvmTransaction],
    ([{ to, value, data = "0x" }]) =>
      Effect.sync(() => {
        const call = { value, data: data.toLowerCase(), ...(to === undefined ? {} : { to: to.toLowerCase() }) }
        for (const fees of [
          { type: "legacy", gasPrice: 5n },
          { type: "eip1559", maxFee: 7n, tip: 2n }
        ] as const) {
          const made = sealed({ chainId: 31_337, nonce: 200, ...call, gasLimit: 21_000n, fees }, secret)
          assert.deepStrictEqual(opened(made.raw), made)
        }
      }),
    property()
  )

  it.effect("are those that viem signs with the same key", () =>
    Effect.gen(function* () {
      const { privateKeyToAccount } = yield* Effect.promise(() => import("viem/accounts"))
      const account = privateKeyToAccount(`0x${Programs.key}`)
      const call = { to: Programs.payment.to, value: 7n } as const
      const common = { chainId: 31_337, nonce: 3, ...call, gas: 50_000n }
      const typed = yield* Effect.promise(() =>
        account.signTransaction({
          ...common,
          type: "eip1559",
          maxFeePerGas: 9n,
          maxPriorityFeePerGas: 2n,
          data: "0x1234"
        })
      )
      const legacy = yield* Effect.promise(() => account.signTransaction({ ...common, type: "legacy", gasPrice: 9n }))
      const own = { chainId: 31_337, nonce: 3, ...call, gasLimit: 50_000n }
      const hex = (raw: Uint8Array) => `0x${Buffer.from(raw).toString("hex")}`
      const dynamic = { type: "eip1559", maxFee: 9n, tip: 2n } as const
      assert.strictEqual(hex(sealed({ ...own, data: "0x1234", fees: dynamic }, secret).raw), typed)
      assert.strictEqual(
        hex(sealed({ ...own, data: "0x", fees: { type: "legacy", gasPrice: 9n } }, secret).raw),
        legacy
      )
    })
  )
})

describe("arbitraries", () => {
  it.effect.prop(
    "are valid requests and responses",
    [Arbitraries.sendEvmTransaction, Arbitraries.evmTransaction],
    ([body, shown]) =>
      Effect.sync(() => {
        assert.isTrue(Schema.is(SendEvmTransaction)(body))
        assert.isTrue(Schema.is(EvmTransaction)(shown))
      }),
    property()
  )

  it.effect.prop(
    "of solana are valid requests and responses",
    [ofSolana.sendSolanaTransaction, ofSolana.solanaTransaction],
    ([body, shown]) =>
      Effect.sync(() => {
        assert.isTrue(Schema.is(SendSolanaTransaction)(body))
        assert.isTrue(Schema.is(SolanaTransactionResponse)(shown))
      }),
    property()
  )

  it.effect.prop(
    "of stellar are valid requests and responses",
    [ofStellar.sendStellarTransaction, ofStellar.stellarTransaction],
    ([body, shown]) =>
      Effect.sync(() => {
        assert.isTrue(Schema.is(SendStellarTransaction)(body))
        assert.isTrue(Schema.is(StellarTransactionResponse)(shown))
      }),
    property()
  )
})

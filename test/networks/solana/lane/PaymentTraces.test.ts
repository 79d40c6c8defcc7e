// Traces of payments of users: what counts before a signature. The numbers are those of the table in README.md of
// this folder.
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { assert } from "@effect/vitest"
import { PriceUnavailable } from "../../../../src/domain/price/Price.ts"
import { failing } from "../../../../src/networks/solana/rules/SolanaNumbers.ts"
import { solanaRules } from "../../../../src/networks/solana/rules/SolanaRules.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as Tokens from "../../../../testkit/solana/Tokens.ts"
import { ledger, memory } from "../../../server/ledger/Fixtures.ts"
import * as Paying from "../requests/Paying.ts"
import { accountOf, fee, mint, user } from "../requests/Paying.ts"
import { endsAs, prebuilt, shown } from "./Ends.ts"
import * as World from "./World.ts"

const { receiver } = World

/** The least that counts: the default slippage is one percent. */
const least = fee.units - 15n

const make = Effect.fnUntraced(function* () {
  const world = yield* World.make({ policies: { ...Paying.policies, allowed_tokens: [{ mint, decimals: 6 }] } })
  world.rate = Effect.succeed({ ...Paying.price, at: 0 })
  Paying.prepare(world.cluster, world.address)
  world.cluster.produce(2)
  const pay = (amount: bigint, to = accountOf(world.address)) => {
    const blockhash = world.cluster.blocks.at(-2)?.blockhash ?? ""
    const transaction = Paying.paying({ relayer: world.address, blockhash, amount, to })
    return Effect.map(world.accept({ transaction }, 1, prebuilt), ([id]) => id)
  }
  const paid = () => Tokens.amountOf(world.cluster.accountOf(accountOf(world.address)))
  return { world, pay, paid }
})

layerEach(memory)("a payment of a user", (it) => {
  it.effect("34: that is worth the fee is executed together with what the user wants", () =>
    Effect.gen(function* () {
      const { world, pay, paid } = yield* make()
      yield* endsAs(world, yield* pay(least), "confirmed", "confirmed", 1)
      assert.strictEqual(paid(), least)
    })
  )

  it.effect("34b: that is a unit short is not signed", () =>
    Effect.gen(function* () {
      const { world, pay } = yield* make()
      const id = yield* pay(least - 1n)
      yield* endsAs(world, id, "failed", "payment_missing", 0)
      const { cause } = yield* world.transaction(id)
      assert.include(String(cause?.figures.error), `at least ${least} are needed`)
    })
  )

  it.effect("34c: to another account is not signed", () =>
    Effect.gen(function* () {
      const { world, pay } = yield* make()
      world.cluster.put({ [accountOf(receiver)]: Tokens.holding({ mint, owner: receiver, amount: 0n }) })
      yield* endsAs(world, yield* pay(least, accountOf(receiver)), "failed", "payment_missing", 0)
    })
  )

  it.effect("34d: that another instruction takes back is not signed: the simulation leaves the relayer nothing", () =>
    Effect.gen(function* () {
      const { world, pay } = yield* make()
      const { run } = world.cluster
      // As if a hook of the mint had moved the tokens on.
      world.cluster.run = (accounts, transaction) => {
        const executed = run(accounts, transaction)
        const account = accounts.get(accountOf(world.address))
        return account === undefined
          ? executed
          : { ...executed, accounts: new Map(executed.accounts).set(accountOf(world.address), account) }
      }
      yield* endsAs(world, yield* pay(least), "failed", "payment_missing", 0)
    })
  )

  it.effect("34e: in a token that its issuer can take back is not signed, unless the policy allows it", () =>
    Effect.gen(function* () {
      const { world, pay } = yield* make()
      world.cluster.put({ [mint]: Tokens.mint({ decimals: 6, extensions: [[12, new Uint8Array(32)]] }) })
      const id = yield* pay(least)
      yield* endsAs(world, id, "failed", "payment_missing", 0)
      assert.include(String((yield* world.transaction(id)).cause?.figures.error), "permanent_delegate")
    })
  )

  it.effect("34f: out of an account of the relayer, to a frozen account, or with other decimals is not signed", () =>
    Effect.gen(function* () {
      const { world, pay } = yield* make()
      const own = Tokens.holding({ mint, owner: world.address, amount: 10_000n })
      const cases = [
        { [accountOf(user)]: own },
        { [accountOf(world.address)]: Tokens.holding({ mint, owner: world.address, amount: 0n, isFrozen: true }) },
        { [mint]: Tokens.mint({ decimals: 9 }) }
      ]
      for (const changed of cases) {
        Paying.prepare(world.cluster, world.address)
        world.cluster.put(changed)
        world.cluster.produce(2)
        yield* endsAs(world, yield* pay(least), "failed", "payment_missing", 0)
      }
    })
  )

  it.effect("35: waits while there is no price, and is signed when there is one", () =>
    Effect.gen(function* () {
      const { world, pay } = yield* make()
      const { rate } = world
      world.rate = Effect.fail(new PriceUnavailable({ reason: "the price is older than 60 seconds" }))
      const id = yield* pay(least)
      yield* world.poll(2)
      assert.deepStrictEqual(yield* shown(world, id), ["pending", "price_unavailable", 0])
      world.rate = rate
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
    })
  )

  it.effect("35b: is compared with the price of the moment of the signature", () =>
    Effect.gen(function* () {
      const { world, pay } = yield* make()
      world.rate = Effect.succeed({ units: 2n * Paying.price.units, native: Paying.price.native, at: 0 })
      yield* endsAs(world, yield* pay(least), "failed", "payment_missing", 0)
    })
  )
})

layerEach(ledger)("an API key whose sponsored transactions fail on the chain", (it) => {
  /** Inserts the newest 50 transactions of the key, which became final now. `failed` of them have failed. */
  const past = Effect.fnUntraced(function* (world: Effect.Success<ReturnType<typeof make>>["world"], failed: number) {
    const sql = yield* SqlClient.SqlClient
    const now = yield* Clock.currentTimeMillis
    for (let index = 0; index < failing.of; index++) {
      const [id] = yield* world.accept(World.memo(`past ${index}`), 1, { ...prebuilt, identity: `past ${index}` })
      const state = index < failed ? "failed" : "confirmed"
      yield* sql`
        UPDATE transactions SET state = ${state}, code = 'confirmed', mined_attempt = 1, nonce = ${1000 + index}::bigint,
          final_at = to_timestamp(${now}::float8 / 1000) WHERE id = ${id}`
    }
  })

  it.effect("gets no signature for 60 s if more than 20 % of its newest 50 failed, and says why", () =>
    Effect.gen(function* () {
      const { world, pay } = yield* make()
      yield* past(world, 11)
      const id = yield* pay(least)
      yield* world.poll(1, 0)
      assert.deepStrictEqual(yield* shown(world, id), ["pending", "rate_limited", 0])
      const { cause } = yield* world.transaction(id)
      const { reason } = solanaRules.explain(cause ?? assert.fail("no cause"), false)
      assert.include(reason, "11 of the newest 50 transactions of the API key failed on the chain")
      yield* TestClock.adjust("50 seconds")
      yield* world.poll(1, 0)
      assert.deepStrictEqual(yield* shown(world, id), ["pending", "rate_limited", 0])
      yield* TestClock.adjust("10 seconds")
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
    })
  )

  it.effect("is not held at 20 %", () =>
    Effect.gen(function* () {
      const { world, pay } = yield* make()
      yield* past(world, 10)
      yield* endsAs(world, yield* pay(least), "confirmed", "confirmed", 1)
    })
  )

  it.effect("is not held for transactions of a relayer that pays fees itself", () =>
    Effect.gen(function* () {
      const { world } = yield* make()
      yield* past(world, 50)
      world.relayer = world.relayerOf({})
      const [id] = yield* world.accept(World.memo("own"))
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
    })
  )
})

// What holds for programs that send, whatever is behind the services: the test kit, or the real service on the same chain.
import { assert } from "@effect/vitest"
import { Clock, DateTime, Effect, Schedule, Schema } from "effect"
import { CreateRelayer } from "../../../src/domain/relayer/Relayer.ts"
import type { Relayer, RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import type { EventFeed as Feed } from "../../../src/server/events/EventFeed.ts"
import type { Networks as Chains } from "../../../src/server/networks/Networks.ts"
import type { Relayers as Accounts } from "../../../src/server/relayers/Relayers.ts"
import type { Signers as Keys } from "../../../src/server/signers/Signers.ts"
import type { Transactions as Sends } from "../../../src/server/transactions/Transactions.ts"
import { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import {
  EventFeed,
  Networks,
  Relayers,
  Scenario,
  Signers,
  TestChain,
  Transactions
} from "../../../src/testkit/index.ts"
import * as Programs from "./Programs.ts"

let names = 0

/** A relayer with a key of its own, so that statements do not share a lane. */
const relayerWith = Effect.fnUntraced(function* (policies?: object) {
  const { kit, network } = yield* TestChain
  const id = `relayer-${++names}`
  const signer = yield* (yield* Signers).create({ id, type: "plain" })
  const own = { id, name: id, network: network.name, paused: false, signer_id: signer.id }
  const request = { ...own, network_type: network.type, policies: { ...kit.policies, ...policies } }
  return (yield* (yield* Relayers).create(toCreate(request))).value
})

const toCreate = Schema.decodeUnknownSync(Schema.toType(CreateRelayer))

const makeRelayer = relayerWith()

/** Seconds for which an envelope of stellar is valid at least. */
const shortest = 15n

/** No two statements make the same payment. */
const ownPayment = Effect.map(TestChain, ({ network: { type } }) => ({
  to: Programs.payments[type].to,
  value: BigInt(++names)
}))

/** The body of a payment of its own, and the payment. */
const ownBody = Effect.fnUntraced(function* ({ address }: Relayer) {
  const payment = yield* ownPayment
  return { payment, body: (yield* TestChain).bodyOf(address, payment) }
})

/** Its events up to the last one. A service shows an event when all earlier ones of the feed have been committed. */
const eventsOf = Effect.fnUntraced(function* (relayer: RelayerId, id: string, last: string) {
  const { list } = yield* EventFeed
  const types = Effect.map(list({ relayer_id: relayer, resource_id: id }), ({ items }) => items.map(({ type }) => type))
  return yield* Effect.repeat(types, {
    until: (found) => found.some((type) => type === last),
    schedule: Schedule.spaced("50 millis")
  })
})

const unknown = TransactionId.make("4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b")

/** What a statement needs: the services of the package, and the chain. */
type Parts = Sends | Accounts | Keys | Chains | Feed | TestChain

type Statements = Readonly<Record<string, Effect.Effect<void, unknown, Parts>>>

const onEachNetwork: Statements = {
  "a payment becomes final with its events in order, and the chain has it once": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const chain = yield* TestChain
    const { body, payment } = yield* ownBody(relayer)
    const sent = yield* (yield* Transactions).send(relayer.id, body)
    assert.strictEqual(sent.status, "pending")
    const shown = yield* chain.mineUntilFinal(relayer.id, sent.id)
    assert.strictEqual(shown.status, "confirmed")
    assert.strictEqual(yield* chain.payments(payment), 1)
    // On stellar, a ledger is final when it closes.
    const seen = chain.network.type === "evm" ? ["transaction.mined"] : []
    // It depends on the moment at which the relayer looks what the transaction waits for meanwhile, and whether its slot is final already.
    const byChance = new Set(["transaction.held", ...(chain.network.type === "solana" ? ["transaction.mined"] : [])])
    const events = (yield* eventsOf(relayer.id, sent.id, "transaction.confirmed")).filter((type) => !byChance.has(type))
    assert.deepStrictEqual(events, [
      "transaction.created",
      "transaction.signed",
      "transaction.submitted",
      ...seen,
      "transaction.confirmed"
    ])
  }),

  "a repeat with the same name is the same transaction, and another body is a conflict": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const transactions = yield* Transactions
    const [own, other] = [yield* ownBody(relayer), yield* ownBody(relayer)]
    const body = { ...own.body, external_id: "order" }
    const first = yield* transactions.send(relayer.id, body)
    assert.strictEqual((yield* transactions.send(relayer.id, body)).id, first.id)
    const conflict = yield* Effect.flip(transactions.send(relayer.id, { ...other.body, external_id: "order" }))
    assert.strictEqual(conflict._tag, "TransactionConflict")
    assert.include(conflict.message, `external_id: was used with another body, by transaction ${first.id}`)
  }),

  "two equal payments without a name are two transactions, and both are made": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const chain = yield* TestChain
    const { body, payment } = yield* ownBody(relayer)
    const sent = yield* (yield* Transactions).sendBatch(relayer.id, { transactions: [body, body] })
    for (const { id } of sent) {
      assert.strictEqual((yield* chain.mineUntilFinal(relayer.id, id)).status, "confirmed")
    }
    assert.strictEqual(yield* chain.payments(payment), 2)
  }),

  "a payment that is canceled before a block takes it is not made": Effect.gen(function* () {
    const chain = yield* TestChain
    // Its envelope has to die, which takes a minute otherwise.
    const relayer = yield* chain.network.type === "stellar" ? relayerWith({ timeout_seconds: shortest }) : makeRelayer
    const transactions = yield* Transactions
    const { body, payment } = yield* ownBody(relayer)
    yield* chain.holdBack(true)
    const { id } = yield* transactions.send(relayer.id, body)
    yield* chain.mineUntil("the payment is sent", chain.isSent(payment))
    assert.isTrue((yield* transactions.cancel(relayer.id, id)).is_canceled)
    if (chain.network.type === "evm") {
      // The no-op that takes its place reaches the pool. On other networks, its bytes die.
      yield* chain.mine(3)
      yield* chain.holdBack(false)
    }
    assert.strictEqual((yield* chain.mineUntilFinal(relayer.id, id)).status, "canceled")
    yield* chain.holdBack(false)
    yield* chain.mine(3)
    assert.strictEqual(yield* chain.payments(payment), 0)
  }),

  "a relayer is deleted when its transactions are final": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const relayers = yield* Relayers
    const { body } = yield* ownBody(relayer)
    const { id } = yield* (yield* Transactions).send(relayer.id, body)
    const refused = yield* Effect.flip(relayers.delete(relayer.id))
    assert.strictEqual(refused.message, "has open transactions: 1; cancel them, or wait for them")
    yield* (yield* TestChain).mineUntilFinal(relayer.id, id)
    yield* relayers.delete(relayer.id)
    assert.strictEqual((yield* Effect.flip(relayers.get(relayer.id)))._tag, "RelayerNotFound")
  }),

  "a paused relayer accepts nothing": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const relayers = yield* Relayers
    const { body } = yield* ownBody(relayer)
    assert.isTrue((yield* relayers.update(relayer.id, { paused: true })).value.paused)
    const refused = yield* Effect.flip((yield* Transactions).send(relayer.id, body))
    assert.strictEqual(refused._tag, "RelayerPaused")
  }),

  "what does not exist is not found, and what is taken is not made again": Effect.gen(function* () {
    const { id: relayer, signer_id } = yield* makeRelayer
    const { type } = (yield* TestChain).network
    const transactions = yield* Transactions
    assert.strictEqual((yield* Effect.flip(transactions.get(relayer, unknown)))._tag, "TransactionNotFound")
    const request = {
      id: relayer,
      name: "R",
      network: "nowhere",
      network_type: type,
      paused: false,
      signer_id
    } as const
    assert.strictEqual((yield* Effect.flip((yield* Relayers).create(request)))._tag, "RelayerIdTaken")
    const other = yield* Effect.flip((yield* Relayers).create({ ...request, id: `${relayer}-2` }))
    assert.include(other.message, "network: ")
    assert.strictEqual((yield* Effect.flip((yield* Signers).delete(signer_id)))._tag, "SignerInUse")
  }),

  "a network of the chain inherits from the one that is there": Effect.gen(function* () {
    const { blockTime, name, type } = (yield* TestChain).network
    const { value } = yield* (yield* Networks).create({ network_type: type, name: `own-${++names}`, from: name })
    assert.strictEqual(value.average_blocktime_ms, blockTime)
    assert.strictEqual((yield* (yield* Networks).get(value.id)).value.name, value.name)
  }),

  "a payment that reverts is failed, and a careful program does not book it": Effect.gen(function* () {
    const { address, id: relayer } = yield* makeRelayer
    const chain = yield* TestChain
    const payment = { to: receivers[chain.network.type], value: 5n }
    yield* Scenario.reverts({
      relayer,
      payment,
      program: Effect.gen(function* () {
        const { id } = yield* (yield* Transactions).send(relayer, chain.bodyOf(address, payment))
        const isEnded = Effect.map((yield* Transactions).get(relayer, id), ({ status }) => status === "failed")
        yield* chain.mineUntil("the payment has failed", isEnded)
        return 0
      })
    })
  }),

  "a payment survives the death of one of two providers": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const chain = yield* TestChain
    const { body, payment } = yield* ownBody(relayer)
    yield* chain.kill(0)
    const { id } = yield* (yield* Transactions).send(relayer.id, body)
    yield* chain.mineUntil("a block has the payment", chain.isMined(payment))
    yield* chain.revive(0)
    assert.strictEqual((yield* chain.mineUntilFinal(relayer.id, id)).status, "confirmed")
    assert.strictEqual(yield* chain.payments(payment), 1)
  })
}

/** Receivers of their own, at which calls revert. */
const receivers = {
  evm: `0x${"de".repeat(20)}`,
  solana: "3KNnAEnq3oS2HVm8LhSfVHsRWwhYwaCgbzqnNy5D2vFP",
  stellar: "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI"
} as const

/** Where a block can be replaced that a provider has shown. */
const whereBlocksFork: Statements = {
  "a payment survives a reorganisation": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const chain = yield* TestChain
    const { body, payment } = yield* ownBody(relayer)
    const { id } = yield* (yield* Transactions).send(relayer.id, body)
    yield* chain.mineUntil("a block has the payment", chain.isMined(payment))
    yield* chain.reorganise(1)
    assert.strictEqual((yield* chain.mineUntilFinal(relayer.id, id)).status, "confirmed")
    assert.strictEqual(yield* chain.payments(payment), 1)
  })
}

const onEvm: Statements = {
  "a transaction shows its account, and nonces in the order of a batch, which is accepted as a whole": Effect.gen(
    function* () {
      const { address, id: relayer } = yield* makeRelayer
      const chain = yield* TestChain
      const transactions = yield* Transactions
      const bodies = [yield* ownPayment, yield* ownPayment, yield* ownPayment]
      const refused = yield* Effect.flip(transactions.sendBatch(relayer, { transactions: [...bodies, { value: 1n }] }))
      assert.strictEqual(refused.message, "transactions.3.to: is required unless data or calls is given")
      const sent = yield* transactions.sendBatch(relayer, { transactions: bodies })
      const shown = yield* Effect.forEach(sent, ({ id }) => chain.mineUntilFinal(relayer, id))
      assert.deepStrictEqual(
        shown.map((one) => ("nonce" in one ? [one.from, one.nonce] : [])),
        [0, 1, 2].map((nonce) => [address, nonce])
      )
    }
  ),

  "a body that is not valid is refused by its fields, and nothing is stored": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const transactions = yield* Transactions
    const refused = yield* Effect.flip(
      transactions.send(relayer, { value: 1n, gas_price: 1n, max_fee_per_gas: 2n, max_priority_fee_per_gas: 3n })
    )
    assert.strictEqual(refused._tag, "BadRequest")
    assert.strictEqual(
      refused.message,
      "to: is required unless data or calls is given; gas_price: cannot be given together with EIP-1559 fees; max_priority_fee_per_gas: must be at most max_fee_per_gas"
    )
    assert.deepStrictEqual((yield* transactions.list(relayer, {})).items, [])
  }),

  "a replacement is made instead, at the same nonce": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const chain = yield* TestChain
    const transactions = yield* Transactions
    const [own, other] = [yield* ownPayment, yield* ownPayment]
    yield* chain.holdBack(true)
    const { id } = yield* transactions.send(relayer, own)
    yield* chain.mineUntil("the payment is sent", chain.isSent(own))
    yield* transactions.replace(relayer, id, other)
    yield* chain.mineUntil("the replacement is sent", chain.isSent(other))
    yield* chain.mine()
    yield* chain.holdBack(false)
    assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "confirmed")
    assert.deepStrictEqual([yield* chain.payments(own), yield* chain.payments(other)], [0, 1])
    assert.include(yield* eventsOf(relayer, id, "transaction.replaced"), "transaction.replaced")
  }),

  "a policy limits receivers and prices": Effect.gen(function* () {
    const { id: relayer } = yield* relayerWith({ whitelist_receivers: [Programs.payment.to], gas_price_cap: 1000n })
    const transactions = yield* Transactions
    const refused = yield* Effect.flip(
      transactions.send(relayer, { to: `0x${"ab".repeat(20)}`, value: 1n, gas_price: 2000n, gas_limit: 21_000n })
    )
    assert.strictEqual(
      refused.message,
      "to: is not in whitelist_receivers of the relayer's policy; gas_price: must be at most 1000, the gas_price_cap of the relayer"
    )
  })
}

const attemptsOf = (shown: object): number =>
  "attempts" in shown && Array.isArray(shown.attempts) ? shown.attempts.length : 0

const onSolana: Statements = {
  "a body that is not valid is refused by its fields, and nothing is stored": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const transactions = yield* Transactions
    const { body } = yield* ownBody(relayer)
    const refused = yield* Effect.flip(
      transactions.sendBatch(relayer.id, { transactions: [body, { ...body, speed: "fast", compute_unit_price: 1n }] })
    )
    assert.strictEqual(refused._tag, "BadRequest")
    assert.strictEqual(refused.message, "transactions.1.speed: cannot be given together with compute_unit_price")
    assert.deepStrictEqual((yield* transactions.list(relayer.id, {})).items, [])
  }),

  "a payment whose blockhash dies is signed with another one, and made once": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const chain = yield* TestChain
    const transactions = yield* Transactions
    const { body, payment } = yield* ownBody(relayer)
    yield* chain.holdBack(true)
    const { id } = yield* transactions.send(relayer.id, body)
    const isRenewed = Effect.map(transactions.get(relayer.id, id), (shown) => attemptsOf(shown) > 1)
    yield* chain.mineUntil("the payment has another blockhash", isRenewed)
    yield* chain.holdBack(false)
    assert.strictEqual((yield* chain.mineUntilFinal(relayer.id, id)).status, "confirmed")
    assert.strictEqual(yield* chain.payments(payment), 1)
    assert.include(yield* eventsOf(relayer.id, id, "transaction.replaced"), "transaction.replaced")
  }),

  "a payment is replaced before its first signature, and not afterwards": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const chain = yield* TestChain
    const transactions = yield* Transactions
    const [own, other] = [yield* ownBody(relayer), yield* ownBody(relayer)]
    const not_before = DateTime.makeUnsafe((yield* Clock.currentTimeMillis) + 5000)
    const { id } = yield* transactions.send(relayer.id, { ...own.body, not_before })
    yield* transactions.replace(relayer.id, id, other.body)
    yield* chain.holdBack(true)
    yield* chain.mineUntil("the replacement is sent", chain.isSent(other.payment))
    const refused = yield* Effect.flip(transactions.replace(relayer.id, id, own.body))
    assert.include(refused.message, "is signed: its bytes can land until block height ")
    yield* chain.holdBack(false)
    assert.strictEqual((yield* chain.mineUntilFinal(relayer.id, id)).status, "confirmed")
    assert.deepStrictEqual([yield* chain.payments(own.payment), yield* chain.payments(other.payment)], [0, 1])
  }),

  "a policy limits programs": Effect.gen(function* () {
    const relayer = yield* relayerWith({ allowed_programs: ["MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"] })
    const { body } = yield* ownBody(relayer)
    const refused = yield* Effect.flip((yield* Transactions).send(relayer.id, body))
    assert.strictEqual(
      refused.message,
      "instructions: program_not_allowed: program 11111111111111111111111111111111 is not in allowed_programs of the relayer"
    )
  })
}

const onStellar: Statements = {
  "a body that is not valid is refused by its fields, and nothing is stored": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const transactions = yield* Transactions
    const { body } = yield* ownBody(relayer)
    const { name } = (yield* TestChain).network
    const refused = yield* Effect.flip(
      transactions.sendBatch(relayer.id, { transactions: [body, { ...body, network: "nowhere" }] })
    )
    assert.strictEqual(refused._tag, "BadRequest")
    assert.strictEqual(refused.message, `transactions.1.network: must be ${name}, the network of the relayer`)
    assert.deepStrictEqual((yield* transactions.list(relayer.id, {})).items, [])
  }),

  "payments use the sequences of the account one after the other": Effect.gen(function* () {
    const relayer = yield* makeRelayer
    const chain = yield* TestChain
    const bodies = [(yield* ownBody(relayer)).body, (yield* ownBody(relayer)).body]
    const sent = yield* (yield* Transactions).sendBatch(relayer.id, { transactions: bodies })
    const shown = yield* Effect.forEach(sent, ({ id }) => chain.mineUntilFinal(relayer.id, id))
    const [first = 0n, second] = shown.map((one) => ("sequence_number" in one ? BigInt(one.sequence_number) : 0n))
    assert.isAbove(Number(first), 2 ** 32)
    assert.strictEqual(second, first + 1n)
  }),

  "a payment whose envelope dies is signed anew, and made once": Effect.gen(function* () {
    const relayer = yield* relayerWith({ timeout_seconds: shortest })
    const chain = yield* TestChain
    const transactions = yield* Transactions
    const { body, payment } = yield* ownBody(relayer)
    yield* chain.holdBack(true)
    const { id } = yield* transactions.send(relayer.id, body)
    const isRenewed = Effect.map(transactions.get(relayer.id, id), (shown) => attemptsOf(shown) > 1)
    yield* chain.mineUntil("the payment has another envelope", isRenewed)
    yield* chain.holdBack(false)
    assert.strictEqual((yield* chain.mineUntilFinal(relayer.id, id)).status, "confirmed")
    assert.strictEqual(yield* chain.payments(payment), 1)
  }),

  "a policy limits fees": Effect.gen(function* () {
    const relayer = yield* relayerWith({ max_fee: 500 })
    const { body } = yield* ownBody(relayer)
    const refused = yield* Effect.flip((yield* Transactions).send(relayer.id, { ...body, max_fee: 501n }))
    assert.strictEqual(refused.message, "max_fee: must be at most 500, the max_fee of the relayer's policy")
  })
}

const byNetwork = {
  evm: { ...whereBlocksFork, ...onEvm },
  solana: { ...whereBlocksFork, ...onSolana },
  stellar: onStellar
} as const

/** Statements with their names. */
export const statementsOn = (type: keyof typeof byNetwork) => Object.entries({ ...onEachNetwork, ...byNetwork[type] })

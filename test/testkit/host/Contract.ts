// What holds for programs that send, whatever is behind the services: the test kit, or the real service on the same chain.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
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

const { payment } = Programs

let names = 0

/** A relayer with a key of its own, so that statements do not share a lane. */
const relayerWith = Effect.fnUntraced(function* (network: string, more: object = {}) {
  const id = `relayer-${++names}`
  const signer = yield* (yield* Signers).create({ id, type: "plain" })
  const request = { id, name: id, network, network_type: "evm", paused: false, signer_id: signer.id, ...more } as const
  return (yield* (yield* Relayers).create(request)).value
})

const network = Effect.map(TestChain, (chain) => chain.network.name)

const makeRelayer = Effect.flatMap(network, relayerWith)

/** No two statements make the same payment. */
const ownPayment = () => ({ to: payment.to, value: BigInt(++names) })

const eventsOf = Effect.fnUntraced(function* (relayer: RelayerId, id: string) {
  const { items } = yield* (yield* EventFeed).list({ relayer_id: relayer, resource_id: id })
  return items.map(({ type }) => type)
})

const unknown = TransactionId.make("4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b")

/** What a statement needs: the services of the package, and the chain. */
type Parts = Sends | Accounts | Keys | Chains | Feed | TestChain

const all: Readonly<Record<string, Effect.Effect<void, unknown, Parts>>> = {
  "a payment becomes final with its events in order, and the chain has it once": Effect.gen(function* () {
    const { id: relayer, address } = yield* makeRelayer
    const chain = yield* TestChain
    const own = ownPayment()
    const sent = yield* (yield* Transactions).send(relayer, own)
    assert.strictEqual(sent.status, "pending")
    const shown = yield* chain.mineUntilFinal(relayer, sent.id)
    assert.strictEqual(shown.status, "confirmed")
    assert.strictEqual("from" in shown ? shown.from : undefined, address)
    assert.strictEqual("nonce" in shown ? shown.nonce : undefined, 0)
    assert.strictEqual(yield* chain.payments(own), 1)
    assert.deepStrictEqual(yield* eventsOf(relayer, sent.id), [
      "transaction.created",
      "transaction.signed",
      "transaction.submitted",
      "transaction.mined",
      "transaction.confirmed"
    ])
  }),

  "a repeat with the same name is the same transaction, and another body is a conflict": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const transactions = yield* Transactions
    const body = { ...ownPayment(), external_id: "order" }
    const first = yield* transactions.send(relayer, body)
    assert.strictEqual((yield* transactions.send(relayer, body)).id, first.id)
    const conflict = yield* Effect.flip(transactions.send(relayer, { ...body, value: 1_000_000n }))
    assert.strictEqual(conflict._tag, "TransactionConflict")
    assert.include(conflict.message, `external_id: was used with another body, by transaction ${first.id}`)
  }),

  "a body that is not valid is refused by its fields, and nothing is stored": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const transactions = yield* Transactions
    const refused = yield* Effect.flip(
      transactions.send(relayer, { value: 1n, gas_price: 1n, max_fee_per_gas: 2n, max_priority_fee_per_gas: 3n })
    )
    assert.strictEqual(refused._tag, "BadRequest")
    assert.strictEqual(
      refused.message,
      "to: is required unless data is given; gas_price: cannot be given together with EIP-1559 fees; max_priority_fee_per_gas: must be at most max_fee_per_gas"
    )
    assert.deepStrictEqual((yield* transactions.list(relayer, {})).items, [])
  }),

  "a batch is accepted as a whole, and paid in its order": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const chain = yield* TestChain
    const transactions = yield* Transactions
    const bodies = [ownPayment(), ownPayment(), ownPayment()]
    const refused = yield* Effect.flip(transactions.sendBatch(relayer, { transactions: [...bodies, { value: 1n }] }))
    assert.strictEqual(refused.message, "transactions.3.to: is required unless data is given")
    const sent = yield* transactions.sendBatch(relayer, { transactions: bodies })
    const shown = yield* Effect.forEach(sent, ({ id }) => chain.mineUntilFinal(relayer, id))
    assert.deepStrictEqual(
      shown.map((one) => ("nonce" in one ? one.nonce : undefined)),
      [0, 1, 2]
    )
  }),

  "a payment that is canceled before a block takes it is not made": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const chain = yield* TestChain
    const transactions = yield* Transactions
    const own = ownPayment()
    yield* chain.holdBack(true)
    const { id } = yield* transactions.send(relayer, own)
    yield* chain.mineUntil("the payment is sent", chain.isSent(own))
    assert.isTrue((yield* transactions.cancel(relayer, id)).is_canceled)
    // The no-op that takes its place reaches the pool.
    yield* chain.mine(3)
    yield* chain.holdBack(false)
    assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "canceled")
    assert.strictEqual(yield* chain.payments(own), 0)
  }),

  "a replacement is made instead, at the same nonce": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const chain = yield* TestChain
    const transactions = yield* Transactions
    const [own, other] = [ownPayment(), ownPayment()]
    yield* chain.holdBack(true)
    const { id } = yield* transactions.send(relayer, own)
    yield* chain.mineUntil("the payment is sent", chain.isSent(own))
    yield* transactions.replace(relayer, id, other)
    yield* chain.mineUntil("the replacement is sent", chain.isSent(other))
    yield* chain.mine()
    yield* chain.holdBack(false)
    assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "confirmed")
    assert.deepStrictEqual([yield* chain.payments(own), yield* chain.payments(other)], [0, 1])
    assert.include(yield* eventsOf(relayer, id), "transaction.replaced")
  }),

  "a relayer is deleted when its transactions are final": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const relayers = yield* Relayers
    const { id } = yield* (yield* Transactions).send(relayer, ownPayment())
    const refused = yield* Effect.flip(relayers.delete(relayer))
    assert.strictEqual(refused.message, "has open transactions: 1; cancel them, or wait for them")
    yield* (yield* TestChain).mineUntilFinal(relayer, id)
    yield* relayers.delete(relayer)
    assert.strictEqual((yield* Effect.flip(relayers.get(relayer)))._tag, "RelayerNotFound")
  }),

  "a paused relayer accepts nothing": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const relayers = yield* Relayers
    assert.isTrue((yield* relayers.update(relayer, { paused: true })).value.paused)
    const refused = yield* Effect.flip((yield* Transactions).send(relayer, ownPayment()))
    assert.strictEqual(refused._tag, "RelayerPaused")
  }),

  "a policy limits receivers and prices": Effect.gen(function* () {
    const policies = { whitelist_receivers: [payment.to], gas_price_cap: 1000n }
    const { id: relayer } = yield* relayerWith(yield* network, { policies })
    const transactions = yield* Transactions
    const refused = yield* Effect.flip(
      transactions.send(relayer, { to: `0x${"ab".repeat(20)}`, value: 1n, gas_price: 2000n, gas_limit: 21_000n })
    )
    assert.strictEqual(
      refused.message,
      "to: is not in whitelist_receivers of the relayer's policy; gas_price: must be at most 1000, the gas_price_cap of the relayer"
    )
  }),

  "what does not exist is not found, and what is taken is not made again": Effect.gen(function* () {
    const { id: relayer, signer_id } = yield* makeRelayer
    const transactions = yield* Transactions
    assert.strictEqual((yield* Effect.flip(transactions.get(relayer, unknown)))._tag, "TransactionNotFound")
    const request = {
      id: relayer,
      name: "R",
      network: "nowhere",
      network_type: "evm",
      paused: false,
      signer_id
    } as const
    assert.strictEqual((yield* Effect.flip((yield* Relayers).create(request)))._tag, "RelayerIdTaken")
    const other = yield* Effect.flip((yield* Relayers).create({ ...request, id: `${relayer}-2` }))
    assert.include(other.message, "network: ")
    assert.strictEqual((yield* Effect.flip((yield* Signers).delete(signer_id)))._tag, "SignerInUse")
  }),

  "a network of the chain inherits from the one that is there": Effect.gen(function* () {
    const { name, chainId } = (yield* TestChain).network
    const { value } = yield* (yield* Networks).create({ network_type: "evm", name: `own-${++names}`, from: name })
    assert.strictEqual("chain_id" in value ? value.chain_id : undefined, chainId)
    assert.strictEqual((yield* (yield* Networks).get(value.id)).value.name, value.name)
  }),

  "a payment that reverts is failed, and a careful program does not book it": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const own = { to: `0x${"de".repeat(20)}`, value: 5n }
    const chain = yield* TestChain
    yield* Scenario.reverts({
      relayer,
      payment: own,
      program: Effect.gen(function* () {
        const { id } = yield* (yield* Transactions).send(relayer, { ...own, gas_limit: 50_000n })
        const isEnded = Effect.map((yield* Transactions).get(relayer, id), ({ status }) => status === "failed")
        yield* chain.mineUntil("the payment has failed", isEnded)
        return 0
      })
    })
  }),

  "a payment survives a reorganisation": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const chain = yield* TestChain
    const own = ownPayment()
    const { id } = yield* (yield* Transactions).send(relayer, own)
    yield* chain.mineUntil("a block has the payment", chain.isMined(own))
    yield* chain.reorganise(1)
    assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "confirmed")
    assert.strictEqual(yield* chain.payments(own), 1)
  }),

  "a payment survives the death of one of two providers": Effect.gen(function* () {
    const { id: relayer } = yield* makeRelayer
    const chain = yield* TestChain
    const own = ownPayment()
    yield* chain.kill(0)
    const { id } = yield* (yield* Transactions).send(relayer, own)
    yield* chain.mineUntil("a block has the payment", chain.isMined(own))
    yield* chain.revive(0)
    assert.strictEqual((yield* chain.mineUntilFinal(relayer, id)).status, "confirmed")
    assert.strictEqual(yield* chain.payments(own), 1)
  })
}

/** Statements with their names. */
export const statements = Object.entries(all)

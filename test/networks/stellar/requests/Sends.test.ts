// Sends of stellar relayers over HTTP: what is accepted and refused, and that what is accepted is applied.
// Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { readFile } from "node:fs/promises"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { envelope, keyNamed, payment, transaction } from "../../../../testkit/stellar/Building.ts"
import { dataOf, pay, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

const [receiver, user] = [keyNamed("receiver"), keyNamed("user")]

const soon = () => Math.floor((performance.timeOrigin + performance.now()) / 1000) + 100

layer(api, { excludeTestServices: true, concurrent: true })("a stellar relayer", (it) => {
  it.effect("sends a payment: it is confirmed with ledger and fee, and the balances show it", () =>
    Effect.gen(function* () {
      const { account, address, becomes, get, network, send } = yield* relayerAt()
      network.grant(receiver.publicKey(), 10n * xlm)
      const before = account()?.sequence ?? 0n
      const answer = yield* send(pay(receiver.publicKey(), 5n * xlm))
      assert.strictEqual(answer.status, 200, answer.text)
      const accepted = dataOf(answer)
      assert.strictEqual(accepted.network_type, "stellar")
      assert.strictEqual(accepted.sequence_number, "0")
      assert.strictEqual(accepted.fee, 0)
      const confirmed = yield* becomes(accepted.id, "confirmed")
      assert.strictEqual(confirmed.code, "confirmed")
      assert.strictEqual(confirmed.sequence_number, String(before + 1n))
      assert.isAbove(confirmed.ledger ?? 0, 60_000_000)
      assert.strictEqual(confirmed.fee_paid, "100")
      assert.strictEqual(confirmed.source_account, address)
      assert.lengthOf(confirmed.attempts ?? [], 1)
      assert.strictEqual(account(receiver.publicKey())?.balance, 15n * xlm)
      assert.strictEqual(account()?.balance, 995n * xlm - 100n)
      assert.include(JSON.stringify(yield* get(accepted.id, "/explain")), "ledger")
    })
  )

  it.effect("sends the block of docs/stellar.md, and is found by its sequence, which exceeds 2^53", () =>
    Effect.gen(function* () {
      const { account, becomes, id, network, path } = yield* relayerAt()
      const text = yield* Effect.promise(() => readFile("docs/stellar.md", "utf8"))
      const block = /-d '(\{[\s\S]+?\})'\n```/.exec(text)?.[1] ?? ""
      const body = JSON.parse(block)
      const [{ destination }] = body.operations
      network.grant(destination, 10n * xlm)
      const { call } = yield* TestApi.TestApi
      const answer = yield* call(path, { method: "POST", body: { ...body, network: id } })
      assert.strictEqual(answer.status, 200, answer.text)
      const confirmed = yield* becomes(dataOf(answer).id, "confirmed")
      assert.strictEqual(account(destination)?.balance, 11n * xlm)
      assert.isAbove(Number(confirmed.sequence_number), Number.MAX_SAFE_INTEGER)
      const found = yield* call(`${path}/by-nonce/${confirmed.sequence_number}`)
      assert.strictEqual(dataOf(found).id, confirmed.id)
      assert.strictEqual(dataOf(found).sequence_number, confirmed.sequence_number)
    })
  )

  it.effect("sends several payments one after the other, at consecutive sequences", () =>
    Effect.gen(function* () {
      const { account, becomes, network, send } = yield* relayerAt()
      network.grant(receiver.publicKey(), 10n * xlm)
      const before = account()?.sequence ?? 0n
      const ids: Array<string> = []
      for (let index = 1n; index <= 3n; index++) ids.push(dataOf(yield* send(pay(receiver.publicKey(), index))).id)
      const sequences: Array<string> = []
      for (const id of ids) sequences.push((yield* becomes(id, "confirmed")).sequence_number)
      assert.deepStrictEqual(
        sequences,
        [1n, 2n, 3n].map((more) => String(before + more))
      )
      assert.strictEqual(account()?.sequence, before + 3n)
    })
  )

  it.effect("shows a payment that fails on the chain as failed, with the result of its operation and the fee", () =>
    Effect.gen(function* () {
      const { becomes, send } = yield* relayerAt()
      const { id } = dataOf(yield* send(pay(keyNamed("nobody").publicKey(), 5n)))
      const failed = yield* becomes(id, "failed")
      assert.strictEqual(failed.code, "operation_failed")
      assert.strictEqual(failed.fee_paid, "100")
      assert.include(failed.status_reason ?? "", "Transaction failed on-chain. reason=txFailed")
    })
  )

  it.effect("pays for an envelope that a user has signed", () =>
    Effect.gen(function* () {
      const { account, address, becomes, network, passphrase, send } = yield* relayerAt()
      for (const key of [user, receiver]) network.grant(key.publicKey(), 10n * xlm)
      const sequence = (account(user.publicKey())?.sequence ?? 0n) + 1n
      const inner = envelope(user, [payment(receiver, xlm)], { sequence, maxTime: soon(), network: passphrase })
      const answer = yield* send({ transaction_xdr: inner, fee_bump: true })
      assert.strictEqual(answer.status, 200, answer.text)
      const confirmed = yield* becomes(dataOf(answer).id, "confirmed")
      assert.strictEqual(confirmed.source_account, user.publicKey())
      assert.strictEqual(confirmed.sequence_number, String(sequence))
      assert.strictEqual(confirmed.fee_paid, "200")
      assert.strictEqual(account(user.publicKey())?.balance, 9n * xlm)
      assert.strictEqual(account(address)?.balance, 1000n * xlm - 200n)
      const again = yield* send({ transaction_xdr: inner, fee_bump: true })
      assert.deepStrictEqual([again.status, dataOf(again).id], [200, confirmed.id], again.text)
      const other = yield* send({ transaction_xdr: inner, fee_bump: true, priority: 1 })
      assert.strictEqual(other.status, 409)
      assert.include(other.json.error ?? "", `already_accepted: transaction ${confirmed.id}`)
    })
  )

  it.effect("sends an unsigned envelope at its own sequence", () =>
    Effect.gen(function* () {
      const { account, address, becomes, network, passphrase, send } = yield* relayerAt()
      network.grant(receiver.publicKey(), 10n * xlm)
      const before = account()?.sequence ?? 0n
      const unsigned = transaction(address, [payment(receiver, xlm)], { sequence: 7n, network: passphrase })
      const answer = yield* send({ transaction_xdr: unsigned.toXDR() })
      assert.strictEqual(answer.status, 200, answer.text)
      const confirmed = yield* becomes(dataOf(answer).id, "confirmed")
      assert.strictEqual(confirmed.sequence_number, String(before + 1n))
      assert.strictEqual(account(receiver.publicKey())?.balance, 11n * xlm)
    })
  )
})

// Answers of stellar relayers besides 400: what is accepted although it is odd, what a key or a state forbids, what is sent twice, and
// what is answered while no provider does. Ledgers close by the clock of the machine.
import { DateTime, Effect, Layer, Logger } from "effect"
import { assert, layer } from "@effect/vitest"
import { TransactionBuilder } from "@stellar/stellar-sdk/base"
import { randomUUID } from "node:crypto"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as Prepared from "../../../../testkit/Prepared.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { until } from "../../../../testkit/process/Folder.ts"
import { envelope, keyNamed, payment, transaction } from "../../../../testkit/stellar/Building.ts"
import { creditName, policies, trust } from "../../../../testkit/stellar/Credits.ts"
import { dataOf, pay, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

const [receiver, user] = [keyNamed("receiver"), keyNamed("user")]
const to = receiver.publicKey()

const inSeconds = (seconds: number) => Math.floor((performance.timeOrigin + performance.now()) / 1000) + seconds

const inAMinute = () => DateTime.formatIso(DateTime.makeUnsafe(inSeconds(60) * 1000))

/** What a node of the stand-in answers while a provider is down. */
const down = {
  faults: {
    provider: 0,
    set: {
      throttled: [
        "getFeeStats",
        "getHealth",
        "getLatestLedger",
        "getLedgerEntries",
        "getNetwork",
        "getTransaction",
        "getTransactions",
        "sendTransaction",
        "simulateTransaction"
      ]
    }
  }
}

/** A relayer whose ledger closes only if a test asks for it, with each request that acts for it. */
const quiet = Effect.fnUntraced(function* (given: Parameters<typeof relayerAt>[0] = {}) {
  const relayer = yield* relayerAt({ ledgerMs: 0, ...given })
  const { account, address, id, network, passphrase, path } = relayer
  for (const key of [receiver, user]) network.grant(key.publicKey(), 10n * xlm)
  const { call } = yield* TestApi.TestApi
  const replace = (of: string, more: TestApi.Call = {}) =>
    call(`${path}/${of}`, { ...more, method: "PUT", body: { network: id, ...pay(to, 2n) } })
  const remove = (of: string) => call(`${path}/${of}`, { method: "DELETE" })
  const unsigned_xdr = transaction(address, [payment(receiver, 1n)], {
    sequence: (account()?.sequence ?? 0n) + 1n,
    maxTime: inSeconds(100),
    network: passphrase
  }).toXDR()
  const sign = (more: TestApi.Call = {}) =>
    call(`/api/v1/relayers/${id}/sign-transaction`, { ...more, method: "POST", body: { unsigned_xdr } })
  const change = (body: object) => call(`/api/v1/relayers/${id}`, { method: "PATCH", body })
  /** An envelope of the user, who pays nothing. */
  const inner = envelope(user, [payment(receiver, xlm)], {
    sequence: (account(user.publicKey())?.sequence ?? 0n) + 1n,
    maxTime: inSeconds(200),
    network: passphrase
  })
  return { ...relayer, call, replace, remove, sign, change, inner }
})

/** Another relayer on the network of the first one. */
const beside = Effect.fnUntraced(function* (network: string) {
  const id = randomUUID()
  yield* Prepared.create("signers", { id, type: "plain" })
  yield* Prepared.create("relayers", { id, name: "B", network, network_type: "stellar", paused: false, signer_id: id })
  return `/api/v1/relayers/${id}/transactions`
})

layer(api, { excludeTestServices: true, concurrent: true })("a stellar relayer", (it) => {
  it.effect("stores a policy that is odd, and its health warns of it", () =>
    Effect.gen(function* () {
      const { change, id } = yield* quiet()
      const odd = { concurrent_transactions: true, timeout_seconds: 600 }
      const changed = yield* change({ policies: odd })
      assert.strictEqual(changed.status, 200, changed.text)
      const { call } = yield* TestApi.TestApi
      const { json } = yield* call(`/api/v1/relayers/${id}`)
      assert.deepInclude((json.data as { readonly policies: object }).policies, odd)
      const warnings = JSON.stringify((yield* call(`/api/v1/relayers/${id}/explain`)).json.data)
      assert.include(warnings, "no_channels")
      assert.include(warnings, "timeout_bounded")
    })
  )

  it.effect("refuses a key whose limits have no member stellar, and names the member: send, replace and sign", () =>
    Effect.gen(function* () {
      const { replace, send, sign } = yield* quiet()
      const { id } = dataOf(yield* send({ ...pay(to, 1n), not_before: inAMinute() }))
      const key = yield* makeKey(["transactions:*", "transactions:sign"], { transaction_limits: { max_value: "1" } })
      for (const answer of [yield* send(pay(to, 1n), { key }), yield* replace(id, { key }), yield* sign({ key })]) {
        assert.strictEqual(answer.status, 403, answer.text)
        assert.include(answer.json.error ?? "", "transaction_limits.stellar")
      }
    })
  )

  it.effect("does not know the transactions of another relayer", () =>
    Effect.gen(function* () {
      const { id: network, send } = yield* quiet()
      const { id } = dataOf(yield* send({ ...pay(to, 1n), not_before: inAMinute() }))
      const { call } = yield* TestApi.TestApi
      const other = `${yield* beside(network)}/${id}`
      const answers = [
        yield* call(other),
        yield* call(`${other}/explain`),
        yield* call(other, { method: "DELETE" }),
        yield* call(other, { method: "PUT", body: { network, ...pay(to, 2n) } })
      ]
      for (const { status, text } of answers) assert.strictEqual(status, 404, text)
    })
  )

  it.effect("sends, replaces and signs nothing while it is paused", () =>
    Effect.gen(function* () {
      const { change, path, replace, send, sign } = yield* quiet()
      const { id } = dataOf(yield* send({ ...pay(to, 1n), not_before: inAMinute() }))
      yield* change({ paused: true })
      for (const answer of [yield* send(pay(to, 1n)), yield* replace(id), yield* sign()]) {
        assert.deepStrictEqual([answer.status, answer.json.message], [403, "Relayer paused"], answer.text)
      }
      const { call } = yield* TestApi.TestApi
      assert.strictEqual((yield* call(path)).status, 200)
    })
  )

  it.effect("changes nothing about a final transaction", () =>
    Effect.gen(function* () {
      const { becomes, remove, replace, send } = yield* quiet({ ledgerMs: 1000 })
      const { id } = dataOf(yield* send(pay(to, 1n)))
      yield* becomes(id, "confirmed")
      const canceled = dataOf(yield* send({ ...pay(to, 1n), not_before: inAMinute() })).id
      yield* remove(canceled)
      for (const final of [id, canceled]) {
        for (const answer of [yield* replace(final), yield* remove(final)]) {
          assert.strictEqual(answer.status, 409, answer.text)
        }
      }
    })
  )

  it.effect("accepts an envelope of a user once: two sends at once get the same transaction [28]", () =>
    Effect.gen(function* () {
      const { call, id: network, inner, send } = yield* quiet()
      const body = { transaction_xdr: inner, fee_bump: true }
      const both = yield* Effect.all([send(body), send(body)], { concurrency: "unbounded" })
      for (const { status, text } of both) assert.strictEqual(status, 200, text)
      assert.strictEqual(new Set(both.map((answer) => dataOf(answer).id)).size, 1)
      const other = yield* beside(network)
      const elsewhere = yield* call(other, { method: "POST", body: { network, ...body } })
      assert.strictEqual(elsewhere.status, 409)
      assert.include(elsewhere.json.error ?? "", "already_accepted")
      assert.deepStrictEqual((yield* call(other)).json.data, [])
    })
  )

  it.effect("signs no bytes that the service has built and signed for a transaction", () =>
    Effect.gen(function* () {
      const { becomes, call, id: relayer, network, passphrase, send } = yield* quiet()
      const taken: Array<string> = []
      const submit = network.submit.bind(network)
      network.submit = (node, text) => {
        taken.push(text)
        return submit(node, text)
      }
      const { id } = dataOf(yield* send(pay(to, 1n)))
      yield* becomes(id, "submitted")
      yield* until(
        "a send",
        Effect.sync(() => taken[0])
      )
      const built = TransactionBuilder.fromXDR(taken[0] ?? "", passphrase)
      built.signatures.splice(0)
      const body = { unsigned_xdr: built.toXDR() }
      const refused = yield* call(`/api/v1/relayers/${relayer}/sign-transaction`, { method: "POST", body })
      assert.strictEqual(refused.status, 409, refused.text)
      assert.include(refused.json.error ?? "", `already_accepted: transaction ${id}`)
    })
  )

  it.effect("accepts an envelope of a user again under the same external_id", () =>
    Effect.gen(function* () {
      const { inner, send } = yield* quiet()
      const body = { transaction_xdr: inner, fee_bump: true, external_id: "order 1" }
      const [first, second] = [yield* send(body), yield* send(body)]
      assert.deepStrictEqual([first.status, second.status], [200, 200])
      assert.strictEqual(dataOf(first).id, dataOf(second).id)
      assert.strictEqual((yield* send({ ...body, external_id: "order 2" })).status, 409)
    })
  )

  it.effect("accepts sends while no provider answers, and says so [42]; what needs a provider is 502", () =>
    Effect.gen(function* () {
      const { call, get, id, path, send, standIn } = yield* quiet()
      standIn.control(down)
      const sent = yield* send({ ...pay(to, xlm), valid_until: inSeconds(3600) })
      assert.deepStrictEqual([sent.status, dataOf(sent).status], [200, "pending"])
      const { id: waiting } = dataOf(sent)
      yield* until(
        "providers_unavailable",
        Effect.map(get(waiting), (shown) => (shown.code === "providers_unavailable" ? shown : undefined))
      )
      for (const [url, body] of [
        [`${path}/simulate`, { network: id, ...pay(to, 1n) }],
        [`/api/v1/relayers/${id}/rpc`, { jsonrpc: "2.0", id: 1, method: "getHealth" }]
      ] as const) {
        const { json, status, text } = yield* call(url, { method: "POST", body })
        assert.strictEqual(status, 502, text)
        assert.include(json.error ?? "", "http://127.0.0.1")
      }
    })
  )

  it.effect("whose users pay quotes and builds nothing while no provider answers", () =>
    Effect.gen(function* () {
      const { address, call, network, path, standIn } = yield* quiet({ policies })
      trust(network, user.publicKey(), 1_000_000n)
      trust(network, address, 0n)
      standIn.control(down)
      const body = { ...pay(to, xlm), source_account: user.publicKey(), fee_token: creditName }
      for (const what of ["quote", "build"]) {
        const { json, status, text } = yield* call(`${path}/sponsored/${what}`, { method: "POST", body })
        assert.strictEqual(status, 502, text)
        assert.include(json.error ?? "", "http://127.0.0.1")
      }
    })
  )
})

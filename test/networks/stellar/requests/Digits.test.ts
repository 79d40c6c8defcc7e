// Sequences and amounts up to 2^63−1 keep every digit from the request to the ledger, the database, the API, webhooks and clients.
// Ledgers close by the clock of the machine.
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { assert, layer } from "@effect/vitest"
import { ApiClient } from "../../../../src/client/ApiClient.ts"
import { isOfNetwork } from "../../../../src/client/Networks.ts"
import { verifyWebhook } from "../../../../src/client/Webhook.ts"
import { createClient, orThrow } from "../../../../src/client/promise/createClient.ts"
import { RelayerId } from "../../../../src/domain/relayer/Relayer.ts"
import { TransactionId } from "../../../../src/networks/core/TransactionValues.ts"
import { ledgerTables } from "../../../../src/server/ledger/Claims.ts"
import * as Receiver from "../../../../testkit/Receiver.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { until } from "../../../../testkit/process/Folder.ts"
import { keyNamed } from "../../../../testkit/stellar/Building.ts"
import { keyOf, trustlineIn } from "../../../../testkit/stellar/Entries.ts"
import { decode } from "../../../../testkit/stellar/Envelope.ts"
import { dataOf, relayerAt, xlm } from "../../../../testkit/stellar/Relayers.ts"

const api = Layer.provideMerge(ledgerTables(), TestApi.layer({ jobs: true, healthCheckInterval: "1 hour" })).pipe(
  Layer.provideMerge(Logger.layer([]))
)

const receiver = keyNamed("receiver")

const largest = 2n ** 63n - 1n

/** The highest sequence that the service uses. */
const digits = String(largest - 1n)

const signingKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

/** A relayer that issues the credit MAX and has one more sequence, and a trust line for all of the credit. */
const made = Effect.gen(function* () {
  const relayer = yield* relayerAt()
  const { account, address, id, network } = relayer
  const hook = yield* Receiver.make
  const { call } = yield* TestApi.TestApi
  const base = `/api/v1/relayers/${id}`
  yield* call("/api/v1/notifications", { method: "POST", body: { id, url: hook.url, signing_key: signingKey } })
  const changed = yield* call(base, { method: "PATCH", body: { notification_id: id } })
  assert.strictEqual(changed.status, 200, changed.text)
  const credit = `MAX:${address}`
  network.grant(receiver.publicKey(), 10n * xlm)
  const line = { kind: "trustline", address: receiver.publicKey(), asset: credit, balance: 0n, limit: largest } as const
  network.put(keyOf.trustline(receiver.publicKey(), credit), line)
  const entry = account()
  if (entry === undefined) return assert.fail("the relayer has no account")
  network.put(keyOf.account(address), { ...entry, sequence: largest - 2n })
  return { ...relayer, base, call, credit, hook }
})

layer(api, { excludeTestServices: true })("the last sequence and the largest amount", (it) => {
  it.effect("keep every digit", () =>
    Effect.gen(function* () {
      const { address, base, becomes, call, credit, hook, id: relayer_id, network, path, send } = yield* made
      const asset = { type: "credit4", code: "MAX", issuer: address }
      // A JSON number, not a text: `JSON.stringify` has no other way to write its digits.
      const amount = JSON.rawJSON(String(largest))
      const operations = [{ type: "payment", destination: receiver.publicKey(), amount, asset }]
      const { id } = dataOf(yield* send({ operations }))
      const confirmed = yield* becomes(id, "confirmed")

      const applied = network.ledgers
        .flatMap(({ transactions }) => transactions)
        .find(({ source }) => source === address)
      const envelope = decode(network.networkId, applied?.envelope ?? "")
      const [body] = (envelope?.transaction.operations ?? []).map((operation) => operation.body)
      assert.deepStrictEqual(
        [envelope?.sequence, body?.type === "payment" ? body.paymentOp.amount : undefined],
        [largest - 1n, largest],
        "the envelope"
      )
      assert.strictEqual(trustlineIn(network.reads, receiver.publicKey(), credit)?.balance, largest, "the ledger")

      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{
        nonce: string
        request: string
      }>`SELECT nonce::text, request::text FROM transactions WHERE id = ${id}`
      assert.strictEqual(row?.nonce, digits, "the row")
      assert.include(row?.request ?? "", String(largest), "the stored request")

      assert.strictEqual(confirmed.sequence_number, digits)
      const read = yield* call(`${path}/${id}`)
      assert.match(read.text, new RegExp(`"amount":"?${largest}"?`), "the request in the response")
      const byNonce = yield* call(`${path}/by-nonce/${digits}`)
      assert.strictEqual(dataOf(byNonce).sequence_number, digits, "the search by sequence")
      for (const list of [path, `/api/v1/transactions?relayer_id=${relayer_id}`]) {
        const { json } = yield* call(list)
        const [listed] = json.data as ReadonlyArray<{ readonly sequence_number: string }>
        assert.strictEqual(listed?.sequence_number, digits, list)
      }
      const nonce = yield* call(`${base}/nonce`)
      assert.deepInclude(nonce.json.data, { used_sequence: digits, chain_sequence: digits })

      const { transactions } = yield* ApiClient
      const params = { relayer_id: RelayerId.make(relayer_id), transaction_id: TransactionId.make(id) }
      const { data } = yield* transactions.get({ params, query: {} })
      if (!isOfNetwork("stellar", data)) return assert.fail("is no transaction of stellar")
      const [operation] = data.operations ?? []
      assert.deepStrictEqual(
        [String(data.sequence_number), operation?.type === "payment" ? operation.amount : undefined],
        [digits, largest],
        "the typed client"
      )
      const { baseUrl } = yield* TestApi.TestApi
      const plain = createClient({ baseUrl, apiKey: TestApi.apiKey })
      const found = orThrow(
        yield* Effect.promise(() => plain.transactions.get({ params: { relayer_id, transaction_id: id } }))
      ).data
      assert.strictEqual(isOfNetwork("stellar", found) ? String(found.sequence_number) : "", digits, "promises")

      const delivered = yield* until(
        "the webhook of the confirmation",
        Effect.sync(() => hook.seen.find(({ body }) => body.includes("transaction.confirmed")))
      )
      const verified = yield* verifyWebhook({ headers: delivered.headers, body: delivered.body, secret: signingKey })
      assert.include(delivered.body, `"sequence_number":"${digits}"`)
      if (verified.type !== "transaction.confirmed") return assert.fail(verified.type)
      const { payload } = verified
      assert.strictEqual("sequence_number" in payload ? String(payload.sequence_number) : "", digits, "the webhook")
    })
  )

  it.effect("are the end of an account: what is sent after it waits, and says so", () =>
    Effect.gen(function* () {
      const { becomes, get, send } = yield* made
      const pays = {
        operations: [{ type: "payment", destination: receiver.publicKey(), amount: 1, asset: { type: "native" } }]
      }
      yield* becomes(dataOf(yield* send(pays)).id, "confirmed")
      const { id } = dataOf(yield* send(pays))
      yield* until(
        "sequence_exhausted",
        Effect.map(get(id), ({ code }) => (code === "sequence_exhausted" ? true : undefined))
      )
    })
  )
})

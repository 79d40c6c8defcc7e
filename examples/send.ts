// Sends a transaction of an evm relayer with the typed client, and waits until it is final.
//
//   API_KEY=… npm run example examples/send.ts http://127.0.0.1:8080 RELAYER RECEIVER
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { ApiClient } from "effect-relayer/client"
import { RelayerId, TransactionId } from "effect-relayer/domain"

const final: ReadonlySet<string> = new Set(["confirmed", "failed", "expired", "canceled"])

/** Sends one wei. A repetition with the same `external_id` sends nothing, and returns the transaction of the first time. */
export const send = Effect.fnUntraced(function* (relayer: string, to: string, external_id: string) {
  const client = yield* ApiClient
  const params = { relayer_id: RelayerId.make(relayer) }
  const { data } = yield* client.transactions.send({ params, payload: { to, value: 1n, external_id } })
  return data
})

/** The transaction when it is final. */
export const untilFinal = Effect.fnUntraced(function* (relayer: string, id: string) {
  const client = yield* ApiClient
  const params = { relayer_id: RelayerId.make(relayer), transaction_id: TransactionId.make(id) }
  for (;;) {
    const { data } = yield* client.transactions.get({ params, query: {} })
    if (final.has(data.status)) return data
    yield* Effect.sleep("1 second")
  }
})

if (import.meta.main) {
  const [baseUrl, relayer, to] = process.argv.slice(2)
  const { API_KEY: apiKey } = process.env
  if (baseUrl === undefined || relayer === undefined || to === undefined || apiKey === undefined) {
    process.stderr.write("usage: API_KEY=… npm run example examples/send.ts http://127.0.0.1:8080 RELAYER RECEIVER\n")
    process.exit(2)
  }
  const client = ApiClient.layer({ baseUrl, apiKey: Redacted.make(apiKey) }).pipe(Layer.provide(FetchHttpClient.layer))
  Effect.gen(function* () {
    const { id, status } = yield* send(relayer, to, `example-${crypto.randomUUID()}`)
    yield* Console.log(`accepted ${id}: ${status}`)
    const ended = yield* untilFinal(relayer, id)
    yield* Console.log(`${ended.id}: ${ended.status}`)
  }).pipe(Effect.provide(client), NodeRuntime.runMain)
}

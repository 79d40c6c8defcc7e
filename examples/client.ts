// Calls a running service with the typed client: creates a relayer, tries the same again, and reads all pages.
//
//   API_KEY=… npm run example examples/client.ts http://127.0.0.1:8080
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Option, Redacted, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { ApiClient } from "effect-relayer/client"

const id = "client-example"

const create = Effect.fnUntraced(
  function* (signer_id: string) {
    const client = yield* ApiClient
    const { data } = yield* client.relayers.create({
      query: {},
      payload: {
        id,
        name: "Made by the client",
        network: "sepolia",
        network_type: "evm",
        paused: false,
        signer_id,
        policies: { min_balance: 10n ** 18n }
      }
    })
    return `created ${data.id} at ${data.address}`
  },
  Effect.catchTag("RelayerIdTaken", () => Effect.succeed(`${id} is there already`))
)

/** Every relayer, page by page. */
const all = Stream.paginate(1, (page) =>
  Effect.gen(function* () {
    const client = yield* ApiClient
    const { data, pagination } = yield* client.relayers.list({ query: { page, per_page: 100 } })
    const isLast = page * pagination.per_page >= pagination.total_items
    return [data, isLast ? Option.none<number>() : Option.some(page + 1)] as const
  })
)

/** Returns what it has printed. */
export const program = Effect.gen(function* () {
  const client = yield* ApiClient
  const signer = yield* client.signers.create({ payload: { type: "plain" } })
  const lines = [yield* create(signer.data.id), yield* create(signer.data.id)]
  const relayers = yield* Stream.runCollect(all)
  lines.push(...relayers.map(({ id, network, address }) => `${id} on ${network}: ${address}`))
  for (const line of lines) yield* Console.log(line)
  return lines
})

if (import.meta.main) {
  const [baseUrl] = process.argv.slice(2)
  const { API_KEY: apiKey } = process.env
  if (baseUrl === undefined || apiKey === undefined) {
    process.stderr.write("usage: API_KEY=… npm run example examples/client.ts http://127.0.0.1:8080\n")
    process.exit(2)
  }
  const client = ApiClient.layer({ baseUrl, apiKey: Redacted.make(apiKey) }).pipe(Layer.provide(FetchHttpClient.layer))
  program.pipe(Effect.provide(client), NodeRuntime.runMain)
}

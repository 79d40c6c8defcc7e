// What an editor shows about the client's package: the names of types, and the descriptions and examples of the API's documentation.
// Programs run by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { hovers } from "./LanguageServer.ts"
import { compile, peers, project, write } from "./Project.ts"

const [effect = ""] = peers

class Installed extends Context.Service<Installed, string>()("effect-relayer/test/packages/Hovers.test/Installed") {
  static readonly layer = Layer.effect(this, project("@effect-relayer/client", [effect]))
}

const request = `{
  query: {},
  payload: {
    name: "Payouts",
    network: "sepolia",
    network_type: "evm",
    paused: false,
    signer_id: "hot-1",
    custom_rpc_urls: [{ url: "https://rpc.example.com", weight: 1 }],
    policies: { min_balance: 1n }
  }
}`

const typed = `import { Console, Effect } from "effect"
import { ApiClient } from "@effect-relayer/client"

export const program = Effect.gen(function* () {
  const client = yield* ApiClient
  const created = yield* client.relayers.create(${request})
  const relayer = created.data
  if (relayer.network_type === "evm") yield* Console.log(relayer.policies?.min_balance)
  const page = yield* client.relayers.list({ query: { per_page: 5 } })
  yield* Console.log(page.pagination.total_items)
})
`

const plain = `import { createClient, orThrow } from "@effect-relayer/client/promise"

const client = createClient({ baseUrl: "http://127.0.0.1:8080", apiKey: "" })
const created = orThrow(await client.relayers.create(${request}))
const relayer = created.data
if (relayer.network_type === "evm") console.log(relayer.policies?.min_balance)
const page = orThrow(await client.relayers.list({ query: { per_page: 5 } }))
console.log(page.pagination.total_items)
`

const transaction = `import type { EvmTransactionResponse } from "@effect-relayer/client"

export const hashes = (given: EvmTransactionResponse) => given.attempts?.map((attempt) => (attempt.hash))
`

type Expected = ReadonlyArray<readonly [place: string, shown: RegExp]>

const webhook = `import { Effect } from "effect"
import { verifyWebhook } from "@effect-relayer/client"

export const receive = Effect.gen(function* () {
  const webhook = yield* verifyWebhook({ secret: "", headers: {}, body: "" })
  if (webhook.type === "relayer.disabled") return webhook.payload.disable_reason
})
`

/** Places in both programs, and what an editor shows there: texts of the schemas, and names of types. */
const expected: Expected = [
  ["create(", /Create a relayer\.\n+The signer, network and notification must exist/],
  ["create(", /payload: CreateRelayerRequest;[^]*<RelayerResponse, /],
  ['network: "sepolia"', /Name of the network, unique for its type\. Example: `"sepolia"`/],
  ['url: "https', /URL of the provider\. .*Example:\s`"https:\/\/rpc\.example\.com\/v1\/my-key"`/s],
  ["policies: {", /CreateEvmRelayerRequest\.policies\?: EvmPolicy(Input)?\n/],
  ["min_balance: 1n", /Wei that must stay on the account\. .*Example: `"100000000000000000"`/],
  ["data\n", /An account on one network with one signer\./],
  ["relayer = ", /const relayer: Relayer\n/],
  ["policies?.", /Limits of an evm relayer\./],
  ["min_balance)", /Wei that must stay on the account\. .*Example: `"100000000000000000"`/],
  ["per_page: 5", /Items on a page\. .*Example:\s`10`/s],
  ["total_items)", /Items on all pages\. .*Example: `42`/s]
]

const assertShown = Effect.fnUntraced(function* (program: string, expected: Expected) {
  const home = yield* Installed
  yield* write(home, { "hover.ts": program })
  assert.strictEqual(yield* compile(home), "")
  const shown = yield* hovers(
    home,
    program,
    expected.map(([place]) => place)
  )
  for (const [index, [, text]] of expected.entries()) assert.match(shown[index] ?? "", text)
})

layer(Installed.layer, { excludeTestServices: true })("an editor", (it) => {
  it.effect("shows names of types, descriptions and examples in programs of the typed client", () =>
    assertShown(typed, expected)
  )

  it.effect("shows names of types, descriptions and examples in programs of the client with promises", () =>
    assertShown(plain, expected)
  )

  it.effect("shows names of types, descriptions and examples in receivers of webhooks", () =>
    assertShown(webhook, [
      ["webhook =", /const webhook: .*WebhookPayload/],
      ["payload.", /What happened\./],
      ["disable_reason", /The failed checks, for people\. Example:\s`"the balance is below min_balance"`/]
    ])
  )

  it.effect("shows the documentation of types that are imported by their name", () =>
    assertShown(transaction, [
      ["attempts?.", /All signed versions, oldest first\./],
      ["hash))", /Hash of the attempt\. Example: `"0x5c/],
      ["EvmTransactionResponse)", /EvmTransactionResponse/]
    ])
  )
})

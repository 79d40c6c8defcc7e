// All reads of the API: equal with and without a console, the same in a session, and each allowed by its own scope only.
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpApi } from "effect/http-api"
import { Api } from "../../../src/api/Api.ts"
import { scopeOf } from "../../../src/api/Endpoint.ts"
import { Scope } from "../../../src/domain/access/ApiKey.ts"
import * as ConsolePage from "../../../testkit/ConsolePage.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import { evmRelayer, notification, signer } from "../../../testkit/fixtures.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as Peers from "../events/Peers.ts"

interface Read {
  readonly path: string
  /** The scope that it needs. `undefined`: every key may read it. */
  readonly scope: Scope | undefined
}

/** Every `GET` of the contract below `/api/v1`. */
const reads: Array<Read> = []
HttpApi.reflect(Api, {
  onGroup: () => undefined,
  onEndpoint: ({ endpoint }) => {
    if (endpoint.method === "GET" && endpoint.path.startsWith("/api/v1/")) {
      reads.push({ path: endpoint.path, scope: scopeOf(endpoint) })
    }
  }
})

/** Query parameters without which the read is refused. */
const queries: Readonly<Record<string, string>> = { "/api/v1/search": `?q=${evmRelayer.id}` }

/** The document of a configuration shows its sections, and each section needs its own scope as well. */
const sectionScopes: Readonly<Record<string, Scope>> = {
  "/api/v1/configuration/:configuration/document": "api-keys:read"
}

const scopesOf = ({ path, scope }: Read) => [scope, sectionScopes[path]].filter((one) => one !== undefined)

/** The only read that finds nothing: no lane runs here, so no transaction gets a nonce. */
const unfound = "/api/v1/relayers/:relayer_id/transactions/by-nonce/:nonce"

const statusOf = ({ path }: Read) => (path === unfound ? 404 : 200)

const relayer = "reads-1"

/** Both instances are reached by this name, as behind a load balancer. */
const origin = "https://relayers.example.com"
const host = { host: "relayers.example.com" }

const console = { origins: [origin], files: ConsolePage.files }

interface World {
  readonly withoutConsole: Peers.Instance
  readonly withConsole: Peers.Instance
  /** The path of a read, with ids of objects that exist. */
  readonly pathOf: (read: Read) => string
}

class ReadsWorld extends Context.Service<ReadsWorld, World>()(
  "effect-relayer/test/server/console/Reads.test/ReadsWorld"
) {
  static readonly layer = Layer.effect(
    ReadsWorld,
    Effect.gen(function* () {
      const [withoutConsole, withConsole] = yield* Peers.Peers
      const pathOf = yield* Effect.provide(prepare, withConsole)
      return { withoutConsole, withConsole, pathOf }
    })
  ).pipe(Layer.provide(Peers.layerOf({}, { console })))
}

const idOf = ({ status, text, json }: TestApi.Answer): string => {
  assert.isBelow(status, 300, text)
  return (json.data as { readonly id: string }).id
}

/** Creates one object of each kind. */
const prepare = Effect.gen(function* () {
  yield* Prepared.references
  const { url } = yield* Anvil.start({ chainId: 11_155_111 })
  yield* Prepared.create("relayers", { ...evmRelayer, id: relayer, custom_rpc_urls: [{ url }], policies: {} })
  const body = { to: `0x${"ab".repeat(20)}`, value: "1" }
  const transaction_id = idOf(yield* TestApi.call(`/api/v1/relayers/${relayer}/transactions`, { body }))
  const delivery_id = idOf(yield* TestApi.call(`/api/v1/notifications/${notification.id}/test`, { method: "POST" }))
  const { id: key_id } = yield* Prepared.create("api-keys", { name: "read", scopes: ["relayers:read"] })
  const document = { version: 1, name: "reads", api_keys: { own: { name: "own", scopes: ["relayers:read"] } } }
  const plan = yield* TestApi.call("/api/v1/configuration/plan", { body: { document } })
  const { digest } = plan.json.data as { readonly digest: string }
  const applied = yield* TestApi.call("/api/v1/configuration/apply", { body: { document, digest } })
  assert.strictEqual(applied.status, 200, applied.text)
  const claim = { name: "read", by: "a-worker", seconds: 3600 }
  const claimed = yield* TestApi.call("/api/v1/claims", { body: claim })
  assert.strictEqual(claimed.status, 200, claimed.text)
  const ids: Readonly<Record<string, string>> = {
    name: claim.name,
    relayer_id: relayer,
    transaction_id,
    nonce: "0",
    signer_id: signer.id,
    notification_id: notification.id,
    delivery_id,
    network_id: "evm:sepolia",
    key_id,
    configuration: document.name
  }
  return ({ path }: Read) =>
    path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? assert.fail(`no ${name}`)) + (queries[path] ?? "")
})

/** What belongs to the connection, or counts the requests to the instance that answers. */
const ofInstance = new Set(["date", "connection", "keep-alive", "ratelimit"])
const withoutInstance = (text: string) => text.replaceAll(/"is_this":(true|false)/g, '"is_this":null')

const shown = ({ status, headers, text }: TestApi.Answer) => ({
  status,
  headers: Object.fromEntries([...headers].filter(([name]) => !ofInstance.has(name))),
  text: withoutInstance(text)
})

layer(ReadsWorld.layer)("the reads of the API", (it) => {
  it.effect(
    "are equal with a console and without one, in status, headers and body, also for requests with a cookie",
    () =>
      Effect.gen(function* () {
        const { withoutConsole, withConsole, pathOf } = yield* ReadsWorld
        const missed: Array<string> = []
        for (const read of reads) {
          const path = pathOf(read)
          for (const key of [TestApi.apiKey, null]) {
            const asked = { key, headers: { "x-request-id": "same", cookie: "relayer-console-80=x", "x-console": "x" } }
            const plain = yield* Effect.provide(TestApi.call(path, asked), withoutConsole)
            const beside = yield* Effect.provide(TestApi.call(path, asked), withConsole)
            assert.deepStrictEqual(shown(beside), shown(plain), path)
            if (key !== null && plain.status !== statusOf(read)) missed.push(`${path}: ${plain.text}`)
          }
        }
        // Equal failures would prove little.
        assert.deepStrictEqual(missed, [])
      })
  )

  it.effect("have the same body and version in a session as with its key", () =>
    Effect.gen(function* () {
      const { withConsole, pathOf } = yield* ReadsWorld
      const session = yield* Effect.provide(ConsolePage.signIn(TestApi.apiKey), withConsole)
      for (const read of reads) {
        const path = pathOf(read)
        const direct = yield* Effect.provide(TestApi.call(path), withConsole)
        const inSession = yield* Effect.provide(ConsolePage.call(session, path), withConsole)
        const seen = ({ status, text, headers }: TestApi.Answer) => [status, text, headers.get("etag")]
        assert.deepStrictEqual(seen(inSession), seen(direct), path)
      }
    })
  )

  it.effect("are each allowed in a session by its own scope, and refused by every other one", () =>
    Effect.gen(function* () {
      const { withConsole, pathOf } = yield* ReadsWorld
      for (const scope of Scope.literals) {
        const key = yield* Effect.provide(Prepared.createKey({ scopes: [scope] }), withConsole)
        const session = yield* Effect.provide(ConsolePage.signIn(key), withConsole)
        for (const read of reads) {
          const path = pathOf(read)
          const status = yield* Effect.provide(ConsolePage.statusOf(session, path), withConsole)
          const isAllowed = scopesOf(read).every((needed) => needed === scope)
          assert.strictEqual(status, isAllowed ? statusOf(read) : 403, `${path} with ${scope}`)
        }
      }
    })
  )
})

layer(Peers.layerOf({ console }, { console }))("two instances on one database", (it) => {
  it.effect("know the same sessions: each lists them, serves them, and sees their end", () =>
    Effect.gen(function* () {
      const [first, second] = yield* Peers.Peers
      const own = { headers: host }
      const session = yield* Effect.provide(ConsolePage.signIn(TestApi.apiKey, own), first)
      const other = yield* Effect.provide(ConsolePage.signIn(TestApi.apiKey, own), second)
      for (const instance of [first, second]) {
        const list = yield* Effect.provide(ConsolePage.call(session, "/sessions", own), instance)
        const ids = (list.json.data as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id)
        assert.sameMembers(ids, [session.id, other.id])
      }
      const end = ConsolePage.statusOf(other, `/sessions/${session.id}`, { ...own, method: "DELETE" })
      assert.strictEqual(yield* Effect.provide(end, second), 200)
      for (const instance of [first, second]) {
        const status = (of: ConsolePage.SignedIn) =>
          Effect.provide(ConsolePage.statusOf(of, "/api/v1/relayers", own), instance)
        assert.deepStrictEqual([yield* status(session), yield* status(other)], [401, 200])
      }
    })
  )

  it.effect("are both in the list of instances, whichever of them serves the console", () =>
    Effect.gen(function* () {
      const instances = yield* Peers.Peers
      const lists = yield* Effect.forEach(
        instances,
        Effect.fnUntraced(function* (instance) {
          const session = yield* Effect.provide(ConsolePage.signIn(TestApi.apiKey), instance)
          const { json } = yield* Effect.provide(ConsolePage.call(session, "/api/v1/instances"), instance)
          return json.data as ReadonlyArray<{ readonly id: string; readonly is_this: boolean }>
        })
      )
      const [first = [], second = []] = lists.map((list) => list.map(({ id }) => id).sort())
      assert.lengthOf(first, 2)
      assert.deepStrictEqual(second, first)
      const own = lists.flatMap((list) => list.filter(({ is_this }) => is_this).map(({ id }) => id))
      assert.sameMembers(own, first)
    })
  )
})

// Every response is what openapi.json documents: status, headers, content type and each property of the body.
// A chain that does not answer is given up by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Documented from "../../testkit/Documented.ts"
import * as Prepared from "../../testkit/Prepared.ts"
import * as RpcServer from "../../testkit/RpcServer.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { evmRelayer, notification, relayers } from "../../testkit/fixtures.ts"
import { maxDocumentBytes } from "../../src/domain/configuration/Plan.ts"
import { inRelayer, isAboutTransactions, made, ownRelayer, send } from "./Requests.ts"
import { existing, inNotification, newKey, period, successes } from "./Successes.ts"

const maxBodyBytes = 65_536

const prepared = Prepared.layer(
  Effect.andThen(
    Prepared.references,
    Effect.forEach(relayers, (relayer) => Prepared.create("relayers", relayer))
  ),
  { server: { requestTimeoutMs: 30_000, maxBodyBytes } }
)

/** Names of the operations on resources that document a status. */
const documenting = (status: number) =>
  [...Documented.operations]
    .filter(([, { responses, security }]) => status in responses && security.length > 0)
    .map(([name]) => name)

const hasBody = (name: string) => Documented.operations.get(name)?.requestBody !== undefined

/** A valid body of an operation on a resource. */
const bodyFor = (name: string) =>
  name.endsWith("/prune")
    ? { hash: "0".repeat(64) }
    : name.endsWith("/rehearse")
      ? { policies: {} }
      : name.endsWith("/replay")
        ? period
        : name.includes("{network_id}")
          ? { tags: ["changed"] }
          : name.endsWith("/credentials")
            ? {
                type: "vault",
                config: { address: "https://vault.example.com", role_id: "r", secret_id: "s", key_name: "k" }
              }
            : name.endsWith("/apply")
              ? { document: { version: 1, name: "n" }, digest: "0".repeat(43) }
              : {}

/** Requests that evm does not have get 501, whatever their body is. */
const isNotOfEvm = (name: string) => /\/(sign-transaction|sponsored\/)/.test(name)

/** They have no parameter. */
const takesNothing = new Set([
  "get /api/v1/audit/checkpoints",
  "get /api/v1/attention",
  "get /api/v1/instances",
  "get /api/v1/api-keys/current"
])

/** Endpoints that answer 404 if the relayer in their query does not exist. */
const namesRelayerInQuery = new Set(["get /api/v1/statistics"])

/** They need no scope. */
const isForEveryKey = new Set(["get /api/v1/search", "get /api/v1/api-keys/current"])

/** Without a parameter, nothing is invalid; bodies of transactions are checked before their relayer is looked up. */
const isExempt = (status: number, name: string) =>
  (status === 400 && isNotOfEvm(name)) ||
  (status === 400 && takesNothing.has(name)) ||
  (status === 403 && isForEveryKey.has(name)) ||
  (status === 404 && namesRelayerInQuery.has(name)) ||
  (status === 404 && hasBody(name) && isAboutTransactions(name))

const noTransaction = "00000000-0000-4000-8000-000000000000"

/** Sends a request to each operation that documents `status`, and expects that status. */
const refused = (status: number, request: (name: string) => ReturnType<typeof send>) =>
  Effect.gen(function* () {
    const names = documenting(status).filter((name) => !isExempt(status, name))
    assert.isNotEmpty(names)
    const answers = yield* Effect.forEach(names, (name) =>
      Effect.map(request(name), (answer) => [name, answer] as const)
    )
    const others = answers.filter(([, answer]) => answer.status !== status)
    assert.deepStrictEqual(
      others.map(([name, { status, text }]) => `${name} ${status} ${text}`),
      []
    )
  })

layer(prepared, { excludeTestServices: true })("a response is as documented", (it) => {
  it.effect("there is a request that succeeds for each operation", () =>
    Effect.sync(() => {
      const names = [...Documented.operations.keys()].filter((name) => !isAboutTransactions(name))
      assert.sameMembers(Object.keys(successes), names)
    })
  )

  for (const [name, request] of Object.entries(successes)) {
    it.effect(`${name} succeeds`, () => request(name))
  }

  it.effect("a missing property, another type, a further property or an undocumented status is a fault", () =>
    Effect.gen(function* () {
      const name = `get ${inRelayer}`
      const answer = yield* send(name, existing)
      const data = Object.entries(answer.json.data ?? {})
      const without = data.filter(([key]) => key !== "paused")
      const changed: ReadonlyArray<readonly [data: ReadonlyArray<readonly [string, unknown]>, fault: string]> = [
        [without, "/data must have required property 'paused'"],
        [[...without, ["paused", "no"]], "/data/paused must be boolean"],
        [[...data, ["more", 1]], "/data must NOT have additional properties"]
      ]
      for (const [entries, fault] of changed) {
        const text = JSON.stringify({ ...answer.json, data: Object.fromEntries(entries) })
        assert.include(Documented.faultsOf(name, { ...answer, text }).join(), fault)
      }
      assert.include(Documented.faultsOf(name, { ...answer, headers: new Headers() }).join(), "header etag is missing")
      assert.include(Documented.faultsOf(name, { ...answer, status: 202 }).join(), "no documented response 202")
    })
  )

  it.effect("304: the caller has this version", () =>
    Effect.gen(function* () {
      const params = { ...existing, key_id: yield* made("api-keys", newKey) }
      yield* refused(
        304,
        Effect.fnUntraced(function* (name) {
          const { headers } = yield* send(name, params)
          return yield* send(name, params, { headers: { "if-none-match": headers.get("etag") ?? "" } })
        })
      )
    })
  )

  it.effect("400: the request is invalid", () =>
    refused(400, (name) => {
      if (hasBody(name)) return send(name, existing, { body: "{" })
      if (name.startsWith("post")) return send(name, existing, { headers: { "idempotency-key": "\u00e9" } })
      const ids = {
        relayer_id: "%20",
        notification_id: "%20",
        signer_id: "%20",
        network_id: "%20",
        key_id: "%20",
        configuration: "%20",
        name: "%20"
      }
      return send(name, { ...ids, query: "?page=x" })
    })
  )

  it.effect("401: no key, and an unknown key", () =>
    Effect.forEach([null, "unknown"], (key) => refused(401, (name) => send(name, existing, { key })))
  )

  it.effect("403: a key without the scope", () =>
    Effect.gen(function* () {
      const signersKey = yield* Prepared.createKey({ scopes: ["signers:read"] })
      const relayersKey = yield* Prepared.createKey({ scopes: ["relayers:read"] })
      yield* refused(403, (name) => send(name, existing, { key: name.includes("/signers") ? relayersKey : signersKey }))
    })
  )

  it.effect("404: a resource that does not exist", () =>
    refused(404, (name) => {
      const missing = {
        configuration: "missing",
        network_id: "evm:missing",
        position: "999999",
        nonce: "7",
        transaction_id: noTransaction,
        ...(name.startsWith("delete /api/v1/claims/") ? { query: "?by=nobody" } : {})
      }
      return send(name, missing, hasBody(name) ? { body: bodyFor(name) } : {})
    })
  )

  it.effect("409: an id that is taken, and a resource that is in use", () =>
    Effect.gen(function* () {
      const network = { name: "taken", network_type: "evm", from: "sepolia" }
      yield* Prepared.create("networks", network)
      const answers = [
        yield* send("post /api/v1/relayers", {}, { body: evmRelayer }),
        yield* send("post /api/v1/signers", {}, { body: { id: existing.signer_id, type: "plain" } }),
        yield* send("post /api/v1/notifications", {}, { body: notification }),
        yield* send("post /api/v1/networks", {}, { body: network }),
        yield* send("delete /api/v1/signers/{signer_id}", existing),
        yield* send(`delete ${inNotification}`, existing)
      ]
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        answers.map(() => 409)
      )
    })
  )

  it.effect("412: another version", () =>
    Effect.gen(function* () {
      const unused = yield* made("notifications", { url: notification.url })
      const key_id = yield* made("api-keys", newKey)
      const headers = { "if-match": '"0.0"' }
      yield* refused(412, (name) => {
        const body = hasBody(name) ? { body: bodyFor(name) } : {}
        return send(name, { ...existing, notification_id: unused, key_id }, { headers, ...body })
      })
    })
  )

  it.effect("413: a body over the limit", () =>
    refused(413, (name) => {
      const limit = name.includes("/configuration/") ? maxDocumentBytes : maxBodyBytes
      return send(name, existing, { body: " ".repeat(limit + 1) })
    })
  )

  it.effect("415: a body of another media type", () =>
    refused(415, (name) => send(name, existing, { headers: { "content-type": "text/plain" }, body: {} }))
  )

  it.effect("422: an idempotency key of another request", () =>
    Effect.gen(function* () {
      const headers = { "idempotency-key": "used" }
      yield* send("post /api/v1/signers", {}, { headers, body: { type: "plain", id: "by-key" } })
      yield* refused(422, (name) =>
        name.includes("/configuration/")
          ? send(name, {}, { body: { ...bodyFor(name), document: {} } })
          : send(name, existing, { headers, ...(hasBody(name) ? { body: { other: 1 } } : {}) })
      )
    })
  )

  it.effect("502: a chain that does not answer", () =>
    Effect.gen(function* () {
      const url = yield* RpcServer.dead
      const params = { relayer_id: yield* ownRelayer({ custom_rpc_urls: [{ url }] }) }
      const { status } = yield* send(`get ${inRelayer}/balance`, params)
      assert.strictEqual(status, 502)
    })
  )
})

layer(TestApi.layer({ limits: { requestsPerSecond: 0.001, burst: 1 } }))("a used up rate limit", (it) => {
  it.effect("429 is as documented for each operation", () =>
    Effect.gen(function* () {
      yield* send("get /api/v1/signers")
      yield* refused(429, (name) => send(name, existing))
    })
  )
})

// Nothing that a process remembers outlives a rollback: each kind of first request fails or is interrupted at one of its statements, the
// next requests succeed, and a second process on the same database reads the same as the first one.
//
// `npm test` interferes with each kind once per seed, LONG=1 with ten times as many seeds. FIRST_REQUESTS=all interferes with each kind
// alone, at each of its statements.
import { assert, describe, inject, it } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Random } from "effect"
import * as ConsolePage from "../../testkit/ConsolePage.ts"
import { cases } from "../../testkit/Depth.ts"
import { Interference, faults, layerInterfering } from "../../testkit/Interference.ts"
import type { Planned as PlannedFault } from "../../testkit/Interference.ts"
import { clientConfig } from "../../testkit/Postgres.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { evmRelayer, notification } from "../../testkit/fixtures.ts"

type Api = TestApi.TestApi["Service"]

const options: TestApi.Options = { console: { files: ConsolePage.files } }

/** A process with memory of its own. */
const startOn = <E>(database: Parameters<typeof TestApi.layerWith<E>>[1]) =>
  Effect.map(Layer.build(Layer.fresh(TestApi.layerWith(options, database))), (services) =>
    Context.get(services, TestApi.TestApi)
  )

/** A call that another call has prepared, which is sent again unchanged when it has failed. */
interface Prepared extends TestApi.Call {
  readonly path: string
}

interface Kind {
  readonly name: string
  /** Whether it can have an `Idempotency-Key`. */
  readonly isKeyed: boolean
  /** Needs the signer, and the relayer of each network type. */
  readonly isLater?: boolean
  readonly prepare: (api: Api) => Effect.Effect<Prepared>
}

const api = "/api/v1"

const posting = (path: string, body: object, more: Partial<Kind> = {}): Kind => ({
  name: `POST ${path}`,
  isKeyed: true,
  prepare: () => Effect.succeed({ path: `${api}${path}`, method: "POST", body }),
  ...more
})

const later = { isLater: true }

const reading = (path: string): Kind => ({
  name: `GET ${path}`,
  isKeyed: false,
  isLater: true,
  prepare: () => Effect.succeed({ path: `${api}${path}` })
})

const document = {
  version: 1,
  name: "applied",
  signers: { applied: { type: "plain", config: { key: { generate: true } } } },
  notifications: { applied: { url: "https://hooks.example.com/applied" } }
}

const applying: Kind = {
  name: "POST /configuration/apply",
  isKeyed: true,
  prepare: ({ call }) =>
    Effect.map(call(`${api}/configuration/plan`, { body: { document } }), ({ json }) => ({
      path: `${api}/configuration/apply`,
      body: { document, digest: (json.data as { readonly digest: string }).digest }
    }))
}

const signingIn: Kind = {
  name: "POST /console/session",
  isKeyed: false,
  prepare: () =>
    Effect.succeed({
      path: "/console/session",
      key: null,
      body: { key: TestApi.apiKey },
      headers: { ...ConsolePage.ownPage, "x-console": "1" }
    })
}

/** No provider answers there: what is sent stays pending. */
const nowhere = ["http://127.0.0.1:1"]

const networks = [
  { network_type: "evm", name: "nowhere", from: "sepolia", chain_id: 31_337, rpc_urls: nowhere },
  { network_type: "solana", name: "nowhere", from: "devnet", rpc_urls: nowhere },
  { network_type: "stellar", name: "nowhere", from: "testnet", passphrase: "Nowhere", rpc_urls: nowhere }
]

const relayerOf = ({ network_type }: { readonly network_type: string }) => ({
  id: network_type,
  name: network_type,
  network_type,
  network: "nowhere",
  signer_id: "base",
  paused: false,
  ...(network_type === "evm" ? {} : { policies: { fee_payment_strategy: "relayer" } })
})

const sends = {
  evm: { to: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", value: 1, gas_limit: 21_000 },
  solana: {
    instructions: [
      {
        program_id: "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
        accounts: [],
        data: Buffer.from("hi").toString("base64")
      }
    ]
  },
  stellar: {
    network: "nowhere",
    operations: [
      {
        type: "payment",
        destination: "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
        amount: "1",
        asset: { type: "native" }
      }
    ]
  }
}

const kinds: ReadonlyArray<Kind> = [
  posting("/signers", { id: "first", type: "plain" }),
  posting("/networks", { network_type: "evm", name: "first", from: "sepolia" }),
  posting("/notifications", { ...notification, id: "first" }),
  posting("/api-keys", { id: "first", name: "first", scopes: ["relayers:read"], expires_at: "2999-01-01T00:00:00Z" }),
  applying,
  signingIn,
  posting("/claims", { name: "first", by: "holder", seconds: 60 }, { isKeyed: false }),
  posting(
    "/audit/checkpoints",
    {},
    { prepare: () => Effect.succeed({ path: `${api}/audit/checkpoints`, method: "POST" }), ...later }
  ),
  posting("/relayers", { ...evmRelayer, id: "first", signer_id: "base", notification_id: undefined }, later),
  ...Object.entries(sends).map(([type, body]) => posting(`/relayers/${type}/transactions`, body, later)),
  posting("/relayers/evm/transactions/batch", { transactions: [sends.evm, sends.evm] }, later),
  posting("/relayers/evm/sign", { message: "first" }, later),
  reading("/networks?per_page=1"),
  reading("/audit?limit=1")
]

/** Ids of the base resources; everything else is a kind. */
const base = Effect.fnUntraced(function* ({ call }: Api) {
  const bodies = [
    ["signers", { id: "base", type: "plain" }] as const,
    ...networks.map((network) => ["networks", network] as const),
    ...networks.map((network) => ["relayers", relayerOf(network)] as const)
  ]
  for (const [resource, body] of bodies) {
    const { status, text } = yield* call(`${api}/${resource}`, { body })
    assert.strictEqual(status, 201, text)
  }
})

interface Planned extends PlannedFault {
  readonly kind: Kind
  readonly isKeyed: boolean
}

const shownOf = ({ kind, isKeyed, at, fault }: Planned) =>
  `${kind.name}${isKeyed ? " with a key" : ""}, ${fault} at ${at}`

/** What was sent, as it is repeated. */
interface Sent {
  readonly shown: string
  readonly call: Prepared
  readonly isKeyed: boolean
}

/** Sends a request that is interfered with. Returns the number of its statements, and what was sent. */
const send = Effect.fnUntraced(function* (one: Api, interference: Interference, planned: Planned) {
  const { path, ...prepared } = yield* planned.kind.prepare(one)
  const key = planned.isKeyed ? { "idempotency-key": planned.kind.name.replaceAll(" ", "") } : {}
  const call: Prepared = { path, ...prepared, headers: { ...prepared.headers, ...key } }
  interference.begin(planned)
  // The connection of an interrupted request is closed.
  yield* Effect.exit(one.call(path, call))
  const isHit = interference.hit !== undefined
  const sent: Sent = { shown: `${shownOf(planned)} (${interference.hit})`, call, isKeyed: planned.isKeyed }
  interference.begin()
  return { isHit, sent }
})

/** Of requests that have failed, some had their effect: then their ids are taken, or their plan is outdated. With a key, they get the response of the first time. */
const repeat = Effect.fnUntraced(function* (one: Api, { shown, call, isKeyed }: Sent) {
  const { path, ...rest } = call
  const { status, text } = yield* one.call(path, rest)
  if (isKeyed) assert.include([200, 201], status, `${shown}: ${text}`)
  else assert.include([200, 201, 409, 412], status, `${shown}: ${text}`)
})

interface Item {
  readonly id?: string
}

const nextOf = ({ headers }: TestApi.Answer) => /<[^>]*(\?[^>]*)>; rel="next"/.exec(headers.get("link") ?? "")?.[1]

const lists = ["signers", "relayers", "notifications", "api-keys", "configuration", "transactions", "audit/checkpoints"]

/** Paths that both processes read, with the cursors that the first one made. */
const pathsOf = Effect.fnUntraced(function* ({ call }: Api) {
  const singles: Array<string> = []
  for (const resource of [...lists, "networks"]) {
    const { json } = yield* call(`${api}/${resource}?per_page=1000`)
    const items = (json.data as ReadonlyArray<Item> | undefined) ?? []
    if (!["configuration", "audit/checkpoints", "transactions"].includes(resource)) {
      singles.push(...items.flatMap(({ id }) => (id === undefined ? [] : [`${resource}/${encodeURIComponent(id)}`])))
    }
  }
  const pages: Array<string> = []
  for (const list of ["networks?per_page=1", "signers?per_page=1", "audit?limit=1"]) {
    const next = nextOf(yield* call(`${api}/${list}`))
    if (next !== undefined) pages.push(`${list.split("?")[0]}${next}`)
  }
  return [
    ...lists,
    ...singles,
    ...pages,
    ...Object.keys(sends).map((type) => `relayers/${type}/transactions`),
    "networks?per_page=1000",
    "audit?limit=100",
    "audit/verify",
    "configuration/applied",
    "events?limit=100"
  ].map((path) => `${api}/${path}`)
})

const answersOf = (one: Api, paths: ReadonlyArray<string>) =>
  Effect.forEach(paths, (path) => Effect.map(one.call(path), ({ status, text }) => ({ path, status, text })))

/** Reads of both processes. Jobs link records of the audit log, and long transactions of other tests hold events back. */
const maxReads = 100

/** What the first process reads is readable, and the same in a second process. */
const compare = Effect.fnUntraced(function* (first: Api, database: string, sent: ReadonlyArray<Sent>) {
  const config = clientConfig(inject("postgres"), database)
  const second = yield* startOn(PgClient.layer({ ...config, applicationName: "effect-relayer" }))
  const shown = sent.map((one) => one.shown).join("; ")
  for (const [one, other] of [
    [first, second],
    [second, first]
  ] as const) {
    const paths = yield* pathsOf(one)
    const read = Effect.all({ expected: answersOf(one, paths), actual: answersOf(other, paths) })
    const { actual, expected } = yield* Effect.repeat(read, {
      until: ({ actual, expected }) => JSON.stringify(actual) === JSON.stringify(expected),
      times: maxReads
    })
    for (const { path, status, text } of expected) {
      if (path !== `${api}/configuration/applied`) assert.strictEqual(status, 200, `${path}: ${text}; ${shown}`)
      assert.notInclude(text, "row_unreadable", `${path}; ${shown}`)
    }
    assert.deepStrictEqual(actual, expected, shown)
  }
  for (const { call, isKeyed, shown } of sent.filter(({ isKeyed }) => isKeyed)) {
    const { path, ...rest } = call
    const [one, other] = [yield* first.call(path, rest), yield* second.call(path, rest)]
    assert.deepStrictEqual([one.status, one.text], [other.status, other.text], shown)
    assert.strictEqual(other.headers.get("idempotency-replayed"), "true", `${shown} ${isKeyed}`)
  }
  const signIn = { key: null, body: { key: TestApi.apiKey }, headers: { ...ConsolePage.ownPage, "x-console": "1" } }
  const session = ConsolePage.sessionOf(yield* first.call("/console/session", signIn))
  // The name of the cookie contains the port.
  const [name = ""] = ConsolePage.sessionOf(yield* second.call("/console/session", signIn)).cookie.split("=")
  const cookie = `${name}=${session.cookie.split("=")[1]}`
  const headers = { ...ConsolePage.ownPage, cookie, "x-console": session.proof }
  const page = yield* second.call(`/console${api}/signers`, { key: null, headers })
  assert.strictEqual(page.status, 200, page.text)
})

/** All of the planned requests in one process on a new database, then those again without interference, then the comparison. */
const run = Effect.fnUntraced(function* (planned: ReadonlyArray<Planned>) {
  const interference = new Interference()
  const database = yield* TestDatabase.make
  const first = yield* startOn(layerInterfering(clientConfig(inject("postgres"), database), interference))
  const sent: Array<Sent> = []
  let hits = 0
  const sendAll = Effect.fnUntraced(function* (some: ReadonlyArray<Planned>) {
    const now: Array<Sent> = []
    for (const one of some) {
      const { isHit, sent } = yield* send(first, interference, one)
      if (isHit) hits += 1
      now.push(sent)
    }
    for (const one of now) yield* repeat(first, one)
    sent.push(...now)
  })
  yield* sendAll(planned.filter(({ kind }) => kind.isLater !== true))
  yield* base(first)
  yield* sendAll(planned.filter(({ kind }) => kind.isLater === true))
  yield* compare(first, database, sent)
  return hits
}, Effect.scoped)

/** Undefined: some positions by seed. `all`: all positions. A number: so many seeds. */
const mode = process.env["FIRST_REQUESTS"]

/** Each seed takes a second of the processor. */
const seeds = mode === "all" ? 0 : Number(mode ?? cases(20))

/** Positions by seed. What a request has to do itself lies between them; a position after its last statement interferes with nothing. */
const positions = { first: 3, last: 16 } as const

const planAll = Effect.gen(function* () {
  const shuffled = yield* Random.shuffle(kinds)
  return yield* Effect.forEach(shuffled, (kind) =>
    Effect.gen(function* () {
      return {
        kind,
        // With a key, the whole request is one transaction.
        isKeyed: kind.isKeyed && (yield* Random.nextIntBetween(1, 4)) > 1,
        at: yield* Random.nextIntBetween(positions.first, positions.last),
        fault: faults[yield* Random.nextIntBetween(0, faults.length - 1)] ?? "refused"
      }
    })
  )
})

const [signers] = kinds

describe("a second process reads what the first one reads", () => {
  for (const fault of faults) {
    it.effect(`after the first request of all, which has a key, was ${fault} at its commit`, () =>
      Effect.gen(function* () {
        const kind = signers ?? assert.fail("no kind")
        assert.strictEqual(yield* run([{ kind, isKeyed: true, at: "COMMIT", fault }]), 1)
      })
    )
  }

  for (let seed = 1; seed <= seeds; seed++) {
    it.effect(`whichever statement of the first request of each kind has failed (seed ${seed})`, () =>
      Effect.gen(function* () {
        assert.isAbove(yield* run(yield* Random.withSeed(planAll, seed)), 0)
      })
    )
  }

  const isEach = mode === "all"
  for (const kind of isEach ? kinds : []) {
    for (const isKeyed of kind.isKeyed ? [false, true] : [false]) {
      for (const fault of faults) {
        it.effect(`whichever statement of ${kind.name}${isKeyed ? " with a key" : ""} was ${fault}`, () =>
          Effect.gen(function* () {
            let at = 1
            while ((yield* run([{ kind, isKeyed, at, fault }])) > 0) at += 1
            assert.isAbove(at, 1)
          })
        )
      }
    }
  }
})

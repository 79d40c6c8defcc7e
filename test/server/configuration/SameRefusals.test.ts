// What an apply refuses without asking a provider or a key service, its plan refuses before it, with the same words.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Keystores from "../../../testkit/keystores.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { makeKey } from "../transactions/Fixtures.ts"
import { applied, call, document, plan, planned, rows } from "./requests.ts"

const own = (more: object = {}) => ({
  chain_id: 424_242,
  symbol: "HIL",
  average_blocktime_ms: 2000,
  required_confirmations: 1,
  rpc_urls: [{ url: "https://rpc.hill.example" }],
  ...more
})

const relayer = (more: object = {}) => ({
  name: "Hill",
  network_type: "evm",
  network: "sepolia",
  signer_id: "hill-key",
  paused: true,
  ...more
})

const signers = { "hill-key": { type: "plain" } }

const inside = [{ url: "http://10.9.9.9:8545" }]

/** Of RFC 8032, in base64. */
const pubkey = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

/** More bytes than a resource may have. */
const long = Array.from({ length: 40 }, (_, index) => ({ url: `https://rpc.example/${index}/${"x".repeat(2000)}` }))

const notAllowed = "points to a private address, which is not allowed"

const required = "is required: give it, or name a network in from that has it"

/** The objects of a document, by kind and id. */
type Sections = Readonly<Record<string, Readonly<Record<string, object>>>>

/** Documents, with the lines of their refusals. */
const cases: Readonly<Record<string, readonly [sections: Sections, lines: ReadonlyArray<string>]>> = {
  "a network without required fields, once, although a relayer and a network use it": [
    {
      networks: {
        "evm:hill": { chain_id: 424_242, required_confirmations: 1, rpc_urls: [{ url: "https://rpc.hill.example" }] },
        "evm:valley": { from: "hill" }
      },
      signers,
      relayers: { hill: relayer({ network: "hill" }) }
    },
    [`networks.evm:hill: average_blocktime_ms: ${required}; symbol: ${required}`]
  ],
  "a network whose parent in the document lacks what it needs": [
    { networks: { "evm:hill": own(), "evm:valley": { from: "hill", rpc_urls: inside } } },
    [`networks.evm:valley: rpc_urls.0.url: ${notAllowed}`]
  ],
  "a URL of a built-in network": [
    { networks: { "evm:sepolia": { rpc_urls: inside } } },
    [`networks.evm:sepolia: rpc_urls.0.url: ${notAllowed}`]
  ],
  "a horizon inside of the network": [
    { networks: { "stellar:testnet": { horizon_url: "http://10.9.9.9:8000" } } },
    [`networks.stellar:testnet: horizon_url: ${notAllowed}`]
  ],
  "URLs of relayers and of receivers": [
    {
      signers,
      notifications: { inside: { url: "https://10.9.9.9/x" }, plain: { url: "http://hooks.example/x" } },
      relayers: {
        hill: relayer({ custom_rpc_urls: inside }),
        valley: relayer({ notification_id: "inside" })
      }
    },
    [
      `notifications.inside: url: ${notAllowed}`,
      "notifications.plain: url: the URL has http instead of https, which is not allowed",
      `relayers.hill: custom_rpc_urls.0.url: ${notAllowed}`
    ]
  ],
  "URLs of objects that exist": [
    {
      networks: { "evm:acme": { ...document.networks["evm:acme"], rpc_urls: inside } },
      notifications: { ops: { ...document.notifications.ops, url: "https://10.9.9.9/x" } }
    },
    [`networks.evm:acme: rpc_urls.0.url: ${notAllowed}`, `notifications.ops: url: ${notAllowed}`]
  ],
  "URLs of a relayer that exists": [
    { relayers: { treasury: { ...document.relayers.treasury, custom_rpc_urls: inside } } },
    [`relayers.treasury: custom_rpc_urls.0.url: ${notAllowed}`]
  ],
  "private URLs of a network": [
    { networks: { "evm:sepolia": { private_rpc_urls: [{ url: "https://rpc.example/?useMempool=true" }] } } },
    ["networks.evm:sepolia: private_rpc_urls.0.url: has useMempool, with which the endpoint publishes transactions"]
  ],
  "private URLs of a relayer": [
    { signers, relayers: { hill: relayer({ custom_private_rpc_urls: inside }) } },
    [`relayers.hill: custom_private_rpc_urls.0.url: ${notAllowed}`]
  ],
  "a relayer with more bytes than it may have": [
    { signers, relayers: { hill: relayer({ custom_rpc_urls: long }) } },
    ["relayers.hill: custom_rpc_urls: makes the resource "]
  ],
  "a relayer that becomes too large": [
    { relayers: { treasury: { ...document.relayers.treasury, custom_rpc_urls: long } } },
    ["relayers.treasury: custom_rpc_urls: makes the resource "]
  ],
  "a new signer that cannot serve the network of its relayer": [
    {
      signers: {
        transit: {
          type: "vault_transit",
          config: { address: "https://vault.example", role_id: "r", secret_id: "s", key_name: "k", pubkey }
        }
      },
      relayers: { hill: relayer({ signer_id: "transit" }) }
    },
    ["relayers.hill: signer_id: a vault_transit signer cannot serve evm: these can: plain, local, vault, pkcs11,"]
  ],
  "a keystore that its passphrase does not open": [
    {
      signers: {
        store: { type: "local", config: { keystore: Keystores.byPbkdf2, passphrase: "not this one" } }
      },
      relayers: { hill: relayer({ signer_id: "store" }) }
    },
    ["signers.store: "]
  ]
}

/** The bodies that create the objects one by one, with the names of their objects. */
const creations = ({ networks, notifications, relayers }: Sections) => [
  ...Object.entries(networks ?? {}).map(([id, body]) => {
    const [network_type, name] = id.split(":")
    return [`networks.${id}`, "networks", { network_type, name, ...body }] as const
  }),
  ...Object.entries(notifications ?? {}).map(
    ([id, body]) => [`notifications.${id}`, "notifications", { id, ...body }] as const
  ),
  ...Object.entries(relayers ?? {}).map(([id, body]) => [`relayers.${id}`, "relayers", { id, ...body }] as const)
]

layerEach(TestApi.layer())("a plan", (it) => {
  for (const [what, [sections, lines]] of Object.entries(cases)) {
    it.effect(`refuses ${what}, and changes nothing`, () =>
      Effect.gen(function* () {
        yield* applied(document)
        const given = { version: 1, name: "payments", ...sections }
        const before = yield* rows
        const refused = yield* plan(given)
        assert.strictEqual(refused.status, 422, refused.text)
        const found = String(refused.json["error"]).split("\n")
        assert.deepStrictEqual(
          found.map((line, index) => line.slice(0, lines[index]?.length ?? 0)),
          lines
        )
        assert.strictEqual(yield* rows, before)
        // No plan has such a digest.
        const { digest } = yield* planned(document)
        const other = yield* call("/api/v1/configuration/apply", { body: { document: given, digest } })
        assert.strictEqual(other.status, 412)
      })
    )

    it.effect(`refuses ${what}, with the words of the endpoints that an apply calls`, () =>
      Effect.gen(function* () {
        yield* call("/api/v1/signers", { body: { id: "hill-key", type: "plain" } })
        const refused = String((yield* plan({ version: 1, name: "payments", signers, ...sections })).json["error"])
        for (const [name, path, body] of creations(sections)) {
          const { json, status } = yield* call(`/api/v1/${path}`, { body })
          const line = refused.split("\n").find((line) => line.startsWith(`${name}: `))
          if (line !== undefined && !line.includes("signer_id")) {
            assert.deepStrictEqual([status, `${name}: ${String(json.error)}`], [400, line])
          }
        }
      })
    )
  }

  it.effect("accepts a change of a relayer whose RPC URLs and policies stay", () =>
    Effect.gen(function* () {
      yield* applied(document)
      const renamed = { treasury: { ...document.relayers.treasury, name: "Renamed" } }
      const { counts } = yield* planned({ version: 1, name: "payments", relayers: renamed })
      assert.strictEqual(counts.change, 1)
    })
  )

  it.effect("of an API key opens three keystores, although the queue of keystores takes two of a key", () =>
    Effect.gen(function* () {
      const key = yield* makeKey(["relayers:*", "signers:*", "networks:*", "notifications:*", "api-keys:*"])
      const config = { keystore: Keystores.byPbkdf2, passphrase: Keystores.passphrase }
      const three = Object.fromEntries(["a", "b", "c"].map((id) => [id, { type: "local", config }]))
      const { counts } = yield* planned({ version: 1, name: "payments", signers: three }, {}, { key })
      assert.strictEqual(counts.create, 3)
    })
  )
})

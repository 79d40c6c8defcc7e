// Rules of an import of rrelayer that its configurations in use depend on: one signer per key, allow lists, and what cannot be imported.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Import from "../../packages/import/src/Import.ts"
import { address } from "./OpenZeppelinInput.ts"
import { listed, mnemonic } from "./RRelayerInput.ts"

const first = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
const second = address.toLowerCase()

interface Given {
  readonly networks: ReadonlyArray<object>
  readonly relayers: unknown
  readonly top?: object
  readonly variables?: Readonly<Record<string, string>>
}

const imported = ({ networks, relayers, top, variables = {} }: Given) =>
  Result.getOrThrow(
    Import.rrelayer(
      { name: "rrelayer.yaml", text: JSON.stringify({ name: "team", networks, ...top }) },
      { name: "relayers.json", text: JSON.stringify(relayers) },
      undefined,
      { keepPausedState: false, variables }
    )
  )

const sepolia = { name: "sep", chain_id: 11_155_111, provider_urls: ["https://sep.example"], confirmations: 1 }
const base = { name: "base", chain_id: 8453, provider_urls: ["https://base.example"], confirmations: 1 }

const raw = (variable: string) => ({ signing_provider: { raw: { mnemonic: `\${${variable}}` } } })

const signerOf = ({ document }: Import.Outcome, relayer: string): unknown => {
  const body = document.relayers.get(relayer)
  return body !== undefined && "signer_id" in body ? document.signers.get(String(body.signer_id)) : undefined
}

const lines = ({ entries }: Import.Outcome) => entries.map(({ at, code, message }) => `${at} ${code} ${message}`)

const places = ({ entries }: Import.Outcome) => entries.map(({ at, code }) => `${at} ${code}`)

const policiesOf = ({ document }: Import.Outcome, relayer: string): unknown => {
  const body = document.relayers.get(relayer)
  return body !== undefined && "policies" in body ? body.policies : undefined
}

describe("signers", () => {
  it("two mnemonics with the same index are two signers, and each relayer has that of its network", () => {
    const outcome = imported({
      top: raw("ONE"),
      networks: [sepolia, { ...base, ...raw("TWO") }],
      relayers: [listed("a", 11_155_111, 0), listed("b", 8453, 0)]
    })
    const key = (variable: string) => ({
      type: "plain",
      config: { key: { mnemonic: { env: variable }, path: "m/44'/60'/0'/0/0" } }
    })
    assert.deepStrictEqual([signerOf(outcome, "a"), signerOf(outcome, "b")], [key("ONE"), key("TWO")])
  })

  it("each secret of a secret manager is read into a file of its own", () => {
    const managed = (kind: string, id: string) => ({ signing_provider: { [kind]: { id, key: "k" } } })
    const outcome = imported({
      top: managed("aws_secret_manager", "one"),
      networks: [sepolia, { ...base, ...managed("gcp_secret_manager", "two") }],
      relayers: [listed("a", 11_155_111, 0), listed("b", 8453, 0)]
    })
    assert.deepStrictEqual(outcome.files, ["mnemonic.txt", "mnemonic-2.txt"])
    assert.include(
      lines(outcome),
      "signing_provider.aws_secret_manager needs write the field k of the secret one, which is the mnemonic, into the file mnemonic.txt beside the written file, before you plan it"
    )
  })

  it("each account of Turnkey has a variable for its public key", () => {
    const turnkey = (wallet_id: string) => ({
      signing_provider: {
        turnkey: { api_public_key: "${A}", api_private_key: "${B}", organization_id: "${C}", wallet_id }
      }
    })
    const outcome = imported({
      networks: [
        { ...sepolia, ...turnkey("v") },
        { ...base, ...turnkey("w") }
      ],
      relayers: [listed("a", 11_155_111, 0), listed("b", 8453, 0, { address: second })]
    })
    assert.includeMembers([...outcome.needed], ["TURNKEY_PUBLIC_KEY_0", "TURNKEY_PUBLIC_KEY_0_2"])
    assert.notDeepEqual(signerOf(outcome, "a"), signerOf(outcome, "b"))
  })

  it("private keys beside another kind are two kinds, which the old service refuses", () => {
    const outcome = imported({
      top: { signing_provider: { raw: { mnemonic: "${ONE}" }, private_keys: [{ raw: "${KEY}" }] } },
      networks: [sepolia],
      relayers: [listed("a", 11_155_111, 0)]
    })
    assert.includeMembers(places(outcome), ["signing_provider invalid", "relayers.0 dropped"])
    assert.strictEqual(outcome.document.signers.size, 0)
  })

  it("a network with relayers and without a provider of keys is named", () => {
    const outcome = imported({ networks: [sepolia, base], relayers: [listed("a", 11_155_111, 0)] })
    assert.deepStrictEqual(
      places(outcome).filter((place) => place.includes("invalid")),
      ["networks.0.signing_provider invalid"]
    )
  })

  it("keys of relayers whose account cannot leave its service are dropped with them", () => {
    const outcome = imported({
      top: { signing_provider: { privy: { app_id: "a", app_secret: "b" } } },
      networks: [{ ...sepolia, api_keys: [{ relayer: first, keys: ["${K}"] }] }],
      relayers: [listed("a", 11_155_111, 0)]
    })
    assert.includeMembers(places(outcome), ["relayers.0 dropped", "networks.0.api_keys.0 dropped"])
    assert.notInclude(places(outcome).join(), "invalid")
    assert.include(
      lines(outcome),
      `relayers.0 dropped a: the key of its account ${first} cannot be imported: another line says why; create a signer, and the relayer with it`
    )
  })
})

describe("permissions", () => {
  const withLists = (...lists: ReadonlyArray<ReadonlyArray<string>>) =>
    imported({
      top: raw("ONE"),
      networks: [{ ...sepolia, permissions: lists.map((allowlist) => ({ relayers: "*", allowlist })) }],
      relayers: [listed("a", 11_155_111, 0), listed("b", 11_155_111, 1, { address: second })]
    })

  it("an empty allow list limits nothing, as in the old service", () => {
    assert.notProperty(policiesOf(withLists([]), "a"), "whitelist_receivers")
    assert.propertyVal(policiesOf(withLists([]), "a"), "eip1559_pricing", false)
    const both = policiesOf(withLists([], [address]), "a")
    assert.deepPropertyVal(both, "whitelist_receivers", [address])
    assert.include(places(withLists([])), "networks.0.permissions.0.allowlist note")
  })

  it("a relayer in two lists may only call what is in both, and all such relayers are named", () => {
    const outcome = withLists([address], [first])
    assert.deepPropertyVal(policiesOf(outcome, "a"), "whitelist_receivers", [])
    const note = lines(outcome).find((line) => line.startsWith("networks.0.permissions note"))
    assert.include(note, "a, b are in several entries")
  })

  it("an entry of an allow list that is no address is left out, and with it a relayer that has no other receiver", () => {
    const outcome = imported({
      top: raw("ONE"),
      networks: [{ ...sepolia, permissions: [{ relayers: [first], allowlist: ["nonsense"] }, { relayers: [] }] }],
      relayers: [listed("a", 11_155_111, 0)]
    })
    assert.include(places(outcome), "networks.0.permissions.0.allowlist.0 invalid")
    assert.include(places(outcome), "networks.0.permissions.1.relayers note")
    assert.include(
      lines(outcome),
      "relayers.0 dropped a: no entry is left, and an empty list allows no receiver but the relayer's own address; correct the allow lists in networks.0.permissions"
    )
    assert.strictEqual(outcome.document.relayers.size, 0)
    // Of two lists that have a receiver in common only by the entry that is left out, nothing is left, either.
    assert.strictEqual(withLists([address], [first, "nonsense"]).document.relayers.size, 0)
    assert.deepPropertyVal(policiesOf(withLists([address], [address, "nonsense"]), "a"), "whitelist_receivers", [
      address
    ])
  })

  it("keys of a relayer that is left out are left out with it", () => {
    const outcome = imported({
      top: raw("ONE"),
      networks: [{ ...sepolia, api_keys: [{ relayer: first, keys: ["${KEY}"] }] }],
      relayers: [{ ...listed("a", 11_155_111, 0), name: "" }]
    })
    assert.include(places(outcome), "relayers.0.name invalid")
    assert.include(places(outcome), "networks.0.api_keys.0 dropped")
    assert.deepStrictEqual([outcome.document.relayers.size, outcome.document.api_keys.size], [0, 0])
  })

  it("limits of later versions are named as needed elsewhere", () => {
    const permissions = [{ relayers: "*", ip_allowlist: ["10.0.0.0/8"], request_verification: { scheme: "jwt_hs256" } }]
    const outcome = imported({
      top: raw("ONE"),
      networks: [{ ...sepolia, permissions }],
      relayers: [listed("a", 11_155_111, 0)]
    })
    assert.includeMembers(places(outcome), [
      "networks.0.permissions.0.ip_allowlist needs",
      "networks.0.permissions.0.request_verification needs"
    ])
  })
})

describe("networks and webhooks", () => {
  it("numbers in variables are read when the import runs", () => {
    const network = { ...sepolia, chain_id: "${CHAIN}", confirmations: "${DEPTH}" }
    const given = { top: raw("ONE"), networks: [network], relayers: [listed("a", 11_155_111, 0)] }
    const known = imported({ ...given, variables: { CHAIN: "11155111", DEPTH: "3" } })
    assert.deepInclude(known.document.networks.get("evm:sep"), { from: "sepolia", required_confirmations: 3 })
    assert.deepStrictEqual([...known.document.relayers.keys()], ["a"])
    const unknown = places(imported(given))
    assert.include(unknown, "networks.0.chain_id invalid")
  })

  it("a network with the name of a built-in one is that network, with what differs", () => {
    const outcome = imported({
      top: raw("ONE"),
      networks: [base, { ...sepolia, name: "mainnet" }],
      relayers: [listed("a", 8453, 0), listed("b", 11_155_111, 0)]
    })
    assert.deepStrictEqual(Object.fromEntries(outcome.document.networks), {
      "evm:base": { required_confirmations: 1, rpc_urls: [{ url: "https://base.example", weight: 100 }] }
    })
    assert.include(places(outcome), "networks.1.chain_id invalid")
    assert.deepStrictEqual([...outcome.document.relayers.keys()], ["a"])
  })

  it("a network with the explorer of the built-in one does not change it", () => {
    const of = (block_explorer_url: string) =>
      imported({
        top: raw("ONE"),
        networks: [{ ...base, block_explorer_url }],
        relayers: [listed("a", 8453, 0)]
      }).document.networks.get("evm:base")
    assert.notProperty(of("https://basescan.org"), "explorer_urls")
    assert.deepInclude(of("https://explorer.example"), { explorer_urls: ["https://explorer.example"] })
  })

  it("top-ups of a network are said to be a policy of each relayer", () => {
    const outcome = imported({ networks: [{ ...sepolia, ...raw("ONE"), automatic_top_up: [] }], relayers: [] })
    assert.include(
      lines(outcome),
      "networks.0.automatic_top_up dropped a relayer names who tops it up: set top_up in its policies, and see docs/top-up.md"
    )
  })

  it("relayers of a network that is left out are left out", () => {
    const outcome = imported({
      top: raw("ONE"),
      networks: [{ ...sepolia, name: "bad name" }],
      relayers: [listed("a", 11_155_111, 0)]
    })
    assert.include(lines(outcome), "relayers.0 dropped a: its network bad name would be left out with --skip-invalid")
    assert.strictEqual(outcome.document.relayers.size, 0)
  })

  it("the host of a URL is only named if the input has it", () => {
    const outcome = imported({
      top: raw("ONE"),
      networks: [{ ...sepolia, provider_urls: ["http://${HOST}:8545", "http://node:8545"] }],
      relayers: [listed("a", 11_155_111, 0)]
    })
    assert.deepStrictEqual(
      lines(outcome).filter((line) => line.includes("provider_urls")),
      [
        "networks.0.provider_urls.1 needs expected a public host, or one that OUTBOUND_ALLOW of the service names: node is not public"
      ]
    )
  })

  it("a webhook whose secret is too short for a signing key is left out, and its secret is not written", () => {
    const outcome = imported({
      top: {
        ...raw("ONE"),
        webhooks: [
          { endpoint: "https://hooks.example", shared_secret: "test-webhook-secret-123", networks: "*" },
          { endpoint: "https://hooks.example", shared_secret: "${LONG}", networks: ["sep", "typo"] }
        ]
      },
      networks: [sepolia],
      relayers: [listed("a", 11_155_111, 0)],
      variables: { LONG: "0123456789abcdef0123456789abcdef" }
    })
    assert.deepStrictEqual([...outcome.document.notifications.keys()], ["webhook-2"])
    assert.strictEqual(outcome.moved.size, 0)
    assert.includeMembers(places(outcome), ["webhooks.0.shared_secret invalid", "webhooks.1.networks invalid"])
  })
})

describe("the list", () => {
  it("an answer that is no list is refused", () => {
    const outcome = imported({ top: raw("ONE"), networks: [sepolia], relayers: { error: "no" } })
    assert.include(places(outcome), "relayers.items invalid")
  })

  it("accounts are compared with the mnemonic that this machine has", () => {
    const outcome = imported({
      top: raw("ONE"),
      networks: [sepolia],
      relayers: [listed("a", 11_155_111, 0), listed("b", 11_155_111, 1)],
      variables: { ONE: mnemonic }
    })
    assert.deepStrictEqual([...outcome.document.relayers.keys()], ["a"])
    assert.include(places(outcome), "relayers.1.address invalid")
  })
})

describe("a file with many mistakes", () => {
  it("has all of them reported at once", () => {
    const outcome = imported({
      top: {
        api_config: { port: "3000", authentication_username: "x" },
        signing_provider: { raw: { mnemonic: "one two three" } },
        webhooks: [{ endpoint: 5, networks: ["n", "typo"] }, {}]
      },
      networks: [
        {
          name: "n",
          chain_id: 1,
          provider_urls: ["nope"],
          confirmations: "x",
          automatic_top_up: true,
          signing_provider: { pkcs11: { library_path: "/x" } }
        },
        { name: "n", chain_id: 8453, provider_urls: ["ftp://x", 5], confirmations: 1 },
        { chain_id: "x" },
        { name: "m", chain_id: "x", provider_urls: ["nope"], confirmations: -1, automatic_top_up: 5 }
      ],
      relayers: [
        { id: "a", name: "A", chainId: 1, walletIndex: 0, address: first },
        { id: "a", name: "A", chainId: 1, walletIndex: 1 }
      ]
    })
    const invalid = outcome.entries.flatMap(({ at, code }) => (code === "invalid" ? [at] : []))
    assert.deepStrictEqual(invalid.toSorted(), [
      "api_config.authentication_password",
      "api_config.port",
      "networks.0.automatic_top_up",
      "networks.0.confirmations",
      "networks.0.provider_urls.0",
      "networks.0.signing_provider.pkcs11.identity",
      "networks.0.signing_provider.pkcs11.pin",
      "networks.1.name",
      "networks.1.provider_urls.0",
      "networks.1.provider_urls.1",
      "networks.2.chain_id",
      "networks.2.name",
      "networks.2.provider_urls",
      "networks.3.automatic_top_up",
      "networks.3.chain_id",
      "networks.3.confirmations",
      "networks.3.provider_urls.0",
      "relayers.1.address",
      "relayers.1.id",
      "signing_provider.raw.mnemonic",
      "webhooks.0.endpoint",
      "webhooks.0.networks",
      "webhooks.1.endpoint"
    ])
    assert.strictEqual(outcome.moved.size, 0)
  })

  it("has its fields named as the file names them, each once", () => {
    const outcome = imported({
      top: raw("ONE"),
      networks: [
        { name: "sepolia_ethereum", chain_id: 11_155_111, provider_urls: [], confirmations: 1 },
        { name: "Bad Name!", chain_id: 8453, confirmations: 1 }
      ],
      relayers: []
    })
    assert.deepStrictEqual(
      outcome.entries.flatMap(({ at, code }) => (code === "invalid" ? [at] : [])),
      ["networks.0.provider_urls", "networks.1.provider_urls", "networks.1.name"]
    )
  })
})

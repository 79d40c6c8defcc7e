// Rules of an import of OpenZeppelin Relayer about what refers to something that is left out, is there twice, or does not exist.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { onTestFinished } from "vitest"
import * as Import from "../../packages/import/src/Import.ts"

const env = (value: string) => ({ type: "env", value })

const relayer = (id: string, more: object = {}) => ({
  id,
  name: id,
  network: "sepolia",
  network_type: "evm",
  paused: true,
  signer_id: "hot",
  ...more
})

const signer = (id: string) => ({ id, type: "local", config: { path: "hot.json", passphrase: env("PASS") } })

const network = (name: string, more: object = {}) => ({
  type: "evm",
  network: name,
  rpc_urls: ["https://rpc.example"],
  ...more
})

const notification = (id: string, more: object = {}) => ({ id, type: "webhook", url: "https://hooks.example", ...more })

const key = "0123456789abcdef0123456789abcdef"

const imported = (config: object, dotEnv?: Readonly<Record<string, string>>, more: object = {}) =>
  Result.getOrThrow(
    Import.openZeppelin(
      {
        name: "config.json",
        text: JSON.stringify({ relayers: [], signers: [signer("hot")], notifications: [], networks: [], ...config })
      },
      "old",
      {
        folder: "/nowhere",
        allNetworks: true,
        keepPausedState: false,
        ...(dotEnv === undefined ? {} : { dotEnv }),
        ...more
      }
    )
  )

/** A working directory as compose mounts it, with a network and a keystore. */
const mounted = () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "effect-relayer-import-"))
  onTestFinished(() => fs.rmSync(home, { recursive: true }))
  fs.mkdirSync(path.join(home, "config/networks"), { recursive: true })
  fs.mkdirSync(path.join(home, "config/keys"))
  const networks = [network("mine", { from: "sepolia" })]
  fs.writeFileSync(path.join(home, "config/networks/evm.json"), JSON.stringify({ networks }))
  fs.writeFileSync(path.join(home, "config/keys/hot.json"), "{}")
  return home
}

const lines = ({ entries }: Import.Outcome) => entries.map(({ at, code, message }) => `${at} ${code} ${message}`)

const problems = (outcome: Import.Outcome) =>
  outcome.entries.filter(({ code }) => code === "invalid" || code === "dropped").map(({ at, code }) => `${at} ${code}`)

describe("files of a service that runs in a container", () => {
  it("need no folder of networks if every network that relayers use is built in", () => {
    const of = (name: string) =>
      imported({ relayers: [relayer("a", { network: name })], networks: "./config/networks" })
    assert.deepStrictEqual(
      lines(of("sepolia")).filter((line) => line.startsWith("networks ")),
      [
        "networks note ./config/networks is no folder with files *.json; the built-in networks of the service are used instead"
      ]
    )
    assert.include(problems(of("mine")), "networks invalid")
  })

  it("are found below the working directory at the paths of the container, or where --networks says", () => {
    const folder = mounted()
    const config = { path: "/app/config/keys/hot.json", passphrase: env("PASS") }
    const container = {
      relayers: [relayer("a", { network: "mine" })],
      signers: [{ id: "hot", type: "local", config }]
    }
    const outcome = imported({ ...container, networks: "/app/config/networks" }, undefined, { folder })
    assert.deepStrictEqual(problems(outcome), [])
    assert.includeMembers(lines(outcome), [
      "networks note the path /app/config/networks is that of the container: the networks are read from config/networks",
      "signers.0.config.path note the path /app/config/keys/hot.json is that of the container: the keystore is read from config/keys/hot.json"
    ])
    assert.include(outcome.yaml, "file: config/keys/hot.json")
    const networksFolder = path.join(folder, "config/networks")
    const named = imported({ ...container, networks: "./elsewhere" }, undefined, { folder, networksFolder })
    assert.deepStrictEqual(problems(named), [])
    assert.include(named.yaml, "evm:mine")
  })

  it("say where a keystore that is missing has to be", () => {
    assert.include(
      lines(imported({})),
      "signers.0.config.path needs there is no keystore at hot.json; a relative path starts at the folder of this command: copy the keystore there from the machine of the old service before you plan the written file"
    )
  })

  it("name the hosts inside of a network of containers that the service has to be allowed to call", () => {
    const url = "http://hardhat-node:8545"
    const outcome = imported({
      relayers: [relayer("a", { network: "mine", custom_rpc_urls: [url, { url: "http://10.1.2.3:8545", weight: 1 }] })],
      networks: [network("mine", { from: "sepolia", rpc_urls: [url, "https://rpc.example"] })],
      notifications: [
        notification("ops", { url: "https://relay-api/hook", signing_key: env("KEY") }),
        notification("inside", { url: "http://relay-api:8080/hook" }),
        notification("plain", { url: "http://hooks.example/hook" })
      ]
    })
    assert.hasAllKeys(outcome.document.notifications, ["ops", "inside", "plain"])
    const inside = "expected a public host, or one that OUTBOUND_ALLOW of the service names:"
    assert.deepStrictEqual(
      lines(outcome).filter((line) => line.includes("OUTBOUND_ALLOW")),
      [
        `notifications.0.url needs ${inside} relay-api is not public`,
        `notifications.1.url needs ${inside} relay-api is not public`,
        "notifications.2.url needs expected https, or a host that OUTBOUND_ALLOW of the service names: the service would call hooks.example by http",
        `networks.0.rpc_urls.0 needs ${inside} hardhat-node is not public`,
        `relayers.0.custom_rpc_urls.0 needs ${inside} hardhat-node is not public`,
        `relayers.0.custom_rpc_urls.1 needs ${inside} 10.1.2.3 is not public`
      ]
    )
    assert.deepStrictEqual(outcome.hosts, ["hardhat-node", "10.1.2.3", "relay-api", "hooks.example"])
  })

  it("are in one list for OUTBOUND_ALLOW, without those of what is left out", () => {
    const key = "0123456789abcdef0123456789abcdef"
    const outcome = imported({
      relayers: [relayer("a", { signer_id: "none", custom_rpc_urls: ["http://10.9.9.9"] })],
      networks: [network("mine", { from: "sepolia", rpc_urls: [`http://node:8545/${key}`, "http://${HOST}:8545"] })],
      notifications: [notification("bad", { url: "http://lost:8080", signing_key: { type: "plain", value: "short" } })]
    })
    assert.strictEqual(outcome.moved.size, 1)
    assert.deepStrictEqual(outcome.hosts, ["node"])
  })
})

describe("networks", () => {
  it("of a file that is no JSON are reported with its place", () => {
    const folder = mounted()
    fs.writeFileSync(path.join(folder, "config/networks/evm.json"), '{\n  "networks": [], # hunter2\n}')
    const outcome = imported({ networks: "./config/networks" }, undefined, { folder })
    assert.include(lines(outcome), "networks/evm.json invalid is not valid JSON (config/networks/evm.json:2:19)")
  })

  it("that no relayer uses are one note, which is no loss", () => {
    const networks = ["one", "two", "sepolia"].map((name) => network(name, { chain_id: 11_155_111 }))
    const outcome = imported({ relayers: [relayer("a")], networks }, undefined, { allNetworks: false })
    assert.deepStrictEqual(problems(outcome), [])
    assert.include(
      lines(outcome),
      "networks note 2 of 3 networks are used by no relayer and left out; --all-networks imports them"
    )
  })

  it("a network that inherits from nothing or from itself is left out with what uses it", () => {
    const outcome = imported({
      relayers: [relayer("a", { network: "a" }), relayer("c", { network: "c" }), relayer("d", { network: "d" })],
      networks: [
        network("a", { from: "b" }),
        network("b", { from: "a" }),
        network("c", { from: "nowhere" }),
        network("d", { from: "sepolia" })
      ]
    })
    assert.deepStrictEqual(problems(outcome), [
      "networks.0.from invalid",
      "networks.1.from invalid",
      "networks.2.from invalid",
      "relayers.0 dropped",
      "relayers.1 dropped"
    ])
    assert.deepStrictEqual([...outcome.document.networks.keys()], ["evm:d"])
    assert.deepStrictEqual([...outcome.document.relayers.keys()], ["d"])
  })

  it("a network of its own that lacks a required field is left out, with what uses it, and its other mistakes are reported", () => {
    const own = network("own", { chain_id: 9, symbol: 5 })
    const outcome = imported({
      relayers: [relayer("a", { network: "own" }), relayer("b", { network: "child" })],
      networks: [
        own,
        network("child", { from: "own" }),
        network("heir", { from: "sepolia" }),
        { type: "stellar", network: "lone" }
      ]
    })
    assert.deepStrictEqual(problems(outcome), [
      "networks.0.average_blocktime_ms invalid",
      "networks.0.required_confirmations invalid",
      "networks.0.symbol invalid",
      "networks.3.rpc_urls invalid",
      "networks.3.average_blocktime_ms invalid",
      "networks.3.passphrase invalid",
      "networks.1 dropped",
      "relayers.0 dropped",
      "relayers.1 dropped"
    ])
    assert.deepStrictEqual([...outcome.document.networks.keys()], ["evm:heir"])
  })

  it("a network whose parent is left out is left out", () => {
    const outcome = imported({
      networks: [network("parent", { from: "sepolia", chain_id: -1 }), network("child", { from: "parent" })]
    })
    assert.deepStrictEqual(problems(outcome), ["networks.0.chain_id invalid", "networks.1 dropped"])
    assert.strictEqual(outcome.document.networks.size, 0)
  })

  it("URLs in variables stay in variables", () => {
    const own = { rpc_urls: [env("RPC_URL"), "https://rpc.example"], explorer_urls: [env("EXPLORER")] }
    const outcome = imported({ networks: [network("own", { from: "sepolia", ...own })] })
    assert.deepInclude(outcome.document.networks.get("evm:own"), {
      rpc_urls: [
        { url: { env: "RPC_URL" }, weight: 100 },
        { url: "https://rpc.example", weight: 100 }
      ],
      explorer_urls: ["${EXPLORER}"]
    })
    assert.includeMembers([...outcome.needed], ["RPC_URL", "EXPLORER"])
  })

  it("a URL with a key beside a variable is left out, and one whose password is a variable is not", () => {
    const key = "0123456789abcdef0123456789abcdef"
    const password = "pa55"
    const outcome = imported({
      networks: [
        network("own", {
          from: "sepolia",
          rpc_urls: [
            `https://\${NET}.rpc.example/v3/${key}`,
            `https://user:${password}@\${HOST}/`,
            "https://user:${PASSWORD}@rpc.example/",
            "https://${HOST}/v3"
          ]
        })
      ]
    })
    assert.deepStrictEqual(Object(outcome.document.networks.get("evm:own")).rpc_urls, [
      { url: "https://user:${PASSWORD}@rpc.example/", weight: 100 },
      { url: "https://${HOST}/v3", weight: 100 }
    ])
    const needs = outcome.entries.filter(({ code }) => code === "needs").map(({ at }) => at)
    assert.includeMembers(needs, ["networks.0.rpc_urls.0", "networks.0.rpc_urls.1"])
    const written = JSON.stringify([...outcome.document.networks])
    for (const secret of [key, password]) assert.notInclude(written, secret)
  })
})

describe("what is there twice", () => {
  it("the second signer and the second notification are left out, and the first ones stay in use", () => {
    const outcome = imported({
      relayers: [relayer("a", { notification_id: "ops" })],
      signers: [signer("hot"), signer("hot")],
      notifications: [notification("ops"), notification("ops")]
    })
    assert.deepStrictEqual(problems(outcome), ["signers.1.id invalid", "notifications.1.id invalid"])
    assert.deepInclude(outcome.document.relayers.get("a"), { signer_id: "hot", notification_id: "ops" })
  })
})

describe("notifications", () => {
  it("an empty URL is named with what it should be, beside a key that is too short", () => {
    const outcome = imported({
      notifications: [notification("ops", { url: "", signing_key: { type: "plain", value: "short" } })]
    })
    assert.deepStrictEqual(lines(outcome).slice(1), [
      "notifications.0.signing_key invalid expected 32 to 512 characters, and base64 after whsec_: ops would be left out with --skip-invalid",
      "notifications.0.url invalid is empty, and should be the https URL of the receiver: ops would be left out with --skip-invalid"
    ])
    assert.strictEqual(outcome.moved.size, 0)
  })

  it("what is invalid is said to be left out only if it is", () => {
    const texts = (skipInvalid: boolean) =>
      lines(
        imported({ notifications: [notification("ops", { url: "" }), notification("ops")] }, undefined, { skipInvalid })
      )
        .filter((line) => line.includes(" invalid "))
        .join("\n")
    assert.match(texts(true), /receiver: ops is left out\n.*the id ops is here twice: this one is left out$/)
    assert.notInclude(texts(true), "--skip-invalid")
    assert.match(
      texts(false),
      /: ops would be left out with --skip-invalid\n.*: this one would be left out with --skip-invalid$/
    )
    assert.notInclude(texts(false), "is left out")
  })

  it("a key in the environment file is checked, too", () => {
    const given = { notifications: [notification("ops", { signing_key: env("KEY") })] }
    assert.deepStrictEqual(problems(imported(given, { KEY: "short" })), ["notifications.0.signing_key invalid"])
    assert.deepStrictEqual(problems(imported(given, { KEY: key })), [])
  })
})

describe("the environment file", () => {
  it("a variable of something that is left out is no setting without a counterpart", () => {
    const config = { api_key_id: "i", api_key_secret: env("CDP"), wallet_secret: env("WALLET"), account_address: "0x" }
    const outcome = imported(
      {
        notifications: [notification("ops", { url: "", signing_key: env("KEY") })],
        signers: [signer("hot"), { id: "cdp", type: "cdp", config }]
      },
      { KEY: key, PASS: "x", CDP: "1", WALLET: "2", QUEUE_BACKEND: "sqs" }
    )
    assert.include(lines(outcome), ".env dropped these have no counterpart: QUEUE_BACKEND")
    assert.deepStrictEqual([...outcome.needed], ["PASS"])
  })
})

describe("relayers", () => {
  it("that cannot be imported as they are have a line that says what to do", () => {
    const cdp = { id: "cdp", type: "cdp", config: { api_key_id: "i", account_address: "0x" } }
    const stellar = { network_type: "stellar", network: "testnet" }
    const outcome = imported({
      signers: [signer("hot"), cdp],
      relayers: [
        relayer("a", { signer_id: "cdp" }),
        relayer("b", { policies: { private_transactions: true } }),
        relayer("c", { ...stellar, policies: { timeout_seconds: 5, concurrent_transactions: true } }),
        relayer("d", { ...stellar, policies: { timeout_seconds: 500 } })
      ]
    })
    assert.includeMembers(lines(outcome), [
      "relayers.0 dropped a is not imported, because its signer cdp cannot be: create another signer, and the relayer with it",
      "relayers.1.policies.private_transactions needs the service sends privately while it is true, and refuses every send of the relayer (409 no_private_rpc) until custom_private_rpc_urls of the relayer or private_rpc_urls of its network name an endpoint; the old service sends publicly: remove the field to do the same",
      "relayers.2.policies.timeout_seconds note the service uses 15 seconds, because it allows 15 to 300",
      "relayers.2.policies.concurrent_transactions note the service sends one transaction of the relayer at a time until it has channels: set channels.count to send several at once",
      "relayers.3.policies.timeout_seconds note the service uses 300 seconds, because it allows 15 to 300"
    ])
  })

  it("whose receivers are all left out are left out, because an empty list would say something else", () => {
    const listing = (...whitelist_receivers: ReadonlyArray<string>) => {
      const outcome = imported({ relayers: [relayer("a", { policies: { whitelist_receivers } })] })
      return { outcome, policies: Object(outcome.document.relayers.get("a")).policies }
    }
    const valid = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
    assert.deepStrictEqual(listing("nonsense", valid).policies, { whitelist_receivers: [valid] })
    // The old service allows no receiver by such a list, either.
    assert.deepStrictEqual(listing().policies, { whitelist_receivers: [] })
    const { outcome } = listing("nonsense")
    assert.strictEqual(outcome.document.relayers.size, 0)
    assert.include(
      lines(outcome),
      "relayers.0.policies.whitelist_receivers invalid no entry is left, and an empty list allows no receiver but the relayer's own address: the relayer would be left out with --skip-invalid; correct the list"
    )
  })

  it("what differs for a solana relayer without policies is noted", () => {
    const outcome = imported({ relayers: [relayer("s", { network_type: "solana", network: "devnet" })] })
    const noted = outcome.entries.filter(({ at }) => at.startsWith("relayers.0.policies.")).map(({ at }) => at)
    assert.deepStrictEqual(noted, [
      "relayers.0.policies.allowed_tokens",
      "relayers.0.policies.max_allowed_fee_lamports"
    ])
    assert.notProperty(outcome.document.relayers.get("s"), "policies")
  })

  it("a text in the place of true or false is named", () => {
    assert.deepStrictEqual(problems(imported({ relayers: [relayer("a", { paused: "false" })] })), [
      "relayers.0.paused invalid"
    ])
  })
})

it("a file that is no object is no configuration", () => {
  const options = { folder: "/nowhere", allNetworks: false, keepPausedState: false }
  for (const text of ["[]", "1", '"text"']) {
    const result = Import.openZeppelin({ name: "config.json", text }, "old", options)
    assert.strictEqual(
      Result.match(result, { onFailure: (message) => message, onSuccess: () => "imported" }),
      "config.json: is not a configuration"
    )
  }
})

describe("what the old service refuses", () => {
  const invalid = (outcome: Import.Outcome) =>
    outcome.entries.filter(({ code }) => code === "invalid").map(({ at }) => at)

  it("an object with a field that the old service refuses is left out, because it may allow more without the field", () => {
    const outcome = imported({
      relayers: [
        relayer("a", { policies: { gas_price_capp: 5 } }),
        relayer("b", { custom_rpc_urls: "https://a.example" })
      ],
      signers: [signer("hot"), { ...signer("other"), config: { ...signer("other").config, more: 1 } }],
      notifications: [notification("ops", { more: 1 })]
    })
    assert.deepStrictEqual(invalid(outcome), [
      "signers.1.config.more",
      "notifications.0.more",
      "relayers.0.policies.gas_price_capp",
      "relayers.1.custom_rpc_urls"
    ])
    const { notifications, relayers, signers } = outcome.document
    assert.deepStrictEqual([[...signers.keys()], notifications.size, relayers.size], [["hot"], 0, 0])
  })

  it("all mistakes of a file are reported at once, also those of an object that is left out for another one", () => {
    const outcome = imported(
      {
        relayers: [
          {
            id: "c",
            name: 5,
            network: "sepolia",
            network_type: "etherium",
            signer_id: "hot",
            custom_rpc_urls: [{ url: "nope" }],
            paused: "no"
          },
          relayer("c", { name: "", signer_id: "nobody", custom_rpc_urls: ["ftp://x"], paused: 1 }),
          { name: "x" }
        ],
        signers: [
          { id: "hot", type: "paper", config: {} },
          { id: "hot", type: "local", config: { path: 5 } },
          { type: "vault" }
        ],
        notifications: [{ id: "n", type: "mail", url: "x" }, { id: "n", url: 5 }, {}],
        networks: [
          network("sepolia", { chain_id: 5, rpc_urls: ["nope", 7], symbol: 5 }),
          { type: "evm", network: "one", from: "two" },
          { type: "evm", network: "two", from: "one" },
          network("two"),
          network("lone")
        ]
      },
      undefined,
      { allNetworks: false }
    )
    assert.deepStrictEqual(invalid(outcome).toSorted(), [
      "networks.0.chain_id",
      "networks.0.rpc_urls.0",
      "networks.0.rpc_urls.1",
      "networks.0.symbol",
      "networks.1.from",
      "networks.2.from",
      "networks.3.network",
      "notifications.0.type",
      "notifications.0.url",
      "notifications.1.id",
      "notifications.1.url",
      "notifications.2.id",
      "notifications.2.url",
      "relayers.0.custom_rpc_urls.0.url",
      "relayers.0.name",
      "relayers.0.network_type",
      "relayers.0.paused",
      "relayers.0.signer_id",
      "relayers.1.custom_rpc_urls.0",
      "relayers.1.id",
      "relayers.1.name",
      "relayers.1.paused",
      "relayers.1.signer_id",
      "relayers.2.id",
      "relayers.2.network",
      "relayers.2.network_type",
      "relayers.2.signer_id",
      "signers.0.type",
      "signers.1.config.passphrase",
      "signers.1.config.path",
      "signers.1.id",
      "signers.2.config",
      "signers.2.id"
    ])
    assert.strictEqual(outcome.moved.size, 0)
  })

  it("an id that is none hides no other mistake, and what has no id is called it", () => {
    const wrong = relayer("bad id!", { name: 5, custom_rpc_urls: ["ftp://x"] })
    const outcome = imported({ relayers: [wrong, { ...relayer("x"), id: undefined, name: "" }] })
    const places = ["0.name", "0.id", "0.custom_rpc_urls.0", "1.id", "1.name"]
    assert.deepStrictEqual(
      problems(outcome),
      places.map((place) => `relayers.${place} invalid`)
    )
    assert.match(lines(outcome).at(-1) ?? "", /^relayers\.1\.name invalid .* characters: it would be left out/)
  })

  it("relayers that are imported paused, and keys in AWS, are one note each", () => {
    const ids = Array.from({ length: 7 }, (_, index) => `r${index}`)
    const kms = (id: string) => ({ id, type: "aws_kms", config: { region: "eu-west-1", key_id: "k" } })
    const outcome = imported({
      relayers: ids.map((id) => relayer(id, { paused: false, signer_id: id })),
      signers: ids.map(kms)
    })
    const notes = lines(outcome).filter((line) => /^(relayers|signers)/.test(line))
    assert.lengthOf(notes, 2)
    assert.match(notes[0] ?? "", /^signers note r0, r1, r2, r3, r4 and 2 more: the service logs in to AWS/)
    assert.match(notes[1] ?? "", /^relayers note r0, r1, r2, r3, r4 and 2 more are imported paused; resume them/)
  })

  it("everything that is wrong with a relayer is reported at once, also if it refers to nothing", () => {
    const outcome = imported({
      relayers: [
        relayer("a", { signer_id: "none", network: "none", name: "", policies: { gas_price_cap: -1 } }),
        { id: "b", network_type: "evm" },
        relayer("c", { network_type: "midnight" })
      ]
    })
    assert.deepStrictEqual(invalid(outcome), [
      "relayers.0.signer_id",
      "relayers.0.network",
      "relayers.0.name",
      "relayers.0.policies.gas_price_cap",
      "relayers.1.name",
      "relayers.1.network",
      "relayers.1.signer_id",
      "relayers.2.network_type"
    ])
    assert.include(lines(outcome), "relayers.1.name invalid is required: b would be left out with --skip-invalid")
    assert.notInclude(
      outcome.entries.map(({ code }) => code),
      "note"
    )
    assert.strictEqual(outcome.document.relayers.size, 0)
  })

  it("places of URLs are those of the input, also after an entry that is left out", () => {
    const outcome = imported({
      relayers: [relayer("a", { custom_rpc_urls: [{ weight: 1 }, "ws://x.example/0123456789abcdef0123456789", 7] })],
      networks: [network("n", { from: "sepolia", rpc_urls: [{ weight: 1 }, { url: "ws://x.example" }, env("A B")] })]
    })
    assert.sameMembers(invalid(outcome), [
      "networks.0.rpc_urls.0",
      "networks.0.rpc_urls.1.url",
      "networks.0.rpc_urls.2",
      "relayers.0.custom_rpc_urls.0",
      "relayers.0.custom_rpc_urls.1",
      "relayers.0.custom_rpc_urls.2"
    ])
    assert.strictEqual(outcome.moved.size, 0)
  })

  it("a secret without a value or with a name that no variable has is reported", () => {
    const outcome = imported({
      signers: ["", "A B"].map((value, index) => ({
        ...signer(`s${index}`),
        config: { path: "hot.json", passphrase: { type: index === 0 ? "plain" : "env", value } }
      }))
    })
    assert.deepStrictEqual(invalid(outcome), ["signers.0.config.passphrase", "signers.1.config.passphrase"])
    assert.strictEqual(outcome.document.signers.size, 0)
  })

  it("a file that is no JSON is refused, and nothing of it is quoted", () => {
    const problemOf = (text: string) =>
      Result.match(
        Import.openZeppelin({ name: "config.json", text }, "old", {
          folder: "/nowhere",
          allNetworks: true,
          keepPausedState: false
        }),
        { onSuccess: () => "imported", onFailure: (problem) => problem }
      )
    assert.strictEqual(problemOf('{\n  "relayers": [}'), "is not valid JSON (config.json:2:16)")
    const comment = '{"networks": [], // hunter2\n "relayers": []}'
    assert.strictEqual(problemOf(comment), "is not valid JSON (config.json:1:18)")
    assert.strictEqual(problemOf("networks: []"), "is not valid JSON (config.json:1:1)")
    assert.strictEqual(problemOf(""), "is not valid JSON (config.json:1:1)")
    assert.match(problemOf('{"relayers": [], "relayers": []}'), /relayers: is here twice/)
    assert.strictEqual(problemOf('\uFEFF{"networks": []}'), "imported")
  })

  it("a variable in one field does not keep another field from being checked", () => {
    const azure = (tenant_id: object, key_name: string) => ({
      id: "azure",
      type: "azure_key_vault",
      config: {
        auth_type: "client_secret",
        tenant_id,
        client_id: env("CLIENT"),
        client_secret: env("SECRET"),
        vault_url: "https://relayers.vault.azure.net",
        key_name
      }
    })
    assert.deepStrictEqual(invalid(imported({ signers: [azure(env("TENANT"), "a key")] })), [
      "signers.0.config.key_name"
    ])
    assert.deepStrictEqual(invalid(imported({ signers: [azure(env("TENANT"), "key")] })), [])
  })
})

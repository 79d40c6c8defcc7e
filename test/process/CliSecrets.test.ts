// No secret of a configuration is in an output: marked values in every place where secrets can be, all commands with all outputs,
// and a search in what they print and write, in the log of the service, and in its audit records, events and responses.
// Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Keystores from "../../testkit/keystores.ts"
import { runningApart } from "../../testkit/process/Commands.ts"
import { openZeppelin } from "../import/OpenZeppelinInput.ts"
import { list, rrelayer } from "../import/RRelayerInput.ts"
import { isMembers } from "../../src/domain/configuration/Document.ts"

/** Marked values. A value may be in one place, or come from the environment or a file. */
const marks: Array<string> = []

const marked = (value: string): string => {
  marks.push(value)
  return value
}

/** A text of 40 characters that is nowhere else. */
const secret = (): string => marked(`hunter2${String(marks.length).padStart(2, "0")}x`.padEnd(40, "0123456789abcdef"))

const hexKey = (): string => marked(`fade${String(marks.length).padStart(4, "0")}`.repeat(8))

const words = marked("legal winner thank year wave sausage worth useful legal winner thank yellow")

const env: Record<string, string> = {}

const files: Record<string, string> = {}

/** A reference to a new variable or file that has the value. */
const fromEnv = (value: string) => {
  const name = `RELAYER_SECRET_${Object.keys(env).length}`
  env[name] = value
  return { env: name }
}

const fromFile = (value: string) => {
  const file = `secret-${Object.keys(files).length}`
  files[file] = `${value}\n`
  return { file }
}

const inText = (value: string) => `\${${fromEnv(value).env}}`

/** URLs with a key: as they are, from a variable, and with the key from a variable. */
const urls = (host: string) => [
  { url: `https://one.${host}/v1/${secret()}` },
  { url: fromEnv(`https://two.${host}/?key=${secret()}`) },
  { url: `https://three.${host}/v2/${inText(secret())}` }
]

const keystore = marked(JSON.stringify(Keystores.byPbkdf2))
marked(Keystores.byPbkdf2.crypto.ciphertext)
const passphrase = marked(Keystores.passphrase)

const signing = {
  "by-env": { url: "https://hooks.example.com/a", signing_key: fromEnv(secret()) },
  "by-file": { url: `https://hooks.example.com/?token=${secret()}`, signing_key: fromFile(secret()) },
  "by-url": { url: `https://hooks.example.com/${inText(secret())}` }
}

const relayer = (signer_id: string, more: object = {}) => ({
  name: "R",
  network_type: "evm",
  network: "acme",
  signer_id,
  ...more
})

/** What is applied. */
const applicable = {
  version: 1,
  name: "payments",
  networks: { "evm:acme": { from: "sepolia", rpc_urls: urls("rpc.example.com") } },
  notifications: signing,
  signers: {
    env: { type: "plain", config: { key: fromEnv(hexKey()) } },
    file: { type: "plain", config: { key: fromFile(hexKey()) } },
    words: { type: "plain", config: { key: { mnemonic: fromEnv(words), path: "m/44'/60'/0'/0/0" } } },
    more: { type: "plain", config: { key: { mnemonic: fromFile(words), path: "m/44'/60'/0'/0/1" } } },
    local: { type: "local", config: { keystore: fromFile(keystore), passphrase: fromEnv(passphrase) } }
  },
  relayers: { one: relayer("env", { notification_id: "by-env", custom_rpc_urls: urls("own.example.com") }) },
  api_keys: { dashboard: { name: "Dashboard", scopes: ["relayers:read"] } }
}

/** Logins of key services, which only a plan reads. */
const logins = {
  vault: {
    type: "vault",
    config: {
      address: "https://vault.example.com",
      role_id: fromEnv(secret()),
      secret_id: fromFile(secret()),
      key_name: "k"
    }
  },
  transit: {
    type: "vault_transit",
    config: {
      address: "https://vault.example.com",
      role_id: fromFile(secret()),
      secret_id: fromEnv(secret()),
      key_name: "k",
      pubkey: Buffer.alloc(32, 1).toString("base64")
    }
  },
  azure: {
    type: "azure_key_vault",
    config: {
      auth_type: "client_secret",
      tenant_id: "00000000-0000-0000-0000-000000000001",
      client_id: "00000000-0000-0000-0000-000000000002",
      client_secret: fromEnv(secret()),
      vault_url: "https://relayers.vault.azure.net",
      key_name: "k"
    }
  },
  token: { type: "pkcs11", config: { module: "hsm", token_label: "t", key_label: "k", pin: fromEnv(secret()) } },
  turnkey: {
    type: "turnkey",
    config: {
      api_public_key: `02${"1".repeat(64)}`,
      api_private_key: fromEnv(hexKey()),
      organization_id: "00000000-0000-0000-0000-000000000003",
      private_key_id: "00000000-0000-0000-0000-000000000004",
      public_key: `02${"2".repeat(64)}`
    }
  }
}

/** Secrets as text, which the command refuses. */
const inline = {
  version: 1,
  name: "inline",
  networks: { "evm:acme": { from: "sepolia", rpc_urls: [{ url: "no url", weight: secret() }] } },
  notifications: { ops: { url: secret(), signing_key: secret() } },
  signers: {
    plain: { type: "plain", config: { key: hexKey() } },
    local: { type: "local", config: { keystore: secret(), passphrase: secret() } },
    vault: { type: "vault", config: { address: secret(), role_id: secret(), secret_id: secret(), key_name: "k" } },
    azure: { type: "azure_key_vault", config: { client_secret: secret() } },
    token: { type: "pkcs11", config: { pin: secret() } },
    turnkey: { type: "turnkey", config: { api_private_key: hexKey() } },
    google: {
      type: "google_cloud_kms",
      config: { service_account: { private_key: secret(), client_email: secret() } }
    },
    [`unknown-${"x".repeat(20)}`]: { type: secret(), config: {} }
  }
}

/** Names that are written as variables or texts, because they are no secrets. */
const publicNames: ReadonlySet<string> = new Set(["tenant_id", "client_id"])

/** The configurations of other services, with secrets as text. */
const imports = {
  "config.json": JSON.parse(JSON.stringify(openZeppelin), (name: string, value: unknown) =>
    isMembers(value) && value["type"] === "env" && !publicNames.has(name) ? { type: "plain", value: secret() } : value
  ) as unknown,
  "rrelayer.yaml": {
    ...rrelayer,
    api_config: { authentication_username: secret(), authentication_password: secret() },
    signing_provider: { raw: { mnemonic: words } },
    networks: [{ ...rrelayer.networks[0], provider_urls: [`https://rpc.example.com/${secret()}`] }],
    webhooks: [{ ...rrelayer.webhooks[0], shared_secret: secret() }]
  },
  "list.json": list
}

/** Which marked values are in the text, with their number instead of the value. */
const found = (text: string): ReadonlyArray<string> =>
  marks.flatMap((value, index) => (text.includes(value) ? [`mark ${index}`] : []))

const prepared = Effect.gen(function* () {
  const world = yield* runningApart({ LOG_LEVEL: "debug" })
  for (const [name, text] of Object.entries(files)) yield* world.write(name, text)
  for (const [name, value] of Object.entries(imports)) yield* world.write(name, JSON.stringify(value))
  yield* world.write("good.json", JSON.stringify(applicable))
  yield* world.write("logins.json", JSON.stringify({ version: 1, name: "logins", signers: logins }))
  yield* world.write("inline.json", JSON.stringify(inline))
  yield* world.write("broken.yaml", `version: 1\nname: [${secret()}\n${secret()}: {${secret()}\n`)
  const outputs: Array<readonly [command: string, text: string]> = []
  const run = Effect.fnUntraced(function* (code: number, ...flags: ReadonlyArray<string>) {
    const ended = yield* world.call(flags, env)
    assert.strictEqual(ended.code, code, `${flags.join(" ")}: ${found(ended.stderr).join()}\n${ended.stderr}`)
    outputs.push([flags.join(" "), ended.stdout + ended.stderr])
    return ended.stdout
  })
  return { ...world, outputs, run }
})

describe("secrets", () => {
  it.live("are in no output of any command, and in nothing that the service logs, records, publishes or answers", () =>
    Effect.gen(function* () {
      const { home, outputs, run, service } = yield* prepared
      const good = ["-f", "good.json"]
      yield* run(2, "plan", ...good, "--detailed-exitcode")
      yield* run(0, "apply", ...good, "--yes", "--keys-out", "keys.json")
      const keys = JSON.parse(yield* Effect.promise(() => fs.readFile(path.join(home, "keys.json"), "utf8"))) as {
        readonly dashboard: string
      }
      marked(keys.dashboard)

      // Every secret that can change has another value in the service.
      for (const id of ["by-env", "by-file"]) {
        const body = { signing_key: secret(), url: `https://hooks.example.com/changed/${secret()}` }
        yield* service.call(`/api/v1/notifications/${id}`, { method: "PATCH", body })
      }
      const body = { custom_rpc_urls: [{ url: `https://one.own.example.com/${secret()}` }] }
      yield* service.call("/api/v1/relayers/one", { method: "PATCH", body })

      for (const output of ["text", "json", "markdown"])
        yield* run(0, "plan", ...good, "-o", output, "--out", "plan.json")
      yield* run(2, "diff", ...good)
      yield* run(0, "plan", "-f", "logins.json", "-o", "json")
      yield* run(2, "plan", "-f", "inline.json")
      yield* run(2, "plan", "-f", "broken.yaml")
      yield* run(0, "apply", ...good, "--yes", "-o", "json")
      yield* run(0, "export", "--name", "payments")
      yield* run(0, "export", "--all", "--name", "all", "--env-names", "-o", "json")
      yield* run(0, "import", "openzeppelin", "config.json", "--skip-invalid", "--out", "oz.yaml")
      yield* run(
        0,
        "import",
        "rrelayer",
        "rrelayer.yaml",
        "--relayers",
        "list.json",
        "--skip-invalid",
        "--out",
        "rr.yaml"
      )
      for (const [command, text] of outputs) assert.deepStrictEqual(found(text), [], command)

      for (const file of ["plan.json", "oz.yaml", "rr.yaml"]) {
        const text = yield* Effect.promise(() => fs.readFile(path.join(home, file), "utf8"))
        assert.deepStrictEqual(found(text), [], file)
      }
      const moved = yield* Effect.promise(() => fs.readFile(path.join(home, "oz.secrets.env"), "utf8"))
      assert.isAbove(found(moved).length, 5, "the search finds what is there")

      // A key with notifications:write gets the whole URL of a webhook; a key that reads does not.
      const reader = yield* service.call("/api/v1/api-keys", {
        body: {
          name: "Reader",
          scopes: ["relayers:read", "signers:read", "networks:read", "notifications:read", "api-keys:read"]
        }
      })
      const { key } = (JSON.parse(reader.text) as { readonly data: { readonly key: string } }).data
      const lists = ["relayers", "signers", "notifications", "networks?per_page=100", "api-keys", "configuration"]
      for (const name of [...lists, "configuration/payments", "configuration/payments/document"]) {
        const { status, text } = yield* service.call(`/api/v1/${name}`, { key })
        assert.strictEqual(status, 200, name)
        assert.deepStrictEqual(found(text), [], name)
      }
      for (const name of ["audit?limit=100", "events?limit=100"]) {
        const { status, text } = yield* service.call(`/api/v1/${name}`)
        assert.strictEqual(status, 200, name)
        assert.include(text, "by-env", "the records are there")
        assert.deepStrictEqual(found(text), [], name)
      }
      assert.include(service.stdout() + service.stderr(), '"level":"DEBUG"')
      assert.deepStrictEqual(found(service.stdout() + service.stderr()), [], "the log")
      assert.isAtLeast(marks.length, 40)
    }).pipe(Effect.scoped)
  )
})

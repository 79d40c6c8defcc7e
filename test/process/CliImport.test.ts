// `effect-relayer import`: files, exit codes, and what the terminal shows.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { parse } from "yaml"
import { ran } from "../../testkit/process/Commands.ts"
import { folder } from "../../testkit/process/Folder.ts"

const secret = "correct horse battery staple"

const config = {
  relayers: [
    { id: "treasury", name: "Treasury", network: "sepolia", network_type: "evm", paused: true, signer_id: "hot" }
  ],
  signers: [{ id: "hot", type: "local", config: { path: "hot.json", passphrase: { type: "plain", value: secret } } }],
  notifications: [],
  networks: [{ type: "evm", network: "sepolia", chain_id: 11_155_111 }]
}

const prepared = Effect.gen(function* () {
  const home = yield* folder
  const write = (name: string, value: unknown) =>
    Effect.promise(() => fs.writeFile(path.join(home, name), typeof value === "string" ? value : JSON.stringify(value)))
  const read = (name: string) => Effect.promise(() => fs.readFile(path.join(home, name), "utf8"))
  const run = (...flags: ReadonlyArray<string>) => ran({ folder: home, flags: ["import", ...flags], env: {} })
  yield* write("config.json", config)
  yield* write("hot.json", {})
  return { home, write, read, run }
})

describe("import", () => {
  it.effect("the document and the secrets are written once, and no secret is shown", () =>
    Effect.gen(function* () {
      const { home, read, run } = yield* prepared
      const first = yield* run("openzeppelin", "config.json", "--name", "team")
      assert.strictEqual(first.code, 0, first.stderr)
      assert.match(
        first.stdout,
        /^wrote relayers\.yaml\nwrote relayers\.schema\.json: .*\nwrote relayers\.secrets\.env: .*\nrelayers\.yaml reads the variables HOT_PASSPHRASE\nnext: effect-relayer plan --file relayers\.yaml --env-file relayers\.secrets\.env\n$/
      )
      assert.notInclude(first.stdout + first.stderr + (yield* read("relayers.yaml")), secret)
      assert.strictEqual(yield* read("relayers.secrets.env"), `HOT_PASSPHRASE='${secret}'\n`)
      const { mode } = yield* Effect.promise(() => fs.stat(path.join(home, "relayers.secrets.env")))
      assert.strictEqual(mode & 0o777, 0o600)
      const second = yield* run("openzeppelin", "config.json")
      assert.strictEqual(second.code, 2)
      assert.match(second.stderr, /relayers\.yaml and relayers\.secrets\.env exists: --force overwrites it/)
      assert.strictEqual((yield* run("openzeppelin", "config.json", "--force")).code, 0)
    }).pipe(Effect.scoped)
  )

  it.effect("config.json is named after the folder of its service, so that two services do not share a name", () =>
    Effect.gen(function* () {
      const { home, read, run } = yield* prepared
      yield* Effect.promise(() => fs.mkdir(path.join(home, "payouts/config"), { recursive: true }))
      yield* Effect.promise(() => fs.mkdir(path.join(home, "not a name")))
      for (const place of ["payouts/config/config.json", "not a name/config.json", "treasury.json"]) {
        yield* Effect.promise(() => fs.copyFile(path.join(home, "config.json"), path.join(home, place)))
      }
      assert.strictEqual((yield* run("openzeppelin", "payouts/config/config.json")).code, 0)
      assert.include(yield* read("relayers.yaml"), "name: payouts\n")
      assert.strictEqual((yield* run("openzeppelin", "treasury.json", "--force")).code, 0)
      assert.include(yield* read("relayers.yaml"), "name: treasury\n")
      const refused = yield* run("openzeppelin", "not a name/config.json", "--force")
      assert.deepStrictEqual([refused.code, refused.stderr.includes("--name: is required")], [2, true])
    }).pipe(Effect.scoped)
  )

  it.effect("references to files are relative to the written file", () =>
    Effect.gen(function* () {
      const { home, read, run } = yield* prepared
      yield* Effect.promise(() => fs.mkdir(path.join(home, "out")))
      const ended = yield* run("openzeppelin", "config.json", "--out", "out/relayers.yaml")
      assert.strictEqual(ended.code, 0, ended.stderr)
      assert.include(yield* read("out/relayers.yaml"), "file: ../hot.json")
      assert.match(ended.stdout, / plan --file out\/relayers\.yaml .*--root \.\n$/)
    }).pipe(Effect.scoped)
  )

  it.effect("an editor finds the schema beside the file, and that of the package where it is installed", () =>
    Effect.gen(function* () {
      const { home, read, run } = yield* prepared
      yield* run("openzeppelin", "config.json")
      assert.match(yield* read("relayers.yaml"), /^# yaml-language-server: \$schema=\.\/relayers\.schema\.json\n/)
      const schema = new Ajv2020({ strict: false, validateFormats: false }).compile(
        JSON.parse(yield* read("relayers.schema.json")) as object
      )
      const imported: unknown = parse(yield* read("relayers.yaml"))
      assert.isTrue(schema(imported), JSON.stringify(schema.errors))
      assert.isFalse(schema({ version: 1, name: "a", relayers: { a: { gas_price_capp: 1 } } }))
      const packaged = path.join(home, "other/node_modules/effect-relayer")
      yield* Effect.promise(() => fs.mkdir(packaged, { recursive: true }))
      yield* Effect.promise(() => fs.writeFile(path.join(packaged, "relayers.schema.json"), "{}"))
      yield* run("openzeppelin", "config.json", "--out", "other/relayers.yaml")
      assert.match(
        yield* read("other/relayers.yaml"),
        /^# yaml-language-server: \$schema=\.\/node_modules\/effect-relayer\/relayers\.schema\.json\n/
      )
      assert.notInclude(yield* Effect.promise(() => fs.readdir(path.join(home, "other"))), "relayers.schema.json")
    }).pipe(Effect.scoped)
  )

  it.effect(
    "hosts that are not public are printed as one setting, and an import that leaves nothing writes no file",
    () =>
      Effect.gen(function* () {
        const { home, write, run } = yield* prepared
        const notifications = ["http://relay-api:8080/a", "http://hooks.example/b", "https://relay-api/c"].map(
          (url, index) => ({ id: `hook-${index}`, type: "webhook", url })
        )
        const networks = [{ ...config.networks[0], rpc_urls: ["http://10.1.2.3:8545"] }]
        yield* write("config.json", { ...config, networks, notifications })
        const ended = yield* run("openzeppelin", "config.json")
        assert.strictEqual(ended.code, 0, ended.stderr)
        assert.include(ended.stdout, "\nstart the service with OUTBOUND_ALLOW=10.1.2.3,relay-api,hooks.example\nnext: ")
        yield* write("empty.json", {
          ...config,
          relayers: [],
          networks: [],
          signers: [{ ...config.signers[0], id: "" }]
        })
        const left = yield* run("openzeppelin", "empty.json", "--skip-invalid", "--out", "empty.yaml")
        assert.strictEqual(left.code, 1)
        assert.match(left.stderr, /nothing is left to import without what is invalid \(1\): no file was written/)
        assert.notInclude(yield* Effect.promise(() => fs.readdir(home)), "empty.yaml")
      }).pipe(Effect.scoped)
  )

  it.effect("invalid input ends with 2 and writes nothing, unless it is left out", () =>
    Effect.gen(function* () {
      const { home, write, run } = yield* prepared
      yield* write("config.json", {
        ...config,
        notifications: [{ id: "ops", url: "ftp://hooks.example" }],
        plugins: [{ id: "swap" }]
      })
      const refused = yield* run("openzeppelin", "config.json")
      assert.strictEqual(refused.code, 2)
      assert.match(refused.stderr, /invalid +notifications\.0\.url +Expected an http or https URL/)
      assert.match(refused.stderr, /1 invalid: nothing was written/)
      assert.notInclude(yield* Effect.promise(() => fs.readdir(home)), "relayers.yaml")
      const strict = yield* run("openzeppelin", "config.json", "--skip-invalid", "--strict")
      assert.strictEqual(strict.code, 1)
      assert.include(yield* Effect.promise(() => fs.readdir(home)), "relayers.yaml")
    }).pipe(Effect.scoped)
  )

  it.effect("without the list of relayers, rrelayer is refused with the command that reads it", () =>
    Effect.gen(function* () {
      const { run, write } = yield* prepared
      yield* write("rrelayer.yaml", "name: team\n")
      const refused = yield* run("rrelayer", "rrelayer.yaml")
      assert.strictEqual(refused.code, 2)
      assert.match(refused.stderr, /the relayers of rrelayer are in its database: read them with curl/)
    }).pipe(Effect.scoped)
  )
})

// The blocks of docs/configuration-as-code.md: its file, its commands and its workflow, run beside a service as a reader would.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { parse } from "yaml"
import * as Keystores from "../../testkit/keystores.ts"
import { running } from "../../testkit/process/Commands.ts"
import * as Service from "../../testkit/process/Service.ts"

const root = path.resolve(import.meta.dirname, "../..")

const document = Effect.promise(() => fs.readFile(path.join(root, "docs/configuration-as-code.md"), "utf8"))

/** The blocks of a chapter in a language, without their indentation. */
const blocksOf = Effect.fnUntraced(function* (chapter: string, language: string) {
  const [, after = ""] = (yield* document).split(`\n## ${chapter}\n`)
  const [text = ""] = after.split("\n## ")
  return [...text.matchAll(new RegExp(`^( *)\`\`\`${language}\n([^]*?)^ *\`\`\``, "gm"))].map(
    ([, indent = "", block = ""]) => block.replaceAll(new RegExp(`^${indent}`, "gm"), "")
  )
})

/** Nothing listens there, so that no provider is asked. */
const nowhere = "http://127.0.0.1:9"

const withoutProviders = (text: string) =>
  text.replaceAll(/https:\/\/(eth-sepolia|ethereum-sepolia|sepolia\.drpc|1rpc)[\w.-]*/g, nowhere)

const world = Effect.gen(function* () {
  const { home, service } = yield* running({ OUTBOUND_ALLOW: "127.0.0.1" })
  const write = (name: string, text: string) =>
    Effect.promise(async () => {
      await fs.mkdir(path.dirname(path.join(home, name)), { recursive: true })
      await fs.writeFile(path.join(home, name), text)
    })
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    API_KEY: Service.apiKey,
    RELAYER_URL: service.baseUrl,
    RELAYER_ALCHEMY_KEY: "a-key",
    RELAYER_KEYSTORE_PASSPHRASE: Keystores.passphrase,
    RELAYER_WEBHOOK_SIGNING_KEY: "0123456789abcdef0123456789abcdef"
  }
  const functions = `effect-relayer() { '${process.execPath}' '${Service.main}' "$@"; }\nnpx() { "$@"; }\n`
  /** Runs a line of a block, and returns what it printed. */
  const paste = (line: string, expected: number) =>
    Effect.promise(
      () =>
        new Promise<string>((resolve, reject) => {
          execFile("bash", ["-c", `${functions}${line}`], { cwd: home, env }, (error, stdout, stderr) => {
            const code = error === null ? 0 : error.code
            if (code === expected) resolve(stdout)
            else reject(new Error(`${line}\nended with ${code}, not ${expected}: ${stdout}${stderr}`))
          })
        })
    )
  /** Runs the lines of a block, which end with these exit codes. */
  const pasteAll = Effect.fnUntraced(function* (block: string, codes: ReadonlyArray<number>) {
    const lines = block.trim().split("\n")
    assert.lengthOf(lines, codes.length, block)
    return yield* Effect.forEach(lines, (line, index) => paste(line, codes[index] ?? 0))
  })
  return { home, paste, pasteAll, service, write }
})

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: ReadonlyArray<{ readonly run?: string }> }>>
}

describe("docs/configuration-as-code.md", () => {
  it.live("has a file and commands that can be pasted, in their order", () =>
    Effect.gen(function* () {
      const { home, paste, pasteAll, write } = yield* world
      const [example = ""] = yield* blocksOf("The file", "yaml")
      yield* write("relayers.yaml", withoutProviders(example))
      yield* write("networks.yaml", "networks: {}\n")
      yield* write("teams/payments.yaml", "relayers: {}\n")
      yield* write("keys/treasury.json", JSON.stringify(Keystores.byPbkdf2))
      const [plan = ""] = yield* blocksOf("Plan", "sh")
      yield* pasteAll(plan, [0, 2, 2])
      const [apply = ""] = yield* blocksOf("Apply", "sh")
      yield* pasteAll(apply, [2, 0])
      const [text] = yield* pasteAll(plan, [0, 0, 0])
      assert.include(text, "no changes")

      // The jobs of the workflow, with a change of the file.
      const [workflow = ""] = yield* blocksOf("In continuous integration", "yaml")
      yield* Effect.promise(() => fs.mkdir(path.join(home, "relayers")))
      for (const name of ["relayers.yaml", "networks.yaml", "teams", "keys"]) {
        yield* Effect.promise(() =>
          fs.cp(path.join(home, name), path.join(home, "relayers", name), { recursive: true })
        )
      }
      yield* write("relayers/networks.yaml", "networks: {evm:acme: {from: sepolia}}\n")
      const steps = Object.values((parse(workflow) as Workflow).jobs).flatMap((job) => job.steps)
      const commands = steps.flatMap(({ run = "" }) => (run.startsWith("npx effect-relayer") ? [run] : []))
      assert.lengthOf(commands, 2)
      yield* pasteAll(commands.join("\n"), [0, 0])
      assert.include(
        yield* Effect.promise(() => fs.readFile(path.join(home, "plan.md"), "utf8")),
        "`networks.evm:acme`"
      )
      assert.include(yield* paste("effect-relayer networks get evm:acme", 0), "payments")

      const [exported = ""] = yield* blocksOf("Export", "sh")
      const [, payments] = yield* pasteAll(exported, [0, 0])
      assert.include(payments, "name: payments")
      assert.include(yield* Effect.promise(() => fs.readFile(path.join(home, "relayers.yaml"), "utf8")), "name: first")
    }).pipe(Effect.scoped)
  )

  it.live("moves the sample of OpenZeppelin Relayer as its runbook says", () =>
    Effect.gen(function* () {
      const { home, paste, pasteAll, write } = yield* world
      const sample = path.join(root, "test/import/samples/oz-1-basic")
      yield* Effect.promise(() => fs.cp(path.join(sample, "keys"), path.join(home, "config/keys"), { recursive: true }))
      yield* Effect.promise(() => fs.copyFile(path.join(sample, ".env"), path.join(home, ".env")))
      const config = yield* Effect.promise(() => fs.readFile(path.join(sample, "config.json"), "utf8"))
      yield* write("config/config.json", withoutProviders(config))

      const [moving = "", resuming = ""] = yield* blocksOf("Move accounts from a running service", "sh")
      const [imported = "", , applied = "", verified = "", listed = ""] = yield* pasteAll(moving, [0, 0, 0, 0, 0])
      assert.include(moving, /^next: (.*)$/m.exec(imported)?.[1] ?? "no command")
      assert.include(applied, "applied")
      assert.notInclude(verified, "failed")
      const { addresses } = JSON.parse(
        yield* Effect.promise(() => fs.readFile(path.join(sample, "expected.json"), "utf8"))
      ) as { readonly addresses: Record<string, string> }
      for (const [id, address] of Object.entries(addresses))
        assert.match(listed, new RegExp(`^${id} .*${address}`, "m"))
      const plan = moving.split("\n").find((line) => line.includes(" plan ")) ?? assert.fail("no plan")
      assert.include(yield* paste(`${plan} --detailed-exitcode`, 0), "no changes")
      assert.include(yield* paste("effect-relayer relayers get treasury", 0), "true")

      yield* pasteAll(resuming, [0, 0])
      assert.include(yield* paste(`${plan} --detailed-exitcode`, 2), "paused  false -> true")
    }).pipe(Effect.scoped)
  )
})

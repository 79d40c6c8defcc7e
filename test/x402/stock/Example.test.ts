// The commands of docs/x402.md, as printed: beside a development service, with the stock packages of x402.
// Programs run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import * as Development from "../../../testkit/process/Development.ts"
import { freePort } from "../../../testkit/process/Ports.ts"
import { until } from "../../../testkit/process/Folder.ts"

const root = path.resolve(import.meta.dirname, "../../..")

const [, trial = "", setup = ""] = fs.readFileSync(path.join(root, "docs/x402.md"), "utf8").split("\n## ")

const blocksOf = (language: string, chapter = trial) =>
  [...chapter.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, "g"))].map(([, block = ""]) => block.trim())

const [install = "", sell = "", buy = ""] = blocksOf("sh")
const [printed = ""] = blocksOf("text")
const [policy = "", facilitator = ""] = blocksOf("json", setup)

/** Amounts may be numbers or texts. */
const amounts = (_name: string, value: unknown): unknown => (typeof value === "number" ? String(value) : value)

/** The policy or the key of the page, with this token. */
const documented = (block: string, token: string): object => JSON.parse(block.replaceAll("0xTOKEN", token), amounts)

/** The account of the seller in examples/x402/parties.mjs. */
const payTo = "90f79bf6eb2c4f870365e785982e1f101e93b906"

/** What the seller has of the token. */
const received = (chainUrl: string, token: string) =>
  Effect.promise(async () => {
    const params = [{ to: token, data: `0x70a08231${payTo.padStart(64, "0")}` }, "latest"]
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_call", params })
    const headers = { "content-type": "application/json" }
    const answer = await fetch(chainUrl, { method: "POST", headers, body })
    return Number(((await answer.json()) as { readonly result: string }).result)
  })

/** A hash, an address or a port may be another one. */
const pattern = (text: string) =>
  new RegExp(
    text
      .replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
      .replaceAll(/0x[0-9a-f]{64}/g, "0x[0-9a-f]{64}")
      .replaceAll(/"served":\d+/g, '"served":\\d+')
  )

/** Runs a command line in the clone until the scope closes, with all processes that it starts. Returns what it has printed. */
const running = (command: string, env: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn("bash", ["-c", command], { cwd: root, env: { ...process.env, ...env }, detached: true })
      let output = ""
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding("utf8").on("data", (text: string) => {
          output += text
        })
      }
      return { child, output: () => output }
    }),
    ({ child }) =>
      Effect.promise(async () => {
        const closed = new Promise((resolve) => child.once("close", resolve))
        if (child.pid === undefined) return
        process.kill(-child.pid, "SIGTERM")
        await closed
      })
  )

describe("docs/x402.md", () => {
  it.live("sells and buys with the commands as printed, settles each payment once, and again after a restart", () =>
    Effect.gen(function* () {
      const place = yield* Development.place
      const { baseUrl, key, chainUrl, call } = yield* Development.start(place)
      const env = {
        RELAYER_URL: baseUrl,
        API_KEY: key,
        SELLER_PORT: String(yield* freePort),
        PATH: `${path.dirname(process.execPath)}:${process.env.PATH ?? ""}`
      }
      const { scripts } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"))
      assert.include(scripts["test:x402"], install, "the packages of the example are installed as the page says")

      const read = (at: string) =>
        Effect.map(call(`/api/v1/${at}`), ({ text }): object => JSON.parse(text, amounts).data)
      const tokens = new Set<string>()
      for (const round of [1, 2]) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            const seller = yield* running(sell, env)
            const token = yield* until(
              "the seller",
              Effect.sync(() => {
                if (seller.child.exitCode !== null) assert.fail(seller.output())
                return /^token: (0x[0-9a-f]{40})$/m.exec(seller.output())?.[1]
              })
            )
            tokens.add(token)
            assert.deepInclude(yield* read("relayers/x402"), { policies: documented(policy, token) })
            assert.deepInclude(yield* read("api-keys/x402"), documented(facilitator, token))
            const bought = yield* Effect.promise(() =>
              promisify(execFile)("bash", ["-c", buy], {
                cwd: root,
                env: { ...process.env, ...env, SELLER_URL: `http://127.0.0.1:${env.SELLER_PORT}/report` }
              })
            )
            assert.match(bought.stdout, pattern(printed))
            assert.strictEqual(yield* received(chainUrl, token), 1000 * round, "each purchase is paid once")
          })
        )
      }
      assert.strictEqual(tokens.size, 1, "a later run finds the token of the first one")
    })
  )

  it.live("is about an example that the package has without the packages that are installed for it", () =>
    Effect.gen(function* () {
      const { stdout } = yield* Effect.promise(() =>
        promisify(execFile)("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
          cwd: root,
          maxBuffer: 2 ** 26
        })
      )
      assert.isTrue(stdout.includes('"examples/x402/seller.mjs"'))
      assert.isFalse(stdout.includes('"examples/x402/node_modules/'))
    })
  )
})

// The blocks of docs/configuration-as-code.md and docs/moving.md: its file, its commands and its workflow, run beside a service as a
// reader would. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { parse } from "yaml"
import * as Keystores from "../../testkit/keystores.ts"
import { makeProgram, running } from "../../testkit/process/Commands.ts"
import * as Service from "../../testkit/process/Service.ts"

const root = path.resolve(import.meta.dirname, "../..")

const document = Effect.promise(async () => {
  const pages = ["docs/configuration-as-code.md", "docs/moving.md"].map((page) =>
    fs.readFile(path.join(root, page), "utf8")
  )
  return (await Promise.all(pages)).join("\n")
})

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
    PATH: `${yield* makeProgram}:${process.env.PATH}`,
    HOME: home,
    API_KEY: Service.apiKey,
    RELAYER_URL: service.baseUrl,
    RELAYER_ALCHEMY_KEY: "a-key",
    RELAYER_KEYSTORE_PASSPHRASE: Keystores.passphrase,
    RELAYER_WEBHOOK_SIGNING_KEY: "0123456789abcdef0123456789abcdef"
  }
  /** Runs a line of a block, and returns what it printed. */
  const paste = (line: string, expected: number) =>
    Effect.promise(
      () =>
        new Promise<string>((resolve, reject) => {
          execFile("bash", ["-c", `npx() { "$@"; }\n${line}`], { cwd: home, env }, (error, stdout, stderr) => {
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

interface Step {
  readonly run?: string
  readonly uses?: string
  readonly with?: { readonly name: string; readonly path: string }
}

interface Workflow {
  readonly env: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, { readonly steps: ReadonlyArray<Step> }>>
}

/** The number of the pull request, its commit, and the run of its job. */
const pull = { number: "7", head: "beef", run: "42" }

/**
 * A runner of GitHub: each job has a checkout of its own, each `run` is a script of `bash -e`, and `uses` do what those actions do. `npx` runs this
 * checkout. `gh` writes its arguments down and answers as GitHub would.
 */
const runner = Effect.gen(function* () {
  const { home, service, write } = yield* running()
  const [text = ""] = yield* blocksOf("In continuous integration", "yaml")
  const secrets: Readonly<Record<string, string>> = {
    "secrets.RELAYER_API_KEY": Service.apiKey,
    "secrets.RELAYER_WEBHOOK_SIGNING_KEY": "0123456789abcdef0123456789abcdef",
    "github.token": "a-token",
    "github.event.number": pull.number
  }
  const workflow = parse(
    text.replaceAll(/\$\{\{ ([\w.]+) \}\}/g, (_, name: string) => secrets[name] ?? assert.fail(`no value of ${name}`))
  ) as Workflow
  const program = (name: string, script: string) =>
    Effect.andThen(
      write(`bin/${name}`, `#!/bin/sh\n${script}`),
      Effect.promise(() => fs.chmod(path.join(home, "bin", name), 0o755))
    )
  yield* Effect.promise(() => fs.mkdir(path.join(home, "bin")))
  yield* program("npx", `[ "$1" = effect-relayer ] && exec "$@"\n`)
  yield* program(
    "gh",
    `printf '%s\\n' "$*" >> '${home}/gh.log'
case "$1 $2" in
  "api repos/acme/relayers/commits/c0ffee/pulls") echo ${pull.number} ;;
  "pr comment") cp "$5" '${home}/comment.md' ;;
  "pr view") echo ${pull.head} ;;
  "run list") echo ${pull.run} ;;
  "run download") cp '${home}'/artifacts/"$5"/* . ;;
  *) exit 1 ;;
esac
`
  )
  const env = {
    ...workflow.env,
    PATH: `${path.join(home, "bin")}:${yield* makeProgram}:${process.env.PATH ?? ""}`,
    HOME: home,
    RELAYER_URL: service.baseUrl,
    GITHUB_REPOSITORY: "acme/relayers",
    GITHUB_SHA: "c0ffee"
  }
  const script = (cwd: string, text: string) =>
    Effect.promise(
      () =>
        new Promise<{ readonly code: unknown; readonly output: string }>((resolve) => {
          execFile("bash", ["-e", "-c", text], { cwd, env }, (error, stdout, stderr) =>
            resolve({ code: error === null ? 0 : error.code, output: stdout + stderr })
          )
        })
    )
  const uses: Readonly<Record<string, (checkout: string, step: Step) => Promise<void>>> = {
    "actions/checkout@v4": (checkout) =>
      fs.cp(path.join(home, "relayers"), path.join(checkout, "relayers"), { recursive: true }),
    "actions/upload-artifact@v4": (checkout, { with: { name, path: file } = { name: "", path: "" } }) =>
      fs.cp(path.join(checkout, file), path.join(home, "artifacts", name, file))
  }
  /** Runs the steps of a job until one fails. */
  const job = Effect.fnUntraced(function* (name: string) {
    const checkout = yield* Effect.promise(() => fs.mkdtemp(path.join(home, `${name}-`)))
    let output = ""
    for (const step of workflow.jobs[name]?.steps ?? assert.fail(`no job ${name}`)) {
      if (step.run === undefined) {
        const action = uses[step.uses ?? ""] ?? assert.fail(`no action ${step.uses}`)
        yield* Effect.promise(() => action(checkout, step))
        continue
      }
      const ended = yield* script(checkout, step.run)
      output += ended.output
      if (ended.code !== 0) return { code: ended.code, output }
    }
    return { code: 0, output }
  })
  const read = (name: string) => Effect.promise(() => fs.readFile(path.join(home, name), "utf8"))
  const configuration = (url: string) =>
    Effect.promise(async () => {
      await fs.mkdir(path.join(home, "relayers"), { recursive: true })
      const ops = `{url: "${url}", signing_key: {env: RELAYER_WEBHOOK_SIGNING_KEY}}`
      await fs.writeFile(
        path.join(home, "relayers/relayers.yaml"),
        `version: 1\nname: payments\nnotifications:\n  ops: ${ops}\n`
      )
    })
  return { configuration, job, read, service }
})

describe("docs/configuration-as-code.md", () => {
  it.live("has a file and commands that can be pasted, in their order", () =>
    Effect.gen(function* () {
      const { home, pasteAll, write } = yield* world
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

      const [exported = ""] = yield* blocksOf("Export", "sh")
      const [, payments] = yield* pasteAll(exported, [0, 0])
      assert.include(payments, "name: payments")
      assert.include(yield* Effect.promise(() => fs.readFile(path.join(home, "relayers.yaml"), "utf8")), "name: first")
    }).pipe(Effect.scoped)
  )

  it.live(
    "has a workflow that posts the plan of a pull request, and applies this plan after the merge and no other",
    () =>
      Effect.gen(function* () {
        const { configuration, job, read, service } = yield* runner
        const urlOf = Effect.map(service.call("/api/v1/notifications/ops"), ({ text }) => text)
        yield* configuration("https://hooks.example.com/one")
        const planned = yield* job("plan")
        assert.strictEqual(planned.code, 0, planned.output)
        assert.include(yield* read("comment.md"), "`notifications.ops`")
        const applied = yield* job("apply")
        assert.strictEqual(applied.code, 0, applied.output)
        assert.include(applied.output, "applied 1 change")
        assert.deepStrictEqual((yield* read("gh.log")).trim().split("\n"), [
          `pr comment ${pull.number} --body-file plan.md --edit-last --create-if-none`,
          `api repos/acme/relayers/commits/c0ffee/pulls --jq .[0].number`,
          `pr view ${pull.number} --json headRefOid --jq .headRefOid`,
          `run list --workflow relayers --event pull_request --commit ${pull.head} --json databaseId --jq .[0].databaseId`,
          `run download ${pull.run} --name plan-${pull.number}`
        ])
        assert.include(yield* urlOf, "https://hooks.example.com/one")

        yield* configuration("https://other.example.com/two")
        assert.strictEqual((yield* job("plan")).code, 0)
        const changed = { method: "PATCH", body: { url: "https://by-hand.example.com/three" } }
        assert.strictEqual((yield* service.call("/api/v1/notifications/ops", changed)).status, 200)
        const refused = yield* job("apply")
        assert.strictEqual(refused.code, 1, refused.output)
        assert.match(
          refused.output,
          /notifications\.ops: has changed since the plan, at \d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z by the administrator \(url\)/
        )
        assert.include(yield* urlOf, "by-hand.example.com")
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

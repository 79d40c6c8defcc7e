// Sentences of the documents that first users found to be false, or to contradict another one, do not come back.
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { baseline, lastReader } from "../src/sql/migrations/Former.ts"

const root = path.resolve(import.meta.dirname, "..")
const read = (file: string) => fs.readFileSync(path.join(root, file), "utf8")

const documents = ["README.md", "SECURITY.md", "CONTRIBUTING.md", ...fs.readdirSync(path.join(root, "docs"))]
  .filter((name) => name.endsWith(".md"))
  .map((name) => (fs.existsSync(path.join(root, name)) ? name : `docs/${name}`))

/** Documents in folders of docs, such as decisions. */
const folderDocuments = fs
  .readdirSync(path.join(root, "docs"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md") && name.includes(path.sep))
  .map((name) => `docs/${name}`)

const withoutCode = (text: string) => text.replaceAll(/^ *```[^]*?^ *```/gm, "").replaceAll(/`[^`\n]*`/g, "`")

/** Links to other files and chapters. Those to the web are not followed. */
const linksOf = (file: string): ReadonlyArray<string> =>
  [...withoutCode(read(file)).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link))

/** The names of the chapters of a document, as GitHub makes them. */
const chaptersOf = (file: string): ReadonlySet<string> =>
  new Set(
    [
      ...read(file)
        .replaceAll(/^ *```[^]*?^ *```/gm, "")
        .matchAll(/^#+ (.+)$/gm)
    ].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-")
    )
  )

/** Sentences may be broken at any space. */
const wordsOf = (file: string) => read(file).replaceAll(/\s+/g, " ")

const documentsWith = (pattern: RegExp) => documents.filter((file) => pattern.test(wordsOf(file)))

describe("the documents", () => {
  it("name files of the sources that exist", () => {
    const sources = new Set(
      fs.globSync("{src,test,testkit,packages,scripts,faults,bench,field,web,tools}/**/*.{ts,tsx,mjs}", {
        cwd: root,
        exclude: (name) => name === "node_modules" || name === "dist"
      })
    )
    const has = (name: string) => [...sources].some((file) => `/${file}`.endsWith(`/${name}`))
    /** Files that a contributor makes. */
    const isNew = (name: string) => /(^|\/)(X[A-Z]\w+|Mine)\.ts$/.test(name)
    const named = [...documents, "AGENTS.md"].flatMap((file) =>
      [...read(file).matchAll(/`([\w./-]*\b[A-Z]\w+(?:\.test)?\.ts)`/g)].map(([, name = ""]) => `${file}: ${name}`)
    )
    assert.isAbove(named.length, 50)
    assert.deepStrictEqual(
      named.filter((one) => {
        const [, name = ""] = one.split(": ")
        return !isNew(name) && !has(name)
      }),
      []
    )
  })

  it("name tests of the console that exist", () => {
    const folders = ["test/server/console", "test/console", "tools/browser"]
    const files = folders.flatMap((folder) =>
      fs
        .readdirSync(path.join(root, folder))
        .filter((name) => name.endsWith(".test.ts"))
        .map((name) => `${folder}/${name}`)
    )
    const tests = files.map(read).join("\n")
    const rows = read("docs/security/console.md")
      .split("\n")
      .filter((line) => line.startsWith("| "))
    const columns = rows.slice(1).map((row) => row.split(" | ").at(-1) ?? "")
    const named = columns.flatMap((column) => [...column.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name))
    assert.isAbove(named.length, rows.length)
    assert.isEmpty(named.filter((name) => !tests.includes(name)))
    const namedFiles = columns.flatMap((column) => column.match(/\w+\.test\.ts/g) ?? [])
    assert.isEmpty(namedFiles.filter((name) => !files.some((file) => file.endsWith(`/${name}`))))
  })

  it("have two ways to upgrade, and refuse a start only beside versions that do not work on the new schema", () => {
    assert.isEmpty(documentsWith(/rolling upgrades need nothing else/i))
    const upgrade = wordsOf("docs/upgrade.md")
    for (const chapter of ["### Stop and start", "### Rolling"]) assert.include(upgrade, chapter)
    assert.include(upgrade, "If a change of the schema is not compatible, the start is refused")
    assert.notMatch(upgrade, /(?<!not compatible, the )start is refused[^.]*while an instance of an earlier version/i)
    assert.include(
      wordsOf("docs/operate.md"),
      "two ways: stop and start, or rolling if the notes of the release allow it"
    )
  })

  it("name the last version that reads databases from before the baseline, as the refusal does", () => {
    const upgrade = wordsOf("docs/upgrade.md")
    assert.include(upgrade, `The refusal names the last commit that reads such a database, \`${lastReader}\``)
    assert.include(upgrade, `git checkout ${lastReader} && npm ci`)
    assert.include(upgrade, `## Databases from before schema ${baseline}`)
  })

  it("use the word mark of the schema for the number in the database only, and name no release that does not exist", () => {
    const upgrade = wordsOf("docs/upgrade.md")
    assert.notMatch(upgrade, /change of the schema has a mark|knows the mark/)
    assert.include(upgrade, "The database has a _mark_: the number of the oldest schema whose versions may work on it.")
    // The version from which on a promise holds, and that of an example.
    const named = new Set(upgrade.match(/\b\d+\.\d+\.\d+\b/g))
    assert.deepStrictEqual([...named], ["1.0.0", "1.2.3"])
  })

  it("have the five words for what providers say in the glossary, in their order", () => {
    const glossary = read("docs/glossary.md")
    for (const word of ["answer", "view", "verdict", "decision", "command"]) {
      assert.match(glossary, new RegExp(`^\\| ${word} +\\| `, "m"))
    }
    assert.match(wordsOf("docs/glossary.md"), /_answer_.* _view_.* _verdict_.* _decision_.* _command_/)
  })

  it("name each POST that takes no Idempotency-Key, and no other", () => {
    const paths: Readonly<
      Record<string, { readonly post?: { readonly parameters?: ReadonlyArray<{ readonly $ref?: string }> } }>
    > = JSON.parse(read("openapi.json")).paths
    const without = Object.entries(paths).flatMap(([path, { post }]) =>
      post === undefined || post.parameters?.some(({ $ref }) => $ref?.endsWith("/IdempotencyKey") === true) === true
        ? []
        : [path]
    )
    const [, said = ""] = /These take none: ([^\n]*)/.exec(read("docs/api.md")) ?? []
    const named = [...said.matchAll(/`(\/[a-z/]+)`/g)].map(([, path = ""]) => path)
    assert.isAbove(without.length, 3)
    for (const path of without)
      assert.lengthOf(
        named.filter((end) => path.endsWith(end)),
        1,
        path
      )
    assert.lengthOf(named, without.length)
  })

  it("have the same sizes of the client in its README and in the guide for host programs", () => {
    const sizes = /`@effect-relayer\/client[^`]*`[^|]*\|[^|]*\| (\d+)(?:, with Effect)? *\|/g
    const ofReadme = [...read("packages/client/README.md").matchAll(sizes)].map(([, size]) => Number(size))
    const guide = read("docs/embed.md").matchAll(/\| (\d+) kB(?:, and (\d+) kB of Effect)? *\|$/gm)
    const ofGuide = [...guide].map(([, own, effect = "0"]) => Number(own) + Number(effect))
    const [withEffect, promise, , node] = ofReadme
    assert.deepStrictEqual([withEffect, promise, node], ofGuide)
    assert.include(read("packages/client/README.md"), `Of ${withEffect} kB, 44 are this package`)
  })

  it("link to files and chapters that exist", () => {
    const all = [...documents, ...folderDocuments]
    const broken = all.flatMap((file) =>
      linksOf(file)
        .filter((link) => {
          const [name = "", chapter] = link.split("#")
          const target = name === "" ? file : path.join(path.dirname(file), name)
          if (!fs.existsSync(path.join(root, target))) return true
          return chapter !== undefined && target.endsWith(".md") && !chaptersOf(target).has(chapter)
        })
        .map((link) => `${file}: ${link}`)
    )
    assert.deepStrictEqual(broken, [])
    for (const file of ["docs/moving.md", "docs/configuration-as-code.md", "docs/upgrade.md"]) {
      assert.isNotEmpty(linksOf(file), file)
    }
  })

  it("are all in the page for the three readers, whose tables and those of the console can be read as text", () => {
    const listed = new Set(linksOf("docs/README.md").map((link) => link.split("#")[0]))
    const others = fs
      .readdirSync(path.join(root, "docs"))
      .filter((name) => name.endsWith(".md") && name !== "README.md")
    assert.isEmpty(others.filter((name) => !listed.has(name)))
    for (const chapter of ["You use the service", "You operate it", "You build on it"])
      assert.include(read("docs/README.md"), `\n## ${chapter}\n`)
    const longestCell = 120
    for (const file of ["docs/README.md", "docs/console.md"]) {
      const cells = (read(file).match(/^\|.*\|$/gm) ?? []).flatMap((row) => row.split("|").map((cell) => cell.trim()))
      assert.isEmpty(cells.filter((cell) => !/^-+$/.test(cell) && cell.length > longestCell))
    }
  })

  it("say how to back up a version that has no command for it", () => {
    assert.match(
      wordsOf("docs/upgrade.md"),
      /A version without this command: `pg_dump` of `DATABASE_URL`; for an embedded/
    )
  })

  it("say that transactions to disabled relayers are accepted and wait", () => {
    assert.isEmpty(documentsWith(/take no transactions/i))
    assert.match(wordsOf("docs/operate.md"), /disabled relayers\. What is sent to them is accepted, and waits/)
  })

  it("say once that warnings about Node can be ignored, and once what runs the flake, each where it is needed", () => {
    assert.deepStrictEqual(documentsWith(/flake\.nix/), ["docs/install.md"])
    for (const file of documents) assert.isAtMost(wordsOf(file).split("EBADENGINE").length - 1, 1, file)
  })

  it("name the services that send, and how values for property tests are made, for host programs", () => {
    const embed = wordsOf("docs/embed.md")
    for (const name of ["`Transactions`", "`Nonces`", "`MessageSigning`", "Arbitrary.schema("])
      assert.include(embed, name)
  })

  it("say that balances of single relayers are measured only with METRICS_PER_RELAYER=on, where alerts need them", () => {
    for (const file of ["docs/operate.md", "deploy/monitoring/effect-relayer-rules.yaml"]) {
      assert.include(read(file), "METRICS_PER_RELAYER=on", file)
    }
  })

  it("say what stellar and solana were tested on, and for stellar what an operator does about each trouble", () => {
    assert.match(wordsOf("docs/stellar.md"), /No test has run against stellar-core: the tests run against a stand-in/)
    for (const name of ["docs/stellar.md", "docs/solana.md"]) assert.include(wordsOf("README.md"), `(${name})`)
    assert.include(wordsOf("SECURITY.md"), "(docs/security/stellar.md)")
    const operate = wordsOf("docs/operate.md")
    const troubles = [
      "ledger_stalled",
      "clock_skew",
      "store_too_short",
      "protocol_unknown",
      "nonce_taken_too_often",
      "nonce_taken_unproven"
    ]
    for (const code of [...troubles, "stellar_sequences_taken_total", "stellar_channels", "channels.count"]) {
      assert.include(operate, `\`${code}\``, code)
    }
  })

  it("keep proofs beside what they prove, and open SECURITY.md with how to report", () => {
    for (const proof of ["faults.md", "performance.md", "transactions-failures.md"]) {
      assert.isFalse(fs.existsSync(path.join(root, "docs", proof)), proof)
    }
    assert.match(read("SECURITY.md"), /^# Security\n\n## Reporting\n/)
    assert.isAtMost(read("README.md").trimEnd().split("\n").length, 140)
    assert.isAtMost(read("docs/architecture.md").trimEnd().split("\n").length, 200)
  })
})

describe("the first change of CONTRIBUTING.md", () => {
  it("applies to the sources as they are", () => {
    const [, patch = ""] = /git apply <<'EOF'\n([^]*?\n)EOF\n/.exec(read("CONTRIBUTING.md")) ?? []
    const { status, stderr } = spawnSync("git", ["apply", "--check"], { cwd: root, input: patch, encoding: "utf8" })
    assert.strictEqual(status, 0, stderr)
    assert.include(patch, "src/domain/relayer/Policy.ts")
  })
})

describe("the first lines of an example", () => {
  for (const file of fs.readdirSync(path.join(root, "examples")).filter((name) => name.endsWith(".ts"))) {
    it(`of ${file} name no command that fails in a clone`, () => {
      assert.notMatch(read(`examples/${file}`).split("\nimport ")[0] ?? "", /^\/\/ +node examples\//m)
    })
  }
})

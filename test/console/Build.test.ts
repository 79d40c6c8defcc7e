// The build of the console: what the first visit loads, and what the page may not contain.
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { build } from "../../scripts/console/build.ts"

const target = fs.mkdtempSync(path.join(os.tmpdir(), "effect-relayer-console-"))

/** Bytes, compressed. The promise to users is 250 kB. */
const firstLoadLimit = 200_000

await build(target)
afterAll(() => fs.rmSync(target, { recursive: true }))
const page = fs.readFileSync(path.join(target, "index.html"), "utf8")
const named = [...page.matchAll(/"\/console\/([^"]+)"/g)].flatMap(([, name]) => name ?? [])
const size = (name: string) => fs.statSync(path.join(target, name)).size

/** Modules that the scripts of the page import at once. A plot imports its library when it is shown. */
const importedAtOnce = (name: string): ReadonlyArray<string> => {
  const code = fs.readFileSync(path.join(target, name), "utf8")
  const names = [...code.matchAll(/(?:from|import)\s*["'`]\.\/([^"'`]+)["'`]/g)].flatMap(([, file]) => file ?? [])
  return [name, ...names.flatMap(importedAtOnce)]
}

describe("the build of the console", () => {
  it("names a stylesheet and two scripts in the page, which exist, with compressed copies", () => {
    assert.strictEqual(named.length, 3)
    for (const name of named) {
      assert.match(name, /^[a-z]+-[\w-]{8}\.(css|js)$/)
      assert.isAbove(size(name), 0)
      assert.isAbove(size(`${name}.br`), 0)
    }
  })

  it("loads at most 200 kB, compressed, at the first visit", () => {
    const files = new Set(named.flatMap((name) => (name.endsWith(".js") ? importedAtOnce(name) : [name])))
    const bytes = [...files].map((name) => size(`${name}.br`)).reduce((sum, bytes) => sum + bytes, size("index.html"))
    assert.isBelow(bytes, firstLoadLimit)
  })

  it("loads the library of plots later, when a plot is shown", () => {
    const plots = fs.readdirSync(target).filter((name) => /^uPlot.*\.js$/.test(name))
    assert.strictEqual(plots.length, 1)
    for (const name of named.filter((name) => name.endsWith(".js"))) {
      assert.notInclude(importedAtOnce(name), plots[0])
    }
  })

  it("has no inline script or style, which the content security policy refuses", () => {
    assert.notMatch(page, /<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:/i)
  })

  it("passes on the licences of the packages in the bundle", () => {
    const licenses = fs.readFileSync(path.join(target, "LICENSES"), "utf8")
    for (const name of ["preact", "preact-iso", "uplot"]) assert.match(licenses, new RegExp(`^${name}$`, "m"))
  })

  it("replaces no file that stays the same, because a service may read it, and removes files of an older build", async () => {
    const written = () =>
      new Map(fs.readdirSync(target).map((name) => [name, fs.statSync(path.join(target, name)).ino]))
    const before = written()
    fs.writeFileSync(path.join(target, "main-old.js"), "")
    await build(target)
    assert.deepStrictEqual(written(), before)
  })
})

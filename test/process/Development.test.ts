// `effect-relayer dev`: what it starts, keeps, opens, reaches and leaves. Processes run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import { promisify } from "node:util"
import * as LocalEvm from "../../src/process/development/LocalEvm.ts"
import * as LocalSolana from "../../src/process/development/LocalSolana.ts"
import * as LocalStellar from "../../src/process/development/LocalStellar.ts"
import * as JsonRpc from "../../testkit/JsonRpc.ts"
import * as Development from "../../testkit/process/Development.ts"
import { isGone, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const usualStates = ["pending", "sent", "submitted", "mined", "confirmed"]

/** A closed ledger is final. */
const stellarStates = ["pending", "sent", "submitted", "confirmed"]

const stopped = { code: 0, signal: null }

/** The number of transactions of the account that are on the chain. */
const count = (chainUrl: string, address: string) =>
  Effect.map(JsonRpc.call(chainUrl)("eth_getTransactionCount", [address, "latest"]), Number)

/** Whether the chain has the first transaction of the solana relayer, finalized and without an error. */
const isFinalized = ({ chainUrl, signature }: { readonly chainUrl: string; readonly signature: string }) =>
  Effect.map(JsonRpc.call(chainUrl)("getSignatureStatuses", [[signature]]), (answer) => {
    const [status] = (answer as { readonly value: ReadonlyArray<Record<string, unknown> | null> }).value
    return status?.["confirmationStatus"] === "finalized" && status["err"] === null
  })

/** Whether the ledger has the first transaction of the stellar relayer, without an error. */
const isApplied = ({ chainUrl, hash }: { readonly chainUrl: string; readonly hash: string }) =>
  Effect.map(
    JsonRpc.call(chainUrl)("getTransaction", { hash }),
    (answer) => (answer as { readonly status?: string }).status === "SUCCESS"
  )

const paste = (command: string) =>
  Effect.promise(() => promisify(execFile)("bash", ["-e", "-c", command], { env: { PATH: process.env.PATH } }))

/** Addresses of /proc/net on which a process listens. IPv4 is in the order of the machine, little-endian. */
const listeners = async (pid: number): Promise<ReadonlyArray<string>> => {
  const links = (await fs.readdir(`/proc/${pid}/fd`)).map((fd) => fs.readlink(`/proc/${pid}/fd/${fd}`).catch(() => ""))
  const inodes = new Set((await Promise.all(links)).map((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1]))
  const listening = "0A"
  const tables = await Promise.all(["tcp", "tcp6"].map((name) => fs.readFile(`/proc/${pid}/net/${name}`, "utf8")))
  return tables.flatMap((table) =>
    table
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === listening && inodes.has(fields[9]))
      .map((fields) => fields[1]?.split(":")[0] ?? "")
  )
}

const loopback = "0100007F"

describe.concurrent("effect-relayer dev", () => {
  it.live("sends a transaction, shows each state until it is confirmed, and prints key, command and pages", () =>
    Effect.gen(function* () {
      const place = yield* Development.place
      const dev = yield* Development.start(place)
      assert.match(dev.text, /^effect-relayer dev is for development, NOT FOR PRODUCTION/)
      assert.deepStrictEqual(dev.states, usualStates)
      assert.strictEqual(
        dev.key,
        (yield* Effect.promise(() => fs.readFile(path.join(place.data, "api-key"), "utf8"))).trim()
      )
      assert.strictEqual(yield* count(dev.chainUrl, dev.address), 1)

      assert.deepStrictEqual(dev.solana.states, usualStates)
      assert.isTrue(yield* isFinalized(dev.solana))

      assert.deepStrictEqual(dev.stellar.states, stellarStates)
      assert.isTrue(yield* isApplied(dev.stellar))

      assert.strictEqual(dev.curls.length, 3)
      for (const curl of dev.curls) {
        const { stdout } = yield* paste(curl)
        assert.deepInclude(JSON.parse(stdout), { success: true })
      }
      yield* until(
        "the transaction of the printed command",
        Effect.map(count(dev.chainUrl, dev.address), (sent) => (sent === 2 ? true : undefined))
      )
      const pages = [...dev.text.matchAll(/^ {2}(http:\S+) {2,}\S/gm)].map(([, page = ""]) => page)
      assert.include(pages, `${dev.baseUrl}/docs`)
      for (const page of pages) assert.strictEqual((yield* Service.call(page)).status, 200, page)
      assert.strictEqual(dev.stderr(), "")
    })
  )

  it.live("leaves no process after Ctrl+C, and finds chain, relayers and key again at the next start", () =>
    Effect.gen(function* () {
      const place = yield* Development.place
      const first = yield* Development.start(place)
      const relayer = yield* first.call("/api/v1/relayers/dev-evm")
      yield* first.kill("SIGINT")
      assert.deepStrictEqual(yield* first.exited, stopped)
      assert.isEmpty(yield* Development.processes(place))

      const second = yield* Development.start(place)
      assert.strictEqual(second.key, first.key)
      assert.strictEqual((yield* second.call("/api/v1/relayers/dev-evm")).text, relayer.text)
      const receipt = yield* JsonRpc.call(second.chainUrl)("eth_getTransactionReceipt", [first.hash])
      assert.propertyVal(receipt, "status", "0x1")
      assert.strictEqual(yield* count(second.chainUrl, second.address), 2)
      assert.deepStrictEqual(second.states, usualStates)
      assert.strictEqual(second.solana.address, first.solana.address)
      assert.notStrictEqual(second.solana.signature, first.solana.signature)
      assert.deepStrictEqual(second.solana.states, usualStates)
      for (const { signature } of [first.solana, second.solana]) {
        assert.isTrue(yield* isFinalized({ ...second.solana, signature }))
      }
      assert.strictEqual(second.stellar.address, first.stellar.address)
      assert.deepStrictEqual(second.stellar.states, stellarStates)
      for (const { hash } of [first.stellar, second.stellar]) {
        assert.isTrue(yield* isApplied({ ...second.stellar, hash }))
      }
      yield* second.kill("SIGTERM")
      assert.deepStrictEqual(yield* second.exited, stopped)
      assert.isEmpty(yield* Development.processes(place))
    })
  )

  it.live("goes on after kill -9, of the service or of everything, and begins anew with --reset", () =>
    Effect.gen(function* () {
      const place = yield* Development.place
      const first = yield* Development.start(place)
      const left = (yield* Development.processes(place)).filter(({ pid }) => pid !== first.pid)
      assert.isAtLeast(left.length, 3, "the chains and PostgreSQL")
      yield* first.kill("SIGKILL")
      yield* first.exited
      const second = yield* Development.start(place)
      for (const { pid } of left) assert.isTrue(yield* isGone(pid))
      assert.deepStrictEqual(second.states, usualStates)
      assert.strictEqual(yield* count(second.chainUrl, second.address), 2)

      for (const { pid } of yield* Development.processes(place)) process.kill(pid, "SIGKILL")
      yield* second.exited
      const third = yield* Development.start(place)
      assert.deepStrictEqual(third.states, usualStates)
      assert.isTrue(yield* isFinalized({ ...third.solana, signature: first.solana.signature }))
      assert.isTrue(yield* isApplied({ ...third.stellar, hash: first.stellar.hash }))
      assert.strictEqual(yield* count(third.chainUrl, third.address), 3)
      assert.deepStrictEqual(yield* Service.stop(third), stopped)
      assert.isEmpty(yield* Development.processes(place))

      const anew = yield* Development.start(place, { flags: ["--reset"] })
      assert.notStrictEqual(anew.key, first.key)
      assert.notStrictEqual(anew.address, first.address)
      assert.isNull(yield* JsonRpc.call(anew.chainUrl)("eth_getTransactionReceipt", [first.hash]))
      assert.deepStrictEqual(anew.states, usualStates)
      yield* Service.stop(anew)
    })
  )

  it.live("listens on loopback only, and reaches no URL but its chain", () =>
    Effect.gen(function* () {
      const place = yield* Development.place
      const dev = yield* Development.start(place, { env: { HOST: "0.0.0.0", OUTBOUND_ALLOW: "127.0.0.0/8" } })
      assert.include(dev.text, "effect-relayer dev does not use these settings: HOST, DATA_DIR, OUTBOUND_ALLOW, WATCH.")
      const all = yield* Development.processes(place)
      const open = yield* Effect.promise(() => Promise.all(all.map(({ pid }) => listeners(pid))))
      assert.deepStrictEqual(open.flat(), [loopback, loopback, loopback, loopback], "the service and its chains")

      const refusal = "leads elsewhere than to the chains of effect-relayer dev"
      for (const url of ["https://rpc.example.com", "http://127.0.0.1:9", "http://localhost:8545"]) {
        const network = yield* dev.call("/api/v1/networks/evm:dev", { method: "PATCH", body: { rpc_urls: [url] } })
        assert.strictEqual(network.status, 400, network.text)
        const notification = yield* dev.call("/api/v1/notifications", { body: { url } })
        assert.strictEqual(notification.status, 400, notification.text)
        if (!url.includes("localhost")) assert.include(notification.text, refusal)
      }
      const own = yield* dev.call("/api/v1/networks/evm:dev", { method: "PATCH", body: { rpc_urls: [dev.chainUrl] } })
      assert.strictEqual(own.status, 200, own.text)
      yield* Service.stop(dev)
    })
  )

  it.live("refuses DATABASE_URL, the data of another service, and a second start, and ends with its chain", () =>
    Effect.gen(function* () {
      const place = yield* Development.place
      const withDatabase = yield* Development.refused(place, { env: { DATABASE_URL: "postgres://relayer@db/relayer" } })
      assert.strictEqual(withDatabase.code, 1)
      assert.match(withDatabase.stderr, /^effect-relayer: [^\n]+refuses DATABASE_URL[^\n]+\n$/)

      const file = path.join(place.data, "storage-encryption-key")
      yield* Effect.promise(() => fs.mkdir(place.data))
      yield* Effect.promise(() => fs.writeFile(file, "of another service"))
      for (const flags of [[], ["--reset"]]) {
        const { code, stderr } = yield* Development.refused(place, { flags })
        assert.strictEqual(code, 1)
        assert.include(stderr, `${place.data} is not a data directory of effect-relayer dev`)
      }
      assert.strictEqual(yield* Effect.promise(() => fs.readFile(file, "utf8")), "of another service")
      yield* Effect.promise(() => fs.rm(file))

      const dev = yield* Development.start(place)
      for (const flags of [[], ["--reset"]]) {
        const { code, stderr } = yield* Development.refused(place, { flags })
        assert.strictEqual(code, 1)
        assert.match(
          stderr,
          /is in use by effect-relayer process \d+ on \S+: stop it first, or choose another --data-dir\n$/
        )
      }
      assert.strictEqual((yield* dev.call("/api/v1/relayers/dev-evm")).status, 200)

      const anvil = (yield* Development.processes(place)).find(({ args }) => args[0]?.endsWith("anvil"))
      process.kill(anvil?.pid ?? assert.fail("no anvil"), "SIGKILL")
      assert.deepStrictEqual(yield* dev.exited, { code: 1, signal: null })
      assert.match(dev.stderr(), /^effect-relayer: anvil ended with SIGKILL: start effect-relayer dev again\n$/)
      assert.isEmpty(yield* Development.processes(place))
    })
  )

  it.live("starts its chain on the usual port, or on a free one if other chains are started at the same time", () =>
    Effect.gen(function* () {
      const { data } = yield* Development.place
      const start = yield* LocalEvm.network.find
      const names = ["one", "two", "three", "four"]
      const chains = yield* Effect.forEach(names, (name) => start(path.join(data, name)), { concurrency: "unbounded" })
      assert.strictEqual(new Set(chains.map(({ url }) => url)).size, names.length)
      const others = chains.filter(({ url, usualPort }) => new URL(url).port !== String(usualPort))
      assert.isAtLeast(others.length, names.length - 1)
      for (const { url } of chains) {
        assert.strictEqual(yield* JsonRpc.call(url)("eth_chainId", []), "0x7a69")
      }
    })
  )

  it.live("says that solana and stellar need a clone if the stand-ins of the tests are missing", () =>
    Effect.gen(function* () {
      const { home } = yield* Development.place
      const solana = yield* Effect.flip(LocalSolana.findProgram(home))
      assert.strictEqual(
        solana.message,
        "the local solana network needs a clone of the repository: its cluster is not part of the package"
      )
      const stellar = yield* Effect.flip(LocalStellar.findProgram(home))
      assert.strictEqual(
        stellar.message,
        "the local stellar network needs a clone of the repository: its stand-in ledger is not part of the package"
      )
    })
  )

  it.live("says what to install if anvil is missing", () =>
    Effect.gen(function* () {
      const { home } = yield* Development.place
      const missing = yield* Effect.flip(LocalEvm.findProgram(path.join(home, "index.js"), path.join(home, "anvil")))
      assert.include(missing.message, "npm install --save-dev @foundry-rs/anvil")
      const present = yield* LocalEvm.findProgram(import.meta.filename, path.join(home, "anvil"))
      assert.match(present.program, /anvil$/)
      assert.match(present.version, /^\d+\.\d+\.\d+(\+[0-9a-f]{7,})?$/)
    })
  )
})

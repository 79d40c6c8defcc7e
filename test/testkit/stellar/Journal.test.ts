// The stand-in ledger as a process, and the directory in which it keeps its ledgers.
import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { envelope, passphrase, payment } from "../../../testkit/stellar/Building.ts"
import { accountIn } from "../../../testkit/stellar/Entries.ts"
import { open } from "../../../testkit/stellar/Journal.ts"
import { other, start, user, xlm } from "./World.ts"

const options = { passphrase, now: () => start }

const withDirectory = async (use: (directory: string) => void | Promise<void>) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "stand-in-"))
  try {
    await use(directory)
  } finally {
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

describe("the directory of the stand-in ledger", () => {
  it("has the same ledgers, accounts and transactions after a second start", () =>
    withDirectory((directory) => {
      const first = open(directory, options)
      for (const key of [user, other]) first.grant(key.publicKey(), 100n * xlm)
      const sequence = (accountIn(first.reads, user.publicKey())?.sequence ?? 0n) + 1n
      const submitted = first.submit(0, envelope(user, [payment(other, 5n)], { sequence }))
      first.close()
      first.close()
      const file = path.join(directory, "ledgers.jsonl")
      fs.appendFileSync(file, '{"ledger":{"number":')

      const second = open(directory, options)
      assert.deepStrictEqual(second.latest, first.latest)
      assert.deepStrictEqual(accountIn(second.reads, user.publicKey()), accountIn(first.reads, user.publicKey()))
      assert.deepStrictEqual(second.find(submitted?.hash ?? ""), first.find(submitted?.hash ?? ""))
      assert.isDefined(second.find(submitted?.hash ?? ""))
      second.close()
      assert.strictEqual(open(directory, options).latest.number, second.latest.number)
    }))

  it("is refused for another passphrase", () =>
    withDirectory((directory) => {
      open(directory, options)
      assert.throws(() => open(directory, { ...options, passphrase: "Other" }), /belongs to the network/)
    }))

  it("is used by the process, which continues where it was killed, on a free port if another program has its own", () =>
    withDirectory(async (directory) => {
      const taken = net.createServer().listen(0, "127.0.0.1").unref()
      await once(taken, "listening")
      const { port } = taken.address() as net.AddressInfo
      const main = path.resolve(import.meta.dirname, "../../../testkit/stellar/main.ts")
      const run = async () => {
        const child = spawn(process.execPath, [main, "--port", String(port), "--ledger-ms", "0", "--data", directory])
        const [line] = await once(createInterface(child.stdout), "line")
        const { url, control }: { readonly url: string; readonly control: string } = JSON.parse(line)
        assert.notStrictEqual(new URL(url).port, String(port))
        const post = async (to: string, body: unknown) =>
          (await fetch(to, { method: "POST", body: JSON.stringify(body) })).json()
        const kill = async () => {
          child.kill("SIGKILL")
          await once(child, "exit")
        }
        return { kill, control: (body: unknown) => post(control, body), rpc: (body: unknown) => post(url, body) }
      }
      const first = await run()
      const { ledger } = await first.control({ close: 3, grant: { address: user.publicKey(), stroops: "70000000" } })
      await first.kill()
      const second = await run()
      assert.strictEqual((await second.control({})).ledger, ledger)
      const { result } = await second.rpc({ jsonrpc: "2.0", id: 1, method: "getHealth", params: {} })
      assert.strictEqual(result.latestLedger, ledger)
      await second.kill()
      taken.close()
    }))
})

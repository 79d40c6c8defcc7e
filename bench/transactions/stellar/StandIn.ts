// The stand-in ledger of the benchmark, as a process of its own.
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as path from "node:path"
import { createInterface } from "node:readline"
import type { Control, Status } from "../../../testkit/stellar/Serving.ts"
import * as Heads from "../Heads.ts"

const main = path.join(import.meta.dirname, "../../../testkit/stellar/main.ts")

/** Operations of a ledger and of a queue: more than the benchmark sends in a ledger, so that neither is a limit. */
const operations = 1_000_000

const stop = (child: ReturnType<typeof spawn>) =>
  Effect.promise(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill()
    await ended
  })

/** Closes a ledger every `ledgerMs` milliseconds. It ends with the scope. */
export const start = Effect.fnUntraced(function* (ledgerMs: number) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [main, "--ledger-ms", String(ledgerMs), "--announce"], {
        stdio: ["ignore", "pipe", "inherit"]
      })
    ),
    stop
  )
  const arrivals = new Map<number, number>()
  const { control: controlUrl, url } = yield* Effect.callback<{ readonly url: string; readonly control: string }>(
    (resume) => {
      child.once("exit", () => resume(Effect.die(new Error("the stand-in ledger does not start"))))
      createInterface({ input: child.stdout }).on("line", (line) => {
        const said = JSON.parse(line)
        if (said.ledger === undefined) resume(Effect.succeed(said))
        else arrivals.set(said.ledger, said.at)
      })
    }
  )
  const control = (asked: Control) =>
    Effect.promise(async (): Promise<Status> => {
      const response = await fetch(controlUrl, { method: "POST", body: JSON.stringify(asked) })
      if (!response.ok) throw new Error(await response.text())
      return response.json()
    })
  const { passphrase } = yield* control({ ledgerOperations: operations, queueOperations: operations })
  return { url, passphrase, control, heads: Heads.make(arrivals) }
})

export type StandIn = Effect.Success<ReturnType<typeof start>>

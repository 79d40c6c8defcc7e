// The programs of tools/x402: a facilitator, a seller and a payer as processes.
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import * as path from "node:path"
import { until } from "../process/Folder.ts"
import { collect } from "../process/Service.ts"
import { root, stock } from "./Payments.ts"

export interface Program {
  readonly url: string
  readonly kill: Effect.Effect<void>
}

/** A program of tools/x402, which finds the stock packages and the sources of this repository. */
export const launch = (name: string, env: Record<string, string>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(
        process.execPath,
        ["--import", path.join(root, "testkit/FromSource.ts"), path.join(stock, name)],
        { cwd: stock, env: { PATH: process.env.PATH ?? "", ...env }, stdio: ["ignore", "pipe", "pipe"] }
      )
      const output = collect(child.stdout)
      const errors = collect(child.stderr)
      const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
      return { child, output, errors, ended }
    }),
    ({ child, ended }) =>
      Effect.promise(() => {
        child.kill("SIGKILL")
        return ended
      })
  )

/** Starts it, and waits until it listens. */
export const start = Effect.fnUntraced(function* (
  name: string,
  env: Record<string, string>
): Effect.fn.Return<Program, never, Scope.Scope> {
  const { child, output, errors, ended } = yield* launch(name, env)
  const url = yield* until(
    name,
    Effect.sync(() => {
      if (child.exitCode !== null) throw new Error(errors())
      return /listens on (http:\S+)/.exec(output())?.[1]
    })
  )
  const kill = Effect.promise(() => {
    child.kill("SIGKILL")
    return ended
  })
  return { url, kill }
})

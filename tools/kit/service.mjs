// Runs the service as a process with an empty data directory on a free port of this machine.
import { spawn } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { tools } from "./commands.mjs"

const apiKey = "openapi-check-key-0123456789-0123456789"
const entry = join(tools, "..", "scripts", "start.mjs")

/** The address that the service prints when it listens. Fails if the service ends first. */
const listens = (child) =>
  new Promise((resolve, reject) => {
    const lines = []
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line)
      const url = /listens on (http:\S+)/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
    child.once("close", () => reject(new Error(`the service has ended:\n${lines.join("\n")}`)))
  })

export const withService = async (folder, use) => {
  const cwd = join(folder, "service")
  mkdirSync(cwd, { mode: 0o711 })
  const child = spawn(process.execPath, [entry], {
    cwd,
    stdio: ["ignore", "pipe", "inherit"],
    // No health checks: the relayers are on public networks, and nothing is to be called there.
    env: { PATH: process.env.PATH, HOME: cwd, PORT: "0", DATA_DIR: join(cwd, "data"), API_KEY: apiKey, WATCH: "off" }
  })
  const ended = new Promise((resolve) => child.once("close", resolve))
  try {
    const baseUrl = await listens(child)
    await use({ baseUrl, apiKey })
  } finally {
    child.kill("SIGTERM")
    await ended
  }
}

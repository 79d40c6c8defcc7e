// Describes the machine of a run, and its load.
import * as os from "node:os"

export interface Machine {
  readonly processor: string
  readonly cores: number
  readonly memoryGiB: number
  readonly system: string
  readonly node: string
}

export const describe = (): Machine => ({
  processor: os.cpus()[0]?.model.trim() ?? "unknown",
  cores: os.cpus().length,
  memoryGiB: Math.round(os.totalmem() / 2 ** 30),
  system: `${os.type()} ${os.release().split("-")[0]} ${os.arch()}`,
  node: process.version
})

/** The load average of the last minute. */
export const load = (): number => Math.round((os.loadavg()[0] ?? 0) * 100) / 100

/** Milliseconds since 1970, as exact as the clock is. */
export const now = (): number => performance.timeOrigin + performance.now()
